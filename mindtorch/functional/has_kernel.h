#pragma once

#include "mindtorch/ops/op.h"

namespace mindtorch::functional {

// Whether a device computes an op with a dtype. For others it is composed.
inline bool has_kernel(const ops::Op& op, DeviceType device, DType dtype) {
  return op.has_kernel(device) &&
         (device == DeviceType::kMeta || contains(op.kernel(device).takes, dtype));
}
inline bool has_kernel(const ops::Op& op, const Tensor& self) {
  return has_kernel(op, self.device().type, self.dtype());
}

}  // namespace mindtorch::functional
