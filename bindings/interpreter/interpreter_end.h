#pragma once

#include <Python.h>

namespace mindtorch::python {

// The interpreter ends, or has ended.
bool interpreter_ends() noexcept;
// The interpreter ends, or has ended, in another thread than this one: Python must not be entered.
bool interpreter_ends_elsewhere() noexcept;

// Remembers, when the interpreter begins to end, which thread ends it. Negative: the Python error
// is set.
int watch_interpreter_end();

// A thread on its way to the GIL. The interpreter does not go away under it: it ends when every
// such thread has the GIL or knows that it will not get it. Once it ends elsewhere, threads that
// come stay in the constructor until the process ends.
class GilEntry {
 public:
  GilEntry() noexcept;
  ~GilEntry() { leave(); }
  GilEntry(const GilEntry&) = delete;
  GilEntry& operator=(const GilEntry&) = delete;

  void leave() noexcept;

 private:
  bool is_counted_ = true;
};

// Where a thread stays that must not enter Python any more.
[[noreturn]] void wait_for_process_end() noexcept;

}  // namespace mindtorch::python
