// torch.ops.load_library: ops that other shared libraries define.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings/ops/op_function.h"
#include "mindtorch/ops/extension.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

nb::tuple load_library(const std::string& path) {
  const ops::OpLibrary& library = ops::load_library(path);
  nb::dict functions;
  if (add_library_functions(functions.ptr(), library.ops) < 0) throw nb::python_error();
  return nb::make_tuple(library.name, functions);
}

}  // namespace

void bind_libraries(nb::module_& module) {
  module.def("_load_library", &load_library, nb::arg("path"),
             "Loads a library of ops: its name, and a function for each name of an op.");
}

}  // namespace mindtorch::python
