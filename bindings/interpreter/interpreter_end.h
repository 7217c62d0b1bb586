#pragma once

#include <Python.h>

namespace mindtorch::python {

// The interpreter is finalizing, or finalized.
bool interpreter_ends() noexcept;
// The same, and another thread finalizes it: Python must not be entered.
bool interpreter_ends_elsewhere() noexcept;

// Remembers, when finalization begins, which thread finalizes. Negative: the Python error is set.
int watch_interpreter_end();

// A thread that is acquiring the GIL. Finalization waits until every such thread has the GIL or
// knows that it will not get it. From then on other threads block in the constructor until the
// process ends.
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

// For a thread that must not enter Python any more.
[[noreturn]] void wait_for_process_end() noexcept;

}  // namespace mindtorch::python
