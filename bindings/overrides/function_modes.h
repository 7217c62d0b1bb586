#pragma once

#include <Python.h>

namespace mindtorch::python {

// The modes of this thread, and whether it lets classes handle calls: what
// torch.overrides.TorchFunctionMode and torch._C.DisableTorchFunction change.

// Whether a mode of this thread handles calls.
bool function_mode_enabled();
// Whether classes of arguments handle calls in this thread.
bool subclass_overrides_enabled();
// What a class sets __torch_function__ to in order not to handle calls. Borrowed.
PyObject* disabled_torch_function();

// Takes the innermost mode off while it lives.
class PoppedMode {
 public:
  PoppedMode();
  ~PoppedMode();
  PoppedMode(const PoppedMode&) = delete;
  PoppedMode& operator=(const PoppedMode&) = delete;
  PyObject* mode() const { return mode_; }

 private:
  PyObject* mode_;
};

}  // namespace mindtorch::python
