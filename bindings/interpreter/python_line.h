#pragma once

#include <Python.h>

#include <atomic>

namespace mindtorch::python {

// "train.py:12": the line of the calling thread's program that is being run, outside this package
// where there is such a line; null when unknown. May be called with or without the GIL, and never
// waits for it: without, it is the line where the thread gave the GIL up. The text is the thread's.
const char* python_line() noexcept;

// Set by the first call of python_line().
extern std::atomic<bool> g_lines_wanted;
void remember_python_line() noexcept;  // needs the GIL

// To be called just before the GIL is given up.
inline void keep_python_line() noexcept {
  if (g_lines_wanted.load(std::memory_order_relaxed)) remember_python_line();
}

}  // namespace mindtorch::python
