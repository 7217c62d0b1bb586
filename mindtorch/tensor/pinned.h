#pragma once

#include <optional>

#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/tensor.h"

// Tensors in host memory that devices read and write directly.
namespace mindtorch {

// Each kind of accelerator keeps such memory of its own: what is pinned for one is like any other
// memory to the next. Where none is named, the first one here keeps it, and without one the
// system's own page locks do.
MT_API Tensor empty_pinned(IntList sizes,
                           IntList strides,
                           DType dtype,
                           std::optional<DeviceType> accelerator_type = std::nullopt);
// For that kind, or for any. False for tensors on devices. Touches no device.
MT_API bool is_pinned(const Tensor& tensor,
                      std::optional<DeviceType> accelerator_type = std::nullopt);

}  // namespace mindtorch
