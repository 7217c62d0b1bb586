// Exponentials and logarithms on vectors of float32 and float64, from which the tiles build the
// rest.
//
// The vector forms need fused multiply-add, which AVX2 and AVX-512 have; the one-lane target asks
// the C library. Polynomials are our own minimax fits: their relative error is below a tenth of a
// unit in the last place, so that rounding is what remains.

#include <cmath>
#include <limits>

#include "mindtorch/backends/cpu/tiles/polynomials.h"
#include "mindtorch/backends/cpu/tiles/tile-inl.h"

#if defined(MT_TILES_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_MATH_INL_H_
#undef MT_TILES_MATH_INL_H_
#else
#define MT_TILES_MATH_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE::math {

template <class D>
inline constexpr bool kIsFloat32 = sizeof(hn::TFromD<D>) == 4;

// A constant given for both widths.
template <class D>
HWY_INLINE hn::Vec<D> constant(D d, float single, double full) {
  if constexpr (kIsFloat32<D>) {
    return hn::Set(d, single);
  } else {
    return hn::Set(d, full);
  }
}
template <class D>
HWY_INLINE hn::Vec<D> constant(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}
template <class D>
HWY_INLINE hn::Vec<D> infinity(D d) {
  return hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
}
template <class D>
HWY_INLINE hn::Vec<D> nan(D d) {
  return hn::Set(d, std::numeric_limits<hn::TFromD<D>>::quiet_NaN());
}

// A function of the C library, lane by lane.
template <class F, class D, class V = hn::Vec<D>>
HWY_NOINLINE V by_lane(F function, D d, V x) {
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::MaxLanes(d); ++i) lanes[i] = function(lanes[i]);
  return hn::Load(d, lanes);
}

#if HWY_TARGET == HWY_SCALAR

// clang-format off
template <class D, class V> HWY_INLINE V exp(D, V x) { return V(std::exp(x.raw)); }
template <class D, class V> HWY_INLINE V exp_negative(D, V x) { return V(std::exp(x.raw)); }
template <class D, class V> HWY_INLINE V exp2(D, V x) { return V(std::exp2(x.raw)); }
template <class D, class V> HWY_INLINE V expm1(D, V x) { return V(std::expm1(x.raw)); }
template <class D, class V> HWY_INLINE V log(D, V x) { return V(std::log(x.raw)); }
template <class D, class V> HWY_INLINE V log2(D, V x) { return V(std::log2(x.raw)); }
template <class D, class V> HWY_INLINE V log10(D, V x) { return V(std::log10(x.raw)); }
template <class D, class V> HWY_INLINE V log1p(D, V x) { return V(std::log1p(x.raw)); }
// clang-format on

template <class F, class D, class V>
HWY_INLINE V through_double(F function, D d, V x) {
  const hn::Rebind<double, D> dd;
  return hn::Set(d, static_cast<float>(hn::GetLane(function(dd, hn::PromoteTo(dd, x)))));
}
template <class F, class D, class V>
HWY_INLINE V through_double(F function, D d, V x, V y) {
  const hn::Rebind<double, D> dd;
  const auto result = function(dd, hn::PromoteTo(dd, x), hn::PromoteTo(dd, y));
  return hn::Set(d, static_cast<float>(hn::GetLane(result)));
}

#else

// A float32 function computed in float64 and rounded once: for functions that would lose too much
// on the way and are not worth a compensated form.
template <class F, class D, class V>
HWY_INLINE V through_double(F function, D d, V x) {
  const hn::Half<D> dh;
  const hn::Repartition<double, D> dd;
  const auto low = function(dd, hn::PromoteTo(dd, hn::LowerHalf(dh, x)));
  const auto high = function(dd, hn::PromoteTo(dd, hn::UpperHalf(dh, x)));
  return hn::Combine(d, hn::DemoteTo(dh, high), hn::DemoteTo(dh, low));
}
template <class F, class D, class V>
HWY_INLINE V through_double(F function, D d, V x, V y) {
  const hn::Half<D> dh;
  const hn::Repartition<double, D> dd;
  const auto low = function(dd, hn::PromoteTo(dd, hn::LowerHalf(dh, x)),
                            hn::PromoteTo(dd, hn::LowerHalf(dh, y)));
  const auto high = function(dd, hn::PromoteTo(dd, hn::UpperHalf(dh, x)),
                             hn::PromoteTo(dd, hn::UpperHalf(dh, y)));
  return hn::Combine(d, hn::DemoteTo(dh, high), hn::DemoteTo(dh, low));
}

