#include "bindings/interpreter/python_line.h"

#include <Python.h>

#include <string>

#include "bindings/interpreter/frames.h"
#include "bindings/interpreter/interpreter_end.h"

namespace mindtorch::python {

constinit std::atomic<bool> g_lines_wanted{false};

namespace {

thread_local std::string t_line;

}  // namespace

void remember_python_line() noexcept {
  t_line.clear();
  if (PyErr_Occurred() != nullptr) return;  // what follows must not touch it
  each_frame(current_frame(), [](PyFrameObject* frame, PyCodeObject* code) {
    t_line = to_text(code->co_filename);
    t_line += ':';
    t_line += std::to_string(PyFrame_GetLineNumber(frame));
    return is_package_code(code);
  });
}

const char* python_line() noexcept {
  if (interpreter_ends()) return nullptr;
  g_lines_wanted.store(true, std::memory_order_relaxed);
  if (PyGILState_Check() == 1 && PyGILState_GetThisThreadState() != nullptr) {
    remember_python_line();
  }
  return t_line.empty() ? nullptr : t_line.c_str();
}

}  // namespace mindtorch::python
