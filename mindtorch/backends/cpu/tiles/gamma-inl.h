// The logarithm of the gamma function and its derivative, on vectors of float64.

#include <math.h>  // lgamma_r

#include "mindtorch/backends/cpu/tiles/trig-inl.h"
#include "mindtorch/ops/functions/special_functions.h"

#if defined(MT_TILES_GAMMA_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_GAMMA_INL_H_
#undef MT_TILES_GAMMA_INL_H_
#else
#define MT_TILES_GAMMA_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE::math {

// std::lgamma writes the sign to a global variable, which threads must not share.
inline double lgamma_of_number(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

#if HWY_TARGET == HWY_SCALAR

template <bool kRounded, class D, class V = hn::Vec<D>>
HWY_INLINE V lgamma(D d, V x) {
  return hn::Set(d, lgamma_of_number(x.raw));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V digamma(D d, V x) {
  return hn::Set(d, ops::special::digamma(x.raw));
}

#else

// Up to this magnitude log|gamma(x)| is log(gamma(2 + e)), e in [-3/4, 1/4), plus or minus the
// logarithm of the factors between.
inline constexpr double kGammaNear = 8;

// A product of factors, and what its rounding left out.
template <class D>
struct GammaFactors {
  hn::Vec<D> product, lost;

  // Multiplies by first + i for kFrom <= i < kTo, as far as i < count.
  template <int kFrom, int kTo, bool kRounded, class V>
  HWY_INLINE void multiply(D d, V first, V count) {
    HWY_UNROLL(10)
    for (int i = kFrom; i < kTo; ++i) {
      const V number = hn::Set(d, static_cast<double>(i));
      const V factor =
          hn::IfThenElse(hn::Gt(count, number), hn::Add(first, number), hn::Set(d, 1.0));
      const V next = hn::Mul(product, factor);
      if constexpr (!kRounded) lost = hn::MulAdd(lost, factor, hn::MulSub(product, factor, next));
      product = next;
    }
  }
};

// sign (log(p.product) + p.lost / p.product) + log(gamma(2 + e)), where the last is e c + rest. The
// large parts may cancel, so that what rounding takes from their sum is carried along.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V careful_lgamma_sum(D d, const GammaFactors<D>& p, V sign, V e, V rest) {
  const LogParts<D> parts = log_parts(d, hn::Abs(p.product));
  const V exponent = hn::Xor(parts.exponent, sign);
  const V f = hn::Xor(parts.f, sign);
  const V ln2 = hn::Set(d, 0x1.62e42fefa39efp-1);
  const V c = hn::Set(d, 0x1.b0ee6072093cep-2);
  const V whole = hn::Mul(exponent, ln2);
  const V logarithm = hn::Add(whole, f);  // f is smaller than ln 2
  const V linear = hn::Mul(e, c);
  const V sum = hn::Add(logarithm, linear);
  const V added = hn::Sub(sum, logarithm);
  V low = hn::Add(hn::Sub(logarithm, hn::Sub(sum, added)), hn::Sub(linear, added));
  low = hn::Add(low, hn::Sub(f, hn::Sub(logarithm, whole)));
  low = hn::Add(low, hn::MulSub(exponent, ln2, whole));
  low = hn::Add(low, hn::MulSub(e, c, linear));
  low = hn::MulAdd(e, hn::Set(d, 0x1.6cb90701fbfabp-58), low);
  low = hn::MulAdd(exponent, hn::Set(d, 0x1.abc9e3b39803fp-56), low);
  // Of products so small that their inverse overflows nothing is lost.
  const V bottom = hn::Max(hn::Abs(p.product), hn::Set(d, 0x1p-900));
  const V lost = hn::Xor(p.lost, hn::And(p.product, hn::SignBit(d)));
  low = hn::Add(low, quick_quotient(d, hn::Xor(lost, sign), bottom));
  low = hn::Add(low, hn::Xor(parts.t, sign));
  const V result = hn::Add(sum, hn::Add(rest, low));
  return hn::IfThenElse(hn::Eq(p.product, hn::Zero(d)), infinity(d), result);
}

// kRounded: the result becomes a float32, for which plain sums suffice.
template <bool kRounded, class D, class V = hn::Vec<D>>
HWY_NOINLINE V lgamma_near(D d, V x) {
  // log(gamma(2 + e)) / e, a constant and the rest over e.
  static constexpr double kConstant = 0x1.b0ee6072093cep-2;
  static constexpr double kTerms[] = {
      0x1.4a34cc4a60fa6p-2,   -0x1.13e001a557614p-4,  0x1.51322ac7d8689p-6,
      -0x1.e404fc2184898p-8,  0x1.7add6ead75309p-9,   -0x1.38ac5c395b6aep-10,
      0x1.0b36af7dd3ae9p-11,  -0x1.d3fd3d490dc2dp-13, 0x1.a127fef2a8babp-14,
      -0x1.78e200c0ea1a1p-15, 0x1.57e81fc2939p-16,    -0x1.3cb11b565f424p-17,
      0x1.2bf165ffc18c4p-18,  -0x1.e8e827ab3133cp-20, 0x1.d249b571fdba7p-21,
      -0x1.da628b28fe106p-20, -0x1.66120e6c1fb04p-19, -0x1.bd2bae788f217p-19,
      -0x1.0000110e0927dp-19, -0x1.2dd5fb1775906p-21};
  const V distance = hn::Floor(hn::Sub(x, hn::Set(d, 1.25)));
  const V e = hn::Sub(x, hn::Add(distance, hn::Set(d, 2.0)));
  const V first = hn::Min(x, hn::Sub(x, distance));
  const V count = hn::Abs(distance);
  GammaFactors<D> factors{hn::Set(d, 1.0), hn::Zero(d)};
  factors.template multiply<0, 2, kRounded>(d, first, count);
  if (!hn::AllTrue(d, hn::Le(count, hn::Set(d, 2.0)))) {
    factors.template multiply<2, 10, kRounded>(d, first, count);
  }
  const V series = polynomial(d, e, kTerms);
  const V sign = hn::And(distance, hn::SignBit(d));
  if constexpr (kRounded) {
    const V at_two = hn::Mul(e, hn::MulAdd(series, e, hn::Set(d, kConstant)));
    return hn::Add(at_two, hn::Xor(log(d, hn::Abs(factors.product)), sign));
  } else {
    return careful_lgamma_sum(d, factors, sign, e, hn::Mul(e, hn::Mul(e, series)));
  }
}

// The asymptotic series, for x >= kGammaNear.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V lgamma_far(D d, V x) {
  // Bernoulli numbers: B(2k) / (2k (2k - 1)).
  static constexpr double kSeries[] = {1.0 / 12,    -1.0 / 360,       1.0 / 1260,
                                       -1.0 / 1680, 1.0 / 1188,       -691.0 / 360360,
                                       1.0 / 156,   -3617.0 / 122400, 43867.0 / 244188};
  const V one = hn::Set(d, 1.0);
  const V inverse = hn::Div(one, x);
  const V rest = hn::MulAdd(polynomial(d, hn::Mul(inverse, inverse), kSeries), inverse,
                            hn::Set(d, 0x1.acfe390c97d6ap-2));  // log(2 pi) / 2 - 1 / 2
  return hn::MulAdd(hn::Sub(x, hn::Set(d, 0.5)), hn::Sub(log(d, x), one), rest);
}

