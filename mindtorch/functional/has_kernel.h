#pragma once

#include "mindtorch/ops/op.h"

namespace mindtorch::functional {

// Whether the tensor's device computes an op with its dtype. For other devices it is composed.
inline bool has_kernel(const ops::Op& op, const Tensor& self) {
  const Device device = self.device();
  return op.has_kernel(device.type) &&
         (device.is_meta() || contains(op.kernel(device.type).takes, self.dtype()));
}

}  // namespace mindtorch::functional
