#include "mindtorch/backends/ascend/kernels/dtypes.h"

#include "mindtorch/ops/refusal.h"
#include "mindtorch/runtime/math_mode.h"

namespace mindtorch::ascend {

int8_t float32_math() {
  constexpr int8_t kUseHf32 = 3;
  return runtime::MathMode::instance().reduces_float32() ? kUseHf32 : kKeepDtype;
}

ops::KernelStatement& takes_products(ops::KernelStatement&& kernel) {
  constexpr DTypes kFloat = bit(DType::kFloat32);
  return kernel.takes(kFloats).without("910A", kFloat).without("310", kFloat);
}

DType computable(const ops::Launch& on, const char* op, DType dtype, DTypes taken) {
  if (MT_LIKELY((taken & bit(dtype)) != 0)) return dtype;
  if (!is_common(dtype)) refuse(on, op, dtype, "CANN's op does not take this dtype");
  if (is_floating_point(dtype)) {
    if (dtype != DType::kFloat64 && (taken & bit(DType::kFloat32)) != 0) return DType::kFloat32;
  } else {
    for (const DType wider : {DType::kInt32, DType::kInt64}) {
      if ((taken & bit(wider)) != 0 && size_bytes(wider) > size_bytes(dtype)) return wider;
    }
  }
  refuse(on, op, dtype, "CANN's op does not take this dtype");
}

void refuse(const ops::Launch& on, const char* op, DType dtype, const char* reason) {
  ops::refuse(op, on.device, dtype, reason);
}

}  // namespace mindtorch::ascend