// a / b of float64 to 41 bits, which is more than a float32 needs; b is of moderate size. Products
// take less time than a division.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V quick_quotient(D d, V a, V b) {
#if HWY_TARGET <= HWY_AVX3
  const V inverse = V{_mm512_rcp14_pd(b.raw)};
  const V error = hn::NegMulAdd(b, inverse, hn::Set(d, 1.0));
  const V correction = hn::MulAdd(error, error, hn::Add(error, hn::Set(d, 1.0)));
  return hn::Mul(hn::Mul(a, inverse), correction);
#else
  (void)d;
  return hn::Div(a, b);
#endif
}

// c[0] + c[1] x + c[2] x^2 + ...
template <class D, class V = hn::Vec<D>, class T, size_t kTerms>
HWY_INLINE V polynomial(D d, V x, const T (&c)[kTerms]) {
  V sum = hn::Set(d, c[kTerms - 1]);
  for (size_t i = kTerms - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, c[i]));
  return sum;
}

// Adding this constant rounds to a whole number and leaves it in the low bits of the sum.
template <class D>
HWY_INLINE hn::Vec<D> round_magic(D d) {
  return constant(d, 0x1.8p23f, 0x1.8p52);
}

// x = whole * step + rest; `bits` holds the whole number in its low bits.
template <class D>
struct Reduced {
  hn::Vec<D> whole, rest;
  hn::Vec<hn::RebindToSigned<D>> bits;
};

// Splits x / ln 2. The product with the first part of ln 2 is exact inside the fused operation.
template <class D, class V = hn::Vec<D>>
HWY_INLINE Reduced<D> reduce_exp(D d, V x) {
  const V magic = round_magic(d);
  const V shifted = hn::MulAdd(x, constant(d, 0x1.715476p0f, 0x1.71547652b82fep0), magic);
  const V n = hn::Sub(shifted, magic);
  V r = hn::NegMulAdd(n, constant(d, 0x1.62e43p-1f, 0x1.62e42fefa39efp-1), x);
  r = hn::NegMulAdd(n, constant(d, -0x1.05c61p-29f, 0x1.abc9e3b39803fp-56), r);
  return {n, r, hn::BitCast(hn::RebindToSigned<D>(), shifted)};
}

// v * 2^n, rounded once, also where the result is subnormal or overflows.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V scale_by_power(D d, V v, const Reduced<D>& n) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kIsFloat32<D>) {
    return V{_mm512_scalef_ps(v.raw, n.whole.raw)};
  } else {
    return V{_mm512_scalef_pd(v.raw, n.whole.raw)};
  }
#else
  const hn::RebindToSigned<D> di;
  constexpr int kMantissa = kIsFloat32<D> ? 23 : 52;
  const auto bias = hn::Set(di, kIsFloat32<D> ? 127 : 1023);
  const auto exponent = hn::Sub(n.bits, hn::BitCast(di, round_magic(d)));
  const auto half = hn::ShiftRight<1>(exponent);
  const auto first = hn::ShiftLeft<kMantissa>(hn::Add(half, bias));
  const auto second = hn::ShiftLeft<kMantissa>(hn::Add(hn::Sub(exponent, half), bias));
  return hn::Mul(hn::Mul(v, hn::BitCast(d, first)), hn::BitCast(d, second));
#endif
}

// 2^n for whole n of moderate size.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V power_of_two(D d, V n) {
  const hn::RebindToSigned<D> di;
  constexpr int kMantissa = kIsFloat32<D> ? 23 : 52;
  const V shifted = hn::Add(n, constant(d, 0x1.8p23f + 127, 0x1.8p52 + 1023));
  return hn::BitCast(d, hn::ShiftLeft<kMantissa>(hn::BitCast(di, shifted)));
}

// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_series(D d, V r) {
  if constexpr (kIsFloat32<D>) {
    return polynomial(d, r, polynomials::kExp);
  } else {
    static constexpr double kTerms[] = {
        0x1.000000000000ap-1,  0x1.5555555555526p-3,  0x1.55555555508eep-5,  0x1.111111111ff4fp-7,
        0x1.6c16c183ddc83p-10, 0x1.a01a0149ca27dp-13, 0x1.a0199b0ba1e5dp-16, 0x1.71deeee529cf1p-19,
        0x1.28ac795c55e66p-22, 0x1.adc3f8f05c11dp-26};
    return polynomial(d, r, kTerms);
  }
}

