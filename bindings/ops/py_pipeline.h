#pragma once

#include <Python.h>

#include "mindtorch/dispatch/record/pipeline.h"

namespace mindtorch::python {

// Note [Blocks of torch.pipeline]
// A block is made, entered, left and freed around a few ops, each of which takes some hundred
// nanoseconds. So the type is written with CPython's own slots, and its objects come from a short
// list, with their pipelines inside. `with` also binds __enter__ and __exit__ to the block, and
// CPython's bound methods, which the garbage collector has to know, would take as long to make and
// to free as all the rest: ours come from a list, too.

// The pipeline of a torch.pipeline; throws TypeError where its __init__ was never called.
dispatch::Pipeline& pipeline_of(PyObject* object);
// A new reference to the object of a pipeline; None for null, and for one that C++ code made.
PyObject* object_of(const dispatch::Pipeline* pipeline);

// What else a pipeline has: how its settings are read, methods, attributes.
struct PipelineParts {
  dispatch::PipelineConfig (*read)(PyObject* settings);  // a dict or null; throws
  const char* doc;
  PyMethodDef* methods;
  PyGetSetDef* attributes;
};
// Makes the type torch.pipeline. A new reference; throws.
PyObject* make_pipeline_type(const PipelineParts& parts);
// The settings of blocks made without any have changed.
void forget_free_pipelines();

// Of the calling thread, when it last entered a pipeline. While it is the current one, this thread
// has the GIL: asking that way takes less time than recording an op, as PyGILState_Check() does
// not.
PyThreadState* entered_thread() noexcept;
// Of the thread that has the GIL, whichever it is.
inline PyThreadState* current_thread_state() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked();
#else
  return _PyThreadState_UncheckedGet();
#endif
}

}  // namespace mindtorch::python
