#include "interpreter_end.h"

#include <atomic>

namespace mindtorch::python {
namespace {

std::atomic<unsigned long> g_ending_thread{0};

PyObject* remember_thread(PyObject*, PyObject*) {
  g_ending_thread.store(PyThread_get_thread_ident(), std::memory_order_relaxed);
  Py_RETURN_NONE;
}

PyMethodDef g_remember_thread = {"_remember_ending_thread", &remember_thread, METH_NOARGS, nullptr};

}  // namespace

bool interpreter_ends() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() == 0 || Py_IsFinalizing() != 0;
#else
  return Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0;
#endif
}

bool interpreter_ends_elsewhere() noexcept {
  return interpreter_ends() &&
         g_ending_thread.load(std::memory_order_relaxed) != PyThread_get_thread_ident();
}

int watch_interpreter_end() {
  PyObject* const atexit = PyImport_ImportModule("atexit");
  if (atexit == nullptr) return -1;
  PyObject* const callback = PyCFunction_New(&g_remember_thread, nullptr);
  PyObject* const result =
      callback == nullptr ? nullptr : PyObject_CallMethod(atexit, "register", "O", callback);
  Py_XDECREF(callback);
  Py_DECREF(atexit);
  if (result == nullptr) return -1;
  Py_DECREF(result);
  return 0;
}

}  // namespace mindtorch::python
