// The modified Bessel functions I0 and I1, on vectors of float64.

#include "mindtorch/backends/cpu/tiles/math-inl.h"
#include "mindtorch/ops/functions/bessel_series.h"
#include "mindtorch/ops/functions/special_functions.h"

#if defined(MT_TILES_BESSEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_BESSEL_INL_H_
#undef MT_TILES_BESSEL_INL_H_
#else
#define MT_TILES_BESSEL_INL_H_
#endif

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE::math {

// A Chebyshev series at 2 t - 1, for t in [0, 1].
template <class D, class V = hn::Vec<D>, size_t kTerms>
HWY_INLINE V unit_sum(D d, const double (&series)[kTerms], V t) {
  const V x = hn::Sub(hn::Add(t, t), hn::Set(d, 1.0));
  const V twice = hn::Add(x, x);
  V last = hn::Zero(d);
  V sum = hn::Set(d, series[kTerms - 1]);
  for (size_t i = kTerms - 1; --i > 0;) {
    const V next = hn::MulAdd(twice, sum, hn::Sub(hn::Set(d, series[i]), last));
    last = sum;
    sum = next;
  }
  return hn::MulAdd(x, sum, hn::Sub(hn::Set(d, series[0]), last));
}

// exp(-x) I(x) for x >= 0; `kOrder` is 0 or 1. The series are those of ops::special.
template <int kOrder, class D, class V = hn::Vec<D>>
HWY_NOINLINE V scaled_bessel_i(D d, V x) {
  const V eight = hn::Set(d, 8.0);
  const auto is_near = hn::Le(x, eight);
  const V t = hn::Mul(x, hn::Set(d, 0.125));
  V near;
  V far;
  if constexpr (kOrder == 0) {
    near = unit_sum(d, ops::special::kI0Near, t);
  } else {
    near = hn::Mul(x, unit_sum(d, ops::special::kI1Near, t));
  }
  if (hn::AllTrue(d, is_near)) return near;
  const V inverse = hn::Div(eight, x);
  if constexpr (kOrder == 0) {
    far = unit_sum(d, ops::special::kI0Far, inverse);
  } else {
    far = unit_sum(d, ops::special::kI1Far, inverse);
  }
  return hn::IfThenElse(is_near, near, hn::Div(far, hn::Sqrt(x)));
}

template <int kOrder, bool kScaled, class D, class V = hn::Vec<D>>
HWY_INLINE V bessel_i(D d, V a) {
  const V x = hn::Abs(a);
  V result = scaled_bessel_i<kOrder>(d, x);
  if constexpr (!kScaled) {
    // exp(x) overflows a little before the functions do.
    const V half = exp(d, hn::Mul(x, hn::Set(d, 0.5)));
    result = hn::Mul(hn::Mul(half, result), half);
  }
  return kOrder == 0 ? result : hn::CopySign(result, a);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE::math
HWY_AFTER_NAMESPACE();

#endif  // HWY_SCALAR

#endif  // include guard per target
