#pragma once

#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/tensor.h"

// Tensors in host memory that devices read and write directly.
namespace mindtorch {

// The accelerator of this machine keeps such memory; without one the system's own page locks do.
MT_API Tensor empty_pinned(IntList sizes, IntList strides, DType dtype);
// False for tensors on devices. Touches no device.
MT_API bool is_pinned(const Tensor& tensor);
// Whether there is an accelerator to pin memory for.
MT_API bool has_accelerator();

}  // namespace mindtorch
