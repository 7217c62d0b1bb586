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

// Up to 1/2 it is that of x + 1 less log(x). Around its zeros at 1 and 2 it is a polynomial times
// the distance from the zero. Up to 8 factors are taken out until what is left is near 2; beyond,
// the asymptotic series holds.
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V lgamma_of_positive(D d, V x) {
  static constexpr double kAtOne[] = {
      -0x1.2788cfc6fb619p-1, 0x1.a51a6625307d3p-1,  -0x1.9a4d55beab37cp-2, 0x1.151322ac7d8e9p-2,
      -0x1.a8b9c17a91284p-3, 0x1.5b40cb0ff7e2cp-3,  -0x1.2703a1e53cd44p-3, 0x1.010b36b799ac3p-3,
      -0x1.c8066cfb76ec6p-4, 0x1.9a01e02e1bc0ep-4,  -0x1.748ca0044fd2dp-4, 0x1.556b3fe9a66f6p-4,
      -0x1.3b14e848a2d53p-4, 0x1.248e72b0a7186p-4,  -0x1.118acc50ec441p-4, 0x1.007509e47a025p-4,
      -0x1.d8fbcda10e84fp-5, 0x1.be79bd2aebac5p-5,  -0x1.ea4aa627b4073p-5, 0x1.d2f7f4a6085fbp-5,
      -0x1.db7126487ed80p-7, 0x1.b4fc9a43dac9fp-7,  -0x1.28eb1f4f52ce4p-3, 0x1.1ef5d11df4a3dp-3,
      0x1.3914b3aa0e424p-3,  -0x1.3046d605c1822p-3, -0x1.cc35b376ce280p-3, 0x1.bdb3d7629dd5ep-3};
  static constexpr double kAtTwo[] = {
      0x1.b0ee6072093cep-2,   0x1.4a34cc4a60fa7p-2,  -0x1.13e001a557607p-4,  0x1.51322ac7d7fd2p-6,
      -0x1.e404fc218ecffp-8,  0x1.7add6eae5b8fdp-9,  -0x1.38ac5c2c96006p-10, 0x1.0b36af3424c50p-11,
      -0x1.d3fd4bda4f97bp-13, 0x1.a127dd231f4b2p-14, -0x1.78de85fa0bf74p-15, 0x1.5806d7786fbc2p-16,
      -0x1.3cb5f201754a6p-17, 0x1.2640a5e8ab73ep-18, -0x1.125408d7ee6ebp-19, 0x1.edf317afe0c72p-21,
      -0x1.d06b46182e294p-22, 0x1.2b4bb069ee6a9p-22, -0x1.1be56b7e101c6p-23};
  // Bernoulli numbers: B(2k) / (2k (2k - 1)).
  static constexpr double kSeries[] = {1.0 / 12,    -1.0 / 360,       1.0 / 1260,
                                       -1.0 / 1680, 1.0 / 1188,       -691.0 / 360360,
                                       1.0 / 156,   -3617.0 / 122400, 43867.0 / 244188};
  const V one = hn::Set(d, 1.0);
  const auto is_small = hn::Lt(x, hn::Set(d, 0.5));
  const auto is_large = hn::Ge(x, hn::Set(d, 8.0));

  V near = hn::IfThenElse(is_small, hn::Add(x, one), x);
  V product = hn::IfThenElse(is_small, x, one);
  for (int step = 0; step < 6; ++step) {
    const auto is_above = hn::AndNot(is_large, hn::Ge(near, hn::Set(d, 2.5)));
    near = hn::IfThenElse(is_above, hn::Sub(near, one), near);
    product = hn::IfThenElse(is_above, hn::Mul(product, near), product);
  }
  const V from_one = hn::Sub(near, one);
  const V from_two = hn::Sub(near, hn::Set(d, 2.0));
  const V small = hn::IfThenElse(hn::Lt(near, hn::Set(d, 1.5)),
                                 hn::Mul(from_one, polynomial(d, from_one, kAtOne)),
                                 hn::Mul(from_two, polynomial(d, from_two, kAtTwo)));
  const V logarithm = log(d, hn::IfThenElse(is_large, x, product));
  const V sum = hn::IfThenElse(is_small, hn::Sub(small, logarithm), hn::Add(small, logarithm));
  if (hn::AllFalse(d, is_large)) return sum;

  const V inverse = hn::Div(one, x);
  const V rest = hn::MulAdd(polynomial(d, hn::Mul(inverse, inverse), kSeries), inverse,
                            hn::Set(d, 0x1.acfe390c97d6ap-2));  // log(2 pi) / 2 - 1 / 2
  const V far = hn::MulAdd(hn::Sub(x, hn::Set(d, 0.5)), hn::Sub(logarithm, one), rest);
  return hn::IfThenElse(is_large, far, sum);
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

// Of negative lanes, from that of their magnitude: gamma(a) gamma(-a) is pi / (a sin(pi a)) but for
// its sign. The difference of two logarithms loses digits where it is small, which matters unless
// it is rounded to float32; those lanes, infinities, NaN and what is nearly zero are computed one
// by one.
template <bool kRounded, class D, class V = hn::Vec<D>>
HWY_NOINLINE V reflect_lgamma(D d, V x, V of_magnitude) {
  const V magnitude = hn::Abs(x);
  const V angle =
      hn::Mul(hn::Sub(magnitude, hn::Round(magnitude)), hn::Set(d, 0x1.921fb54442d18p1));
  const V product = hn::Mul(magnitude, hn::Abs(sin(d, angle)));
  const V reflected =
      hn::Sub(log(d, hn::Div(hn::Set(d, 0x1.921fb54442d18p1), product)), of_magnitude);
  const auto is_negative = hn::Lt(x, hn::Zero(d));
  const V result = hn::IfThenElse(is_negative, reflected, of_magnitude);
  const auto is_moderate =
      hn::And(hn::Ge(magnitude, hn::Set(d, 1e-150)), hn::Lt(magnitude, hn::Set(d, 1e300)));
  auto others = hn::Not(hn::Or(hn::Gt(x, hn::Zero(d)), is_moderate));
  if constexpr (!kRounded) {
    const V least = hn::Max(hn::Mul(hn::Abs(of_magnitude), hn::Set(d, 0.5)), hn::Set(d, 0.75));
    others = hn::Or(others, hn::And(is_negative, hn::Lt(hn::Abs(reflected), least)));
  }
  if (hn::AllFalse(d, others)) return result;
  return replace_lanes(d, result, others, x, &lgamma_of_number);
}

// kRounded: the result becomes a float32.
template <bool kRounded, class D, class V = hn::Vec<D>>
HWY_INLINE V lgamma(D d, V x) {
  const V result = lgamma_of_positive(d, hn::Abs(x));
  if (HWY_LIKELY(hn::AllTrue(d, hn::Gt(x, hn::Zero(d))))) return result;
  return reflect_lgamma<kRounded>(d, x, result);
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
