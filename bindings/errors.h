#pragma once

#include <Python.h>

#include "mindtorch/base/error.h"

namespace mindtorch {

// Python classes that only the bindings raise.
class BufferError : public Error {
 public:
  using Error::Error;
};

}  // namespace mindtorch

namespace mindtorch::python {

// Thrown when a CPython call has already set the Python error.
struct PythonError {};

// Sets the Python error that stands for the C++ exception being handled. Call in a catch block.
void set_python_error() noexcept;

// Makes OutOfMemoryError and sends warnings of the library to Python's.
int add_errors(PyObject* module);

// Runs `body`; a C++ exception becomes a Python one and the result null.
template <typename Body>
PyObject* guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// The same for slots that answer with an int.
template <typename Body>
int guarded_int(const Body& body) noexcept {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return -1;
  }
}

}  // namespace mindtorch::python
