#include "bindings/interpreter/interpreter_end.h"

#include <nanobind/nanobind.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace mindtorch::python {
namespace {

std::atomic<unsigned long> g_ending_thread{0};
std::atomic<int> g_entering{0};

bool has_other_threads() {
  return PyThreadState_Next(PyInterpreterState_ThreadHead(PyInterpreterState_Get())) != nullptr;
}

PyObject* begin_end(PyObject*, PyObject*) {
  g_ending_thread.store(PyThread_get_thread_ident(), std::memory_order_relaxed);
  // Daemon threads never release what they hold: such leaks are not the user's.
  if (has_other_threads()) nanobind::set_leak_warnings(false);
  Py_RETURN_NONE;
}

PyMethodDef g_begin_end = {"_begin_interpreter_end", &begin_end, METH_NOARGS, nullptr};

// Threads that were waiting for the GIL when finalization began look at it every 5 ms, and then see
// that the interpreter is finalizing. From CPython 3.14 on they may stay blocked.
void wait_for_entering_threads(PyObject*) noexcept {
#if PY_VERSION_HEX < 0x030E0000
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int i = 0; i < 2000 && g_entering.load(std::memory_order_acquire) != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
#endif
}

int register_at_exit(PyObject* callback) {
  PyObject* const atexit = PyImport_ImportModule("atexit");
  if (atexit == nullptr) return -1;
  PyObject* const result = PyObject_CallMethod(atexit, "register", "O", callback);
  Py_DECREF(atexit);
  Py_XDECREF(result);
  return result == nullptr ? -1 : 0;
}

// The interpreter's own dictionary is cleared last, while the interpreter still works.
int watch_last_moment() {
  PyObject* const moments = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject* const moment = PyCapsule_New(&g_entering, nullptr, &wait_for_entering_threads);
  const int result = moments == nullptr || moment == nullptr
                         ? -1
                         : PyDict_SetItemString(moments, "mindtorch_v2._last_moment", moment);
  Py_XDECREF(moment);
  return result;
}

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
  PyObject* const callback = PyCFunction_New(&g_begin_end, nullptr);
  const int result = callback == nullptr ? -1 : register_at_exit(callback);
  Py_XDECREF(callback);
  // The threads of a parent do not come into its child.
  pthread_atfork(nullptr, nullptr, [] { g_entering.store(0, std::memory_order_relaxed); });
  return result < 0 ? result : watch_last_moment();
}

GilEntry::GilEntry() noexcept {
  g_entering.fetch_add(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!interpreter_ends_elsewhere()) return;
  leave();
  wait_for_process_end();
}

void GilEntry::leave() noexcept {
  if (is_counted_) g_entering.fetch_sub(1, std::memory_order_release);
  is_counted_ = false;
}

void wait_for_process_end() noexcept {
  for (;;) pause();
}

}  // namespace mindtorch::python
