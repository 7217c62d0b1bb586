#include "mindtorch/tensor/dtype.h"

#include <atomic>

namespace mindtorch {
namespace {

std::atomic<DType> g_default_dtype{DType::kFloat32};

// Bool, integers, floats: a conversion may go up in this order, never down.
int category(DType dtype) {
  if (dtype == DType::kBool) return 0;
  return is_floating_point(dtype) ? 2 : 1;
}

}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (a > b) std::swap(a, b);
  if (category(a) == 2) {
    // float16 and bfloat16 hold different values, so only float32 holds both.
    return a == DType::kFloat16 && b == DType::kBFloat16 ? DType::kFloat32 : b;
  }
  return a == DType::kUInt8 && b == DType::kInt8 ? DType::kInt16 : b;
}

bool can_cast(DType from, DType to) { return category(from) <= category(to); }

DType default_dtype() { return g_default_dtype.load(std::memory_order_relaxed); }

void set_default_dtype(DType dtype) {
  MT_CHECK(is_floating_point(dtype), TypeError,
           "only floating-point types are supported as the default type");
  g_default_dtype.store(dtype, std::memory_order_relaxed);
}

}  // namespace mindtorch
