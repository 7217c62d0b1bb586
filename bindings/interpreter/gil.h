#pragma once

#include <Python.h>
#include <cxxabi.h>

#include <cstdint>

#include "bindings/interpreter/interpreter_end.h"
#include "bindings/interpreter/python_line.h"

namespace mindtorch::python {

// Calls CPython where the GIL is held and may be released meanwhile. While the interpreter is
// finalizing, CPython terminates the threads other than the finalizing one by a forced unwinding of
// the stack, which no destructor and no noexcept function may see: such a thread waits here
// instead, as from CPython 3.14 on, until the process ends.
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
  GilEntry entry;
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    entry.leave();
    wait_for_process_end();
  }
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

// Lets other threads of Python run until acquire_gil() gets what this returns: null where the
// calling thread does not hold the GIL.
inline void* release_gil() noexcept {
  if (Py_IsInitialized() == 0 || PyGILState_Check() == 0) return nullptr;
  keep_python_line();
  return PyEval_SaveThread();
}

inline void acquire_gil(void* state) noexcept {
  if (state == nullptr) return;
  enter_python([state] { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); });
}

// Ops on fewer elements are done before another thread could have begun.
inline constexpr int64_t kReleaseGilElements = 16 * 1024;

// Lets other threads run while this one works outside Python.
class GilRelease {
 public:
  explicit GilRelease(bool release) {
    if (release) state_ = release_gil();
  }
  ~GilRelease() { acquire_gil(state_); }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  void* state_ = nullptr;
};

}  // namespace mindtorch::python
