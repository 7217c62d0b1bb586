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

}  // namespace mindtorch::python
