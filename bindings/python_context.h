#pragma once

#include <memory>

#include "mindtorch/runtime/memory_history.h"

namespace mindtorch::python {

// The Python frames of the calling thread, for memory_history.h. Null when the thread runs no
// Python code. Takes the GIL.
std::shared_ptr<const runtime::CallContext> take_python_context();
// Gives up what contexts that are gone still hold of Python; taking one does so, too. Needs the
// GIL.
void drop_dead_contexts();

}  // namespace mindtorch::python