// Recurrence up to 10 with one division for all of its terms, then the asymptotic series.
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V digamma_of_positive(D d, V x) {
  // Bernoulli numbers over their index: B(2k) / 2k.
  static constexpr double kSeries[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                       1.0 / 132, -691.0 / 32760, 1.0 / 12};
  const V one = hn::Set(d, 1.0);
  const V ten = hn::Set(d, 10.0);
  V top = hn::Zero(d);  // the sum of 1 / x is top / bottom
  V bottom = one;
  for (int step = 0; step < 10; ++step) {
    const auto is_below = hn::Lt(x, ten);
    top = hn::IfThenElse(is_below, hn::MulAdd(top, x, bottom), top);
    bottom = hn::IfThenElse(is_below, hn::Mul(bottom, x), bottom);
    x = hn::IfThenElse(is_below, hn::Add(x, one), x);
  }
  const V inverse = hn::Div(one, x);
  const V square = hn::Mul(inverse, inverse);
  const V series =
      hn::MulAdd(polynomial(d, square, kSeries), square, hn::Mul(inverse, hn::Set(d, 0.5)));
  return hn::Sub(hn::Sub(log(d, x), series), hn::Div(top, bottom));
}

// Lanes at or below zero, and NaN, are left to the function of numbers.
template <class D, class V, class M>
HWY_NOINLINE V replace_lanes(D d, V result, M replaced, V x, double (*function)(double)) {
  HWY_ALIGN double from[hn::MaxLanes(D())];
  HWY_ALIGN double to[hn::MaxLanes(D())];
  HWY_ALIGN double is_replaced[hn::MaxLanes(D())];
  hn::Store(x, d, from);
  hn::Store(result, d, to);
  hn::Store(hn::IfThenElseZero(replaced, hn::Set(d, 1.0)), d, is_replaced);
  for (size_t i = 0; i < hn::MaxLanes(D()); ++i) {
    if (is_replaced[i] != 0) to[i] = function(from[i]);
  }
  return hn::Load(d, to);
}