// e^r for |r| <= ln(2) / 2, with an error of up to 0.9 units in the last place, or (one operation
// more) of 0.6.
template <bool kCareful = false, class D, class V = hn::Vec<D>>
HWY_INLINE V exp_of_rest(D d, V r) {
  const V one = constant(d, 1);
  const V p = exp_series(d, r);
  if constexpr (kCareful) return hn::Add(hn::MulAdd(hn::Mul(p, r), r, r), one);
  return hn::MulAdd(hn::MulAdd(p, r, one), r, one);
}

// e^r - 1 for |r| <= ln(2) / 2, with a small error relative to r.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V expm1_of_rest(D d, V r) {
  V p;
  if constexpr (kIsFloat32<D>) {
    p = polynomial(d, r, polynomials::kExpm1);
  } else {
    static constexpr double kTerms[] = {0.5,
                                        0x1.5555555555559p-3,
                                        0x1.5555555555559p-5,
                                        0x1.111111110f6f5p-7,
                                        0x1.6c16c16c16466p-10,
                                        0x1.a01a01afa4cf8p-13,
                                        0x1.a01a019ff14fcp-16,
                                        0x1.71ddf936d6ba3p-19,
                                        0x1.27e4f52e4477cp-22,
                                        0x1.af5cdaaebe5b9p-26,
                                        0x1.1f3dbd6ed6579p-29};
    p = polynomial(d, r, kTerms);
  }
  return hn::MulAdd(hn::Mul(p, r), r, r);
}

// e^x of float64 to 33 bits, which is more than a float32 needs, for |x| up to 700.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V short_exp(D d, V x) {
  static constexpr double kTerms[] = {1.0,
                                      0x1.000000004e98p0,
                                      0x1.0000002724c09p-1,
                                      0x1.555553f34b96ep-3,
                                      0x1.5554af7df4077p-5,
                                      0x1.1112cc2198f7bp-7,
                                      0x1.6d732886e9315p-10,
                                      0x1.9e8218b856c91p-13};
  const hn::RebindToSigned<D> di;
  const V magic = round_magic(d);
  const V shifted = hn::MulAdd(x, hn::Set(d, 0x1.71547652b82fep0), magic);
  const V n = hn::Sub(shifted, magic);
  const V r = hn::NegMulAdd(n, hn::Set(d, 0x1.62e42fefa39efp-1), x);
  const auto bits = hn::BitCast(di, polynomial(d, r, kTerms));
  return hn::BitCast(d, hn::Add(bits, hn::ShiftLeft<52>(hn::BitCast(di, shifted))));
}

