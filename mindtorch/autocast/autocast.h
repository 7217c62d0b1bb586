#pragma once

#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/device.h"
#include "mindtorch/tensor/dtype.h"
#include "mindtorch/tensor/tensor.h"

// Mixed precision: while it is on for a device type, on this thread, the layer in front of autograd
// casts the arguments of ops as their AutocastTrait says.
namespace mindtorch::autocast {

MT_API bool is_enabled(DeviceType type) noexcept;
MT_API void set_enabled(DeviceType type, bool enabled) noexcept;
// bfloat16 on CPUs, float16 on accelerators, until it is set.
MT_API DType dtype(DeviceType type) noexcept;
// Throws where autocast does not know the dtype.
MT_API void set_dtype(DeviceType type, DType dtype);

// Casts of weights are kept until the outermost autocast block of this thread ends.
MT_API bool is_cache_enabled() noexcept;
MT_API void set_cache_enabled(bool enabled) noexcept;
MT_API void clear_cache() noexcept;
// How many blocks this thread is inside of, after the change.
MT_API int increment_nesting() noexcept;
MT_API int decrement_nesting() noexcept;

// The tensor in another dtype; the kept one where there is one.
Tensor cast(const Tensor& tensor, DType dtype);
// Autocast casts it: floating-point numbers on that device type, but for float64.
bool is_eligible(const Tensor& tensor, DeviceType type);

}  // namespace mindtorch::autocast
