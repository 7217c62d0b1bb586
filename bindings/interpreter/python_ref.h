#pragma once

#include <Python.h>

#include <utility>

#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/gil.h"

namespace mindtorch::python {

// Owns one reference to a Python object. Needs the GIL to be copied or destroyed.
class PyRef {
 public:
  PyRef() = default;
  // Takes over a new reference; null, with the Python error set, throws.
  explicit PyRef(PyObject* owned) : object_(owned) {
    if (owned == nullptr) throw PythonError();
  }
  // The same where null is an answer; any Python error is cleared.
  static PyRef maybe(PyObject* owned) {
    PyRef ref;
    ref.object_ = owned;
    if (owned == nullptr) PyErr_Clear();
    return ref;
  }
  static PyRef borrow(PyObject* object) { return PyRef(Py_NewRef(object)); }
  PyRef(PyRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  PyRef& operator=(PyRef&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  [[nodiscard]] PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// The entries of a list or tuple as a tuple. Python code of the entries may change a list while
// they are read: what it drops must live on until then.
inline PyRef frozen(PyObject* list_or_tuple) {
  return PyRef(PyTuple_Check(list_or_tuple) ? Py_NewRef(list_or_tuple)
                                            : PyList_AsTuple(list_or_tuple));
}

// module.name, looked up at the first call and kept for good. `place` is a plain static: an import
// releases the GIL, and a thread that waits at the guard of a static being made would hold it.
// Threads that look it up at once find the same object.
inline PyObject* imported(PyObject*& place, const char* module, const char* name) {
  if (place == nullptr) {
    const PyRef owner(call_python([&] { return PyImport_ImportModule(module); }));
    PyRef found(call_python([&] { return PyObject_GetAttrString(owner.get(), name); }));
    if (place == nullptr) place = found.release();
  }
  return place;
}

// Drops a reference from any thread; what a borrowed storage runs when its last user goes.
inline void release_python_reference(void* object) {
  if (Py_IsInitialized() == 0) return;  // the interpreter took all objects with it
  const GilHold gil;
  Py_DECREF(static_cast<PyObject*>(object));
}

}  // namespace mindtorch::python
