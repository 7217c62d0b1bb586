#pragma once

#include <Python.h>
#include <cxxabi.h>

#include <utility>

#include "errors.h"
#include "interpreter_end.h"
#include "python_line.h"

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

// Calls CPython where the GIL is held and may be let go meanwhile. While the interpreter ends,
// CPython answers threads other than the one that ends it by ending them too, with an unwinding of
// the stack that no destructor and no noexcept function may see: such a thread stays here instead,
// as from CPython 3.14 on, until the process ends.
template <typename Call>
auto call_python(const Call& call) {
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    wait_for_process_end();
  }
}

// The same for calls that take the GIL.
template <typename Call>
auto enter_python(const Call& call) {
  Entrance entrance;
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    entrance.leave();
    wait_for_process_end();
  }
}

// module.name, looked up at the first call and kept for good. `place` is a plain static: an import
// lets go of the GIL, and a thread that waits at the guard of a static being made would hold it.
// Threads that look it up at once find the same object.
inline PyObject* imported(PyObject*& place, const char* module, const char* name) {
  if (place == nullptr) {
    const PyRef owner(call_python([&] { return PyImport_ImportModule(module); }));
    PyRef found(call_python([&] { return PyObject_GetAttrString(owner.get(), name); }));
    if (place == nullptr) place = found.release();
  }
  return place;
}

// Holds the GIL, in code that may be called with or without it.
class GilHold {
 public:
  GilHold() : state_(enter_python([] { return PyGILState_Ensure(); })) {}
  ~GilHold() {
    call_python([this] { PyGILState_Release(state_); });
  }
  GilHold(const GilHold&) = delete;
  GilHold& operator=(const GilHold&) = delete;

 private:
  PyGILState_STATE state_;
};

// Lets other threads run while this one works outside Python.
class GilRelease {
 public:
  explicit GilRelease(bool release) {
    if (!release) return;
    keep_python_line();
    state_ = PyEval_SaveThread();
  }
  ~GilRelease() {
    if (state_ != nullptr) enter_python([this] { PyEval_RestoreThread(state_); });
  }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* state_ = nullptr;
};

// Drops a reference from any thread; what a borrowed storage runs when its last user goes.
inline void release_python_reference(void* object) {
  if (Py_IsInitialized() == 0) return;  // the interpreter took all objects with it
  const GilHold gil;
  Py_DECREF(static_cast<PyObject*>(object));
}

}  // namespace mindtorch::python
