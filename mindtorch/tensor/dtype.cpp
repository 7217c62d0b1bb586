#include "mindtorch/tensor/dtype.h"

#include <atomic>

namespace mindtorch {
namespace {

std::atomic<DType> g_default_dtype{DType::kFloat32};

DTypeKind kind(DType dtype) { return info(dtype).kind; }

bool is_wide_unsigned(DType dtype) { return dtype >= DType::kUInt16 && dtype <= DType::kUInt64; }

}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  MT_CHECK(!is_float8(a) && !is_float8(b), RuntimeError,
           "Promotion for Float8 Types is not supported, attempted to promote ", legacy_name(a),
           " and ", legacy_name(b));
  const bool is_wide = is_wide_unsigned(a) || is_wide_unsigned(b);
  MT_CHECK(!is_wide || kind(a) == DTypeKind::kFloat || kind(b) == DTypeKind::kFloat, RuntimeError,
           "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ",
           legacy_name(a), " and ", legacy_name(b));
  if (is_complex(a) || is_complex(b)) {
    return complex_dtype(promote_types(real_dtype(a), real_dtype(b)));
  }
  if (kind(a) != kind(b)) return kind(a) > kind(b) ? a : b;
  if (a > b) std::swap(a, b);
  if (kind(a) == DTypeKind::kFloat) {
    // float16 and bfloat16 hold different values, so only float32 holds both.
    return a == DType::kFloat16 && b == DType::kBFloat16 ? DType::kFloat32 : b;
  }
  return a == DType::kUInt8 && b == DType::kInt8 ? DType::kInt16 : b;
}

bool can_cast(DType from, DType to) { return kind(from) <= kind(to); }

DType default_dtype() { return g_default_dtype.load(std::memory_order_relaxed); }

void set_default_dtype(DType dtype) {
  MT_CHECK(is_floating_point(dtype), TypeError,
           "only floating-point types are supported as the default type");
  g_default_dtype.store(dtype, std::memory_order_relaxed);
}

}  // namespace mindtorch