// Replaces the lanes of `near` that are not. Of negative lanes, from that of their magnitude:
// gamma(a) gamma(-a) is pi / (a sin(pi a)) but for its sign. The difference of two logarithms loses
// digits where it is small; those lanes, infinities and NaN are computed one by one.
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V lgamma_beyond(D d, V x, V near) {
  const V magnitude = hn::Abs(x);
  const auto is_near = hn::Lt(magnitude, hn::Set(d, kGammaNear));
  const V of_magnitude = lgamma_far(d, hn::Max(magnitude, hn::Set(d, kGammaNear)));
  V result = hn::IfThenElse(is_near, near, of_magnitude);
  auto others = hn::Not(hn::Or(is_near, hn::Gt(x, hn::Zero(d))));
  if (hn::AllFalse(d, others)) return result;

  const V pi = hn::Set(d, 0x1.921fb54442d18p1);
  const V angle = hn::Mul(hn::Sub(magnitude, hn::Round(magnitude)), pi);
  const V product = hn::Mul(magnitude, hn::Abs(sin(d, angle)));
  const V reflected = hn::Sub(log(d, hn::Div(pi, product)), of_magnitude);
  result = hn::IfThenElse(others, reflected, result);
  const auto is_accurate =
      hn::And(hn::Lt(magnitude, hn::Set(d, 1e300)),
              hn::Ge(hn::Abs(reflected), hn::Mul(of_magnitude, hn::Set(d, 0.5))));
  others = hn::AndNot(is_accurate, others);
  if (hn::AllFalse(d, others)) return result;
  return replace_lanes(d, result, others, x, &lgamma_of_number);
}

// In float64 negative lanes whose result is near zero are computed one by one.
template <bool kRounded, class D, class V = hn::Vec<D>>
HWY_INLINE V lgamma(D d, V x) {
  V result = lgamma_near<kRounded>(d, x);
  const auto is_near = hn::Lt(hn::Abs(x), hn::Set(d, kGammaNear));
  if (HWY_UNLIKELY(!hn::AllTrue(d, is_near))) result = lgamma_beyond(d, x, result);
  if constexpr (kRounded) return result;
  const auto is_small =
      hn::And(hn::Lt(x, hn::Zero(d)), hn::Lt(hn::Abs(result), hn::Set(d, 0x1p-4)));
  if (HWY_LIKELY(hn::AllFalse(d, is_small))) return result;
  return replace_lanes(d, result, is_small, x, &lgamma_of_number);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V digamma(D d, V x) {
  const V result = digamma_of_positive(d, x);
  const auto others = hn::Not(hn::Gt(x, hn::Zero(d)));
  if (HWY_LIKELY(hn::AllFalse(d, others))) return result;
  return replace_lanes(d, result, others, x, &ops::special::digamma);
}

#endif

}  // namespace mindtorch::cpu::HWY_NAMESPACE::math
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
