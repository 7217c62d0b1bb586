#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/loss.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/arithmetic-inl.h"
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

void losses(TileTable& table) {
  const Pointwise smooth_l1 = ops::function_named("smooth_l1");
  table.override(smooth_l1, DType::kFloat32, &map_tile<SmoothL1, float, 4>, Numbers::kStepwise);
  table.override(smooth_l1, DType::kFloat64, &map_tile<SmoothL1, double, 4>, Numbers::kStepwise);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(losses);
void add_losses(TileTable& table) { HWY_DYNAMIC_DISPATCH(losses)(table); }
}  // namespace mindtorch::cpu
#endif
