#pragma once

#include <Python.h>

#include <optional>

#include "mindtorch/tensor/tensor.h"

namespace mindtorch::python {

// The type of an argument `device`; nothing for None.
std::optional<DeviceType> accelerator_argument(PyObject* device);
// The tensor in pinned memory; itself if it lies there. Throws torch's RuntimeError for tensors
// that are not on the CPU, and where there is no accelerator.
Tensor pinned(const Tensor& tensor, std::optional<DeviceType> accelerator_type = std::nullopt);

}  // namespace mindtorch::python
