#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/loss.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/arithmetic-inl.h"
#include "mindtorch/backends/cpu/tiles/derivative.h"
#include "mindtorch/ops/functions.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// The steps of its expression, in their order: the same numbers.
struct SmoothL1 {
  explicit SmoothL1(const PointwiseParams& p) : params(p) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    using T = hn::TFromD<D>;
    const V gap = hn::Abs(hn::Sub(a, b));
    const V curved = Minimum()(d, gap, hn::Set(d, param<T>(params, 0)));
    const V area = hn::Mul(curved, hn::Sub(gap, hn::Mul(hn::Set(d, T(0.5)), curved)));
    return hn::Mul(area, hn::Set(d, param<T>(params, 1)));
  }
  PointwiseParams params;
};

}  // namespace

TileFn smooth_l1_float32() { return &map_tile<SmoothL1, float, 4>; }
TileFn smooth_l1_float64() { return &map_tile<SmoothL1, double, 4>; }

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(smooth_l1_float32);
HWY_EXPORT(smooth_l1_float64);

TileFn find_whole_tile(ops::Pointwise function, DType compute) {
  if (ops::function_info(function).name != "smooth_l1") {
    return find_derivative_tile(function, compute);
  }
  if (compute == DType::kFloat32) return HWY_DYNAMIC_DISPATCH(smooth_l1_float32)();
  return compute == DType::kFloat64 ? HWY_DYNAMIC_DISPATCH(smooth_l1_float64)() : nullptr;
}

}  // namespace mindtorch::cpu
#endif
