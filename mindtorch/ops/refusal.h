#pragma once

#include <optional>
#include <string_view>

#include "mindtorch/ops/op.h"

namespace mindtorch::ops {

// What a device cannot compute: every such error is raised here.

// Throws NotImplementedError: "Could not run 'mm' on device <device> for torch.int64: <reason>", or
// "<device>, <chip>" where another chip would.
[[noreturn]] MT_API void refuse(std::string_view op,
                                Device device,
                                std::optional<DType> dtype,
                                std::string_view reason,
                                std::string_view chip = {});

// There is no kernel; `typed` is a tensor of the call, or null.
[[noreturn]] MT_API void refuse_kernel(const Op& op, Device device, const Tensor* typed);

// The kernel takes other dtypes. Of the CPU these are torch's words: "mm" not implemented for
// 'Long'.
[[noreturn]] MT_API void refuse_dtype(const Op& op, Device device, DType dtype);

// Throws likewise where no tensor of the device can be of this dtype: views compute nothing, but
// may show another.
MT_API void check_device_dtype(const Op& op, Device device, DType dtype);

}  // namespace mindtorch::ops
