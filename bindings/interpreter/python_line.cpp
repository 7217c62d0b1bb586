#include "bindings/interpreter/python_line.h"

#include <Python.h>

#include <string>

#include "bindings/interpreter/frames.h"
#include "bindings/interpreter/interpreter_end.h"

namespace mindtorch::python {

constinit std::atomic<bool> g_lines_wanted{false};

namespace {

thread_local std::string t_line;

void write_line(PyFrameObject* frame) {
  PyCodeObject* const code = PyFrame_GetCode(frame);
  t_line = to_text(code->co_filename);
  t_line += ':';
  t_line += std::to_string(PyFrame_GetLineNumber(frame));
  Py_DECREF(code);
}

bool is_inside(PyFrameObject* frame) {
  PyCodeObject* const code = PyFrame_GetCode(frame);
  const bool ours = is_package_code(code);
  Py_DECREF(code);
  return ours;
}

}  // namespace

void remember_python_line() noexcept {
  t_line.clear();
  if (PyErr_Occurred() != nullptr) return;  // what follows must not touch it
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  if (frame != nullptr) write_line(frame);
  while (frame != nullptr && is_inside(frame)) {
    PyFrameObject* const outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
    if (frame != nullptr) write_line(frame);
  }
  Py_XDECREF(frame);
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
