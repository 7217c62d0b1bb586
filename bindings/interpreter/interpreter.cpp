// What the library must know of the interpreter, installed before anything else uses it.
#include <nanobind/nanobind.h>

#include "bindings/interpreter/frames.h"
#include "bindings/interpreter/gil.h"
#include "bindings/interpreter/interpreter_end.h"
#include "bindings/interpreter/python_context.h"
#include "mindtorch/runtime/host_wait.h"
#include "mindtorch/runtime/memory_history.h"

namespace nb = nanobind;

namespace mindtorch::python {

void install_interpreter_hooks() {
  find_package_folder();
  if (watch_interpreter_end() < 0) throw nb::python_error();
  runtime::set_wait_callbacks({&release_gil, &acquire_gil});
  runtime::set_context_source(&take_python_context);
}

}  // namespace mindtorch::python
