#pragma once

#include <Python.h>
#include <cxxabi.h>

#include <memory>

#include "bindings/interpreter/interpreter_end.h"
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

// A Python exception on its way through code that may run without the GIL, or keep it for later.
class CarriedError : public Error {
 public:
  // Takes over the Python error that is set. Needs the GIL.
  static CarriedError take();
  // Forgets where it came from: a traceback holds frames, and frames hold what their variables
  // name. For errors that are kept by what a variable may name. Needs the GIL.
  void drop_traceback() const noexcept;
  // Sets it again. Needs the GIL.
  void restore() const noexcept;
  // Makes it the __cause__ of the Python error that is set. Needs the GIL.
  void become_cause() const noexcept;
  // Needs the GIL.
  bool is_a(PyObject* type) const noexcept;

 private:
  CarriedError(const std::string& text, std::shared_ptr<PyObject> exception)
      : Error(text), exception_(std::move(exception)) {}

  std::shared_ptr<PyObject> exception_;
};

// Sets the Python error that stands for the C++ exception being handled. Call in a catch block.
void set_python_error() noexcept;

// What an optional flag says: None is no. An object that has no truth throws its error.
inline bool is_true(PyObject* flag) {
  if (flag == Py_None) return false;
  const int truth = PyObject_IsTrue(flag);
  if (truth < 0) throw PythonError();
  return truth == 1;
}

// Makes the exceptions that Python lacks and sends warnings of the library to Python's.
int add_errors(PyObject* module);

// Runs `body`; a C++ exception becomes a Python one and the result null. A thread that CPython ends
// meanwhile stays; see call_python.
template <typename Body>
PyObject* guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (const abi::__forced_unwind&) {
    wait_for_process_end();
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
  } catch (const abi::__forced_unwind&) {
    wait_for_process_end();
  } catch (...) {
    set_python_error();
    return -1;
  }
}

}  // namespace mindtorch::python