// exp for x that is negative or not much above zero: no overflow to look after.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_negative(D d, V x) {
  const V clamped = max_or_second(d, constant(d, -104.0f, -746.0), x);
  const Reduced<D> n = reduce_exp(d, clamped);
  return scale_by_power(d, exp_of_rest(d, n.rest), n);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp(D d, V x) {
  return exp_negative(d, min_or_second(d, constant(d, 89.0f, 710.0), x));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp2(D d, V x) {
  const V below = min_or_second(d, constant(d, 129.0f, 1025.0), x);
  const V clamped = max_or_second(d, constant(d, -151.0f, -1076.0), below);
  const V magic = round_magic(d);
  const V shifted = hn::Add(clamped, magic);
  Reduced<D> n;
  n.whole = hn::Sub(shifted, magic);
  n.bits = hn::BitCast(hn::RebindToSigned<D>(), shifted);
  // The rest times ln 2, in two parts.
  const V r = hn::Sub(clamped, n.whole);
  const V high = hn::Mul(r, constant(d, 0x1.62e43p-1f, 0x1.62e42fefa39efp-1));
  const V low = hn::MulAdd(r, constant(d, -0x1.05c61p-29f, 0x1.abc9e3b39803fp-56),
                           hn::MulSub(r, constant(d, 0x1.62e43p-1f, 0x1.62e42fefa39efp-1), high));
  const V power = exp_of_rest(d, high);
  return scale_by_power(d, hn::MulAdd(power, low, power), n);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V expm1(D d, V x) {
  const V below = min_or_second(d, constant(d, 89.0f, 710.0), x);
  const V clamped = max_or_second(d, constant(d, -20.0f, -40.0), below);
  const Reduced<D> n = reduce_exp(d, clamped);
  const V p = expm1_of_rest(d, n.rest);
  // Half the power of two, doubled at the end: 2^n itself may overflow where the result does not.
  const V scale = power_of_two(d, hn::Sub(n.whole, constant(d, 1)));
  const V half = hn::MulAdd(scale, p, hn::Sub(scale, constant(d, 0.5)));
  const V result = hn::Add(half, half);
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result);  // keeps the sign of zero
}

// log(x) = exponent * ln 2 + f + t, where 1 + f is in [3/4, 3/2) and t is small against f.
template <class D>
struct LogParts {
  hn::Vec<D> exponent, f, t;
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_correction(D d, V f) {
  if constexpr (kIsFloat32<D>) {
    const V square = hn::Mul(f, f);
    return hn::Mul(square, hn::MulSub(polynomial(d, f, polynomials::kLog), f, constant(d, 0.5)));
  } else {
    // log(1 + f) = 2 atanh(s) with s = f / (2 + f), arranged so that f itself stays exact.
    static constexpr double kTerms[] = {
        0x1.555555555554fp-1, 0x1.999999999c17ap-2, 0x1.24924921e46f4p-2, 0x1.c71c748f7ae8fp-3,
        0x1.745c4af3c9ab1p-3, 0x1.3b35bcc1e418bp-3, 0x1.0dcbe8453fd93p-3, 0x1.1b7f0c36c971dp-3};
    const V s = hn::Div(f, hn::Add(f, constant(d, 2)));
    const V z = hn::Mul(s, s);
    const V half_square = hn::Mul(hn::Mul(f, f), constant(d, 0.5));
    const V series = hn::MulAdd(z, polynomial(d, z, kTerms), half_square);
    return hn::MulSub(s, series, half_square);
  }
}

// Exponent and mantissa of x > 0, normal or (AVX-512) not.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void split_float(D d, V x, V& exponent, V& mantissa) {
#if HWY_TARGET <= HWY_AVX3
  // Zero and infinity give infinite exponents, negative numbers a NaN mantissa: all as log wants
  // it.
  if constexpr (kIsFloat32<D>) {
    mantissa = V{_mm512_getmant_ps(x.raw, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan)};
    exponent = V{_mm512_sub_ps(_mm512_getexp_ps(x.raw), _mm512_getexp_ps(mantissa.raw))};
  } else {
    mantissa = V{_mm512_getmant_pd(x.raw, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan)};
    exponent = V{_mm512_sub_pd(_mm512_getexp_pd(x.raw), _mm512_getexp_pd(mantissa.raw))};
  }
  (void)d;
#else
  const hn::RebindToSigned<D> di;
  using I = hn::TFromD<decltype(di)>;
  constexpr int kMantissa = kIsFloat32<D> ? 23 : 52;
  const auto tiny = hn::Lt(x, hn::Set(d, std::numeric_limits<hn::TFromD<D>>::min()));
  const V normal = hn::IfThenElse(tiny, hn::Mul(x, constant(d, 0x1p24f, 0x1p54)), x);
  const auto bits = hn::BitCast(di, normal);
  const auto start = hn::BitCast(di, constant(d, 0.75));
  const auto steps = hn::Sub(bits, start);
  const auto whole = hn::And(steps, hn::Set(di, static_cast<I>(-1) << kMantissa));
  mantissa = hn::BitCast(d, hn::Sub(bits, whole));
  // The exponent as a float: its bits, made positive, in a number whose unit they count.
  const hn::RebindToUnsigned<D> du;
  using U = hn::TFromD<decltype(du)>;
  constexpr int kOffset = kIsFloat32<D> ? 256 : 2048;
  const auto positive = hn::Add(hn::BitCast(du, whole), hn::Set(du, U{kOffset} << kMantissa));
  const auto count =
      hn::Or(hn::ShiftRight<kMantissa>(positive), hn::BitCast(du, constant(d, 0x1p23f, 0x1p52)));
  const V counted = hn::Sub(hn::BitCast(d, count), constant(d, 0x1p23f + 256, 0x1p52 + 2048));
  exponent = hn::IfThenElse(tiny, hn::Sub(counted, constant(d, 24.0f, 54.0)), counted);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE LogParts<D> log_parts(D d, V x) {
  LogParts<D> parts;
  V mantissa;
  split_float(d, x, parts.exponent, mantissa);
  parts.f = hn::Sub(mantissa, constant(d, 1));
  parts.t = log_correction(d, parts.f);
  return parts;
}

// What split_float does not do by itself: logarithms of zero, infinity and negative numbers.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_edges(D d, V x, V result) {
#if HWY_TARGET <= HWY_AVX3
  (void)d, (void)x;
  return result;
#else
  const V zero = hn::Zero(d);
  V v = hn::IfThenElse(hn::Lt(x, infinity(d)), result, x);  // +inf and NaN stay
  v = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity(d)), v);
  return hn::IfThenElse(hn::Lt(x, zero), nan(d), v);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_sum(D d, const LogParts<D>& p) {
  const V low = hn::MulAdd(p.exponent, constant(d, 0x1.efa39ep-25f, 0x1.abc9e3b39803fp-56), p.t);
  return hn::MulAdd(p.exponent, constant(d, 0x1.62e42ep-1f, 0x1.62e42fefa39efp-1),
                    hn::Add(p.f, low));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V log(D d, V x) {
  return log_edges(d, x, log_sum(d, log_parts(d, x)));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V log2(D d, V x) {
  const LogParts<D> p = log_parts(d, x);
  const V scale = constant(d, 0x1.715476p0f, 0x1.71547652b82fep0);
  const V low = hn::Mul(p.f, constant(d, 0x1.4ae0cp-26f, 0x1.777d0ffda0d24p-56));
  const V fraction = hn::MulAdd(p.f, scale, hn::MulAdd(p.t, scale, low));
  return log_edges(d, x, hn::Add(p.exponent, fraction));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V log10(D d, V x) {
  const LogParts<D> p = log_parts(d, x);
  const V scale = constant(d, 0x1.bcb7b2p-2f, 0x1.bcb7b1526e50ep-2);
  V low = hn::Mul(p.f, constant(d, -0x1.5b235ep-27f, 0x1.95355baaafad3p-57));
  low = hn::MulAdd(p.t, scale, low);
  low = hn::MulAdd(p.exponent, constant(d, 0x1.09f7ap-26f, 0x1.e623e2566b02ep-55), low);
  const V fraction = hn::MulAdd(p.f, scale, low);
  const V high = constant(d, 0x1.344134p-2f, 0x1.34413509f79fep-2);
  return log_edges(d, x, hn::MulAdd(p.exponent, high, fraction));
}

// log(1 + x): the exponent comes from the rounded sum, the mantissa from x itself, so that nothing
// of x is lost: (1 + x) / 2^k - 1 = x / 2^k + (1 / 2^k - 1).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log1p(D d, V x) {
  const V one = constant(d, 1);
  const V sum = hn::Add(x, one);
  LogParts<D> p;
  V mantissa;
  split_float(d, sum, p.exponent, mantissa);
  // Beyond this 1 no longer counts, and 2^-k would leave the range.
  const auto large = hn::Gt(x, constant(d, 0x1p26f, 0x1p55));
  const V shrink = power_of_two(d, hn::IfThenZeroElse(large, hn::Neg(p.exponent)));
  const V exact = hn::MulAdd(x, shrink, hn::Sub(shrink, one));
  p.f = hn::IfThenElse(large, hn::Sub(mantissa, one), exact);
  p.t = log_correction(d, p.f);
  const V result = log_edges(d, sum, log_sum(d, p));
  const auto tiny = hn::Lt(hn::Abs(x), constant(d, 0x1p-25f, 0x1p-54));
#if HWY_TARGET <= HWY_AVX3
  // With an infinite exponent the arithmetic above makes NaN of what is an infinity.
  const V edge = hn::IfThenElse(hn::Eq(sum, hn::Zero(d)), hn::Neg(infinity(d)), x);
  const auto ends = hn::Or(hn::Eq(sum, hn::Zero(d)), hn::Or(tiny, hn::Eq(x, infinity(d))));
  return hn::IfThenElse(hn::Lt(sum, hn::Zero(d)), nan(d), hn::IfThenElse(ends, edge, result));
#else
  return hn::IfThenElse(tiny, x, result);
#endif
}

#endif  // HWY_SCALAR

}  // namespace mindtorch::cpu::HWY_NAMESPACE::math
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
