#include "python_line.h"

#include <Python.h>
#include <frameobject.h>

#include <string>
#include <string_view>

#include "interpreter_end.h"
#include "python_ref.h"

namespace mindtorch::python {

constinit std::atomic<bool> g_lines_wanted{false};
PyObject* g_package_folder = nullptr;

namespace {

thread_local std::string t_line;

std::string_view file_of(PyCodeObject* code) {
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(code->co_filename, &size);
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? "?" : std::string_view(text, static_cast<size_t>(size));
}

void write_line(PyFrameObject* frame) {
  PyCodeObject* const code = PyFrame_GetCode(frame);
  t_line = file_of(code);
  t_line += ':';
  t_line += std::to_string(PyFrame_GetLineNumber(frame));
  Py_DECREF(code);
}

bool is_inside(PyFrameObject* frame) {
  PyCodeObject* const code = PyFrame_GetCode(frame);
  const bool ours = is_ours(code);
  Py_DECREF(code);
  return ours;
}

}  // namespace

void find_package_folder() {
  const PyRef package = PyRef::maybe(PyImport_ImportModule("mindtorch_v2"));
  const PyRef file =
      PyRef::maybe(package ? PyObject_GetAttrString(package.get(), "__file__") : nullptr);
  if (!file || PyUnicode_Check(file.get()) == 0) return;
  const Py_ssize_t size = PyUnicode_GET_LENGTH(file.get());
  const Py_ssize_t slash = PyUnicode_FindChar(file.get(), '/', 0, size, -1);
  if (slash > 0) g_package_folder = PyRef(PyUnicode_Substring(file.get(), 0, slash + 1)).release();
}

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
