#pragma once

#include <Python.h>

#include "mindtorch/tensor/tensor.h"

namespace mindtorch::python {

// The tensor in pinned memory; itself if it lies there. Throws torch's RuntimeError for tensors
// that are not on the CPU, and where there is no accelerator.
Tensor pinned(const Tensor& tensor);

}  // namespace mindtorch::python
