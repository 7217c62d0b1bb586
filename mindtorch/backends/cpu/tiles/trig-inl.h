// Sine, cosine and tangent on vectors of float32 and float64.

#include "mindtorch/backends/cpu/tiles/lookup-inl.h"
#include "mindtorch/backends/cpu/tiles/math-inl.h"

#if defined(MT_TILES_TRIG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_TRIG_INL_H_
#undef MT_TILES_TRIG_INL_H_
#else
#define MT_TILES_TRIG_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE::math {

#if HWY_TARGET == HWY_SCALAR

// clang-format off
template <class D, class V> HWY_INLINE V sin(D, V x) { return V(std::sin(x.raw)); }
template <class D, class V> HWY_INLINE V cos(D, V x) { return V(std::cos(x.raw)); }
template <class D, class V> HWY_INLINE V tan(D, V x) { return V(std::tan(x.raw)); }
// clang-format on

#else

// x minus a multiple of pi / 2, as rest + low. Exact enough up to kTrigLimit. Of numbers up to
// kSmallAngle nothing is subtracted: a vector that has no others does not even ask.
template <class D>
inline constexpr double kTrigLimit = kIsFloat32<D> ? 0x1p17 : 0x1p20;
inline constexpr double kSmallAngle = 1;

template <class D>
struct Angle {
  hn::Vec<D> rest, low;
  hn::Vec<hn::RebindToSigned<D>> quadrant;
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> is_small_angle(D d, V x) {
  return hn::Le(hn::Abs(x), constant(d, kSmallAngle));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE Angle<D> small_angle(D d, V x) {
  return {x, hn::Zero(d), hn::Zero(hn::RebindToSigned<D>())};
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE Angle<D> reduce_angle(D d, V x, hn::Mask<D> is_small) {
  const V magic = round_magic(d);
  const V sum = hn::MulAdd(x, constant(d, 0x1.45f306p-1f, 0x1.45f306dc9c883p-1), magic);
  const V shifted = hn::IfThenElse(is_small, magic, sum);
  const V n = hn::Sub(shifted, magic);
  const V second = constant(d, -0x1.777a5cp-25f, 0x1.1a62633145c07p-54);
  const V third = constant(d, -0x1.ee59dap-50f, -0x1.f1976b7ed8fbcp-110);
  const V exact = hn::NegMulAdd(n, constant(d, 0x1.921fb6p0f, 0x1.921fb54442d18p0), x);
  // Whether this difference cancels or not, what it took from `exact` is exact.
  const V rest = hn::Sub(exact, hn::Mul(n, second));
  const V low = hn::NegMulAdd(n, third, hn::NegMulAdd(n, second, hn::Sub(exact, rest)));
  return {rest, low, hn::BitCast(hn::RebindToSigned<D>(), shifted)};
}

// The polynomials are for |rest| <= kSmallAngle. This one is sin(rest) / rest - 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sin_series(D d, V rest) {
  const V z = hn::Mul(rest, rest);
  V p;
  if constexpr (kIsFloat32<D>) {
    static constexpr float kTerms[] = {-0x1.555556p-3f, 0x1.1110fp-7f, -0x1.a0000cp-13f,
                                       0x1.69e4d6p-19f};
    p = polynomial(d, z, kTerms);
  } else {
    static constexpr double kTerms[] = {-0x1.5555555555555p-3,  0x1.11111111110cdp-7,
                                        -0x1.a01a01a00ebb6p-13, 0x1.71de3a488fbd6p-19,
                                        -0x1.ae644775b46c1p-26, 0x1.611aecee4ad9ep-33,
                                        -0x1.a8686fc51dcebp-41};
    p = polynomial(d, z, kTerms);
  }
  return hn::Mul(p, z);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sin_of_rest(const Angle<D>& a, V series) {
  return hn::Add(a.rest, hn::MulAdd(series, a.rest, a.low));
}
// The same without a.low, and with one rounding less. Keeps the sign of zero.
template <class V>
HWY_INLINE V sin_of_small(V x, V series) {
  return hn::CopySign(hn::MulAdd(series, x, x), x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V cos_of_rest(D d, const Angle<D>& a) {
  const V one = constant(d, 1);
  const V z = hn::Mul(a.rest, a.rest);
  V p;
  if constexpr (kIsFloat32<D>) {
    static constexpr float kTerms[] = {0x1.555524p-5f, -0x1.6bfa66p-10f, 0x1.96002cp-16f};
    p = polynomial(d, z, kTerms);
  } else {
    static constexpr double kTerms[] = {0x1.5555555555512p-5,  -0x1.6c16c16c0b4f5p-10,
                                        0x1.a01a018e49012p-16, -0x1.27e4ef0a85d89p-22,
                                        0x1.1ee4ce0cd1054p-29, -0x1.8d7d001ced752p-37};
    p = polynomial(d, z, kTerms);
  }
  // 1 - z / 2 is rounded; what that rounding took comes back with the small terms.
  const V half = constant(d, 0.5);
  const V main = hn::NegMulAdd(z, half, one);
  const V lost = hn::NegMulAdd(z, half, hn::Sub(one, main));
  const V small = hn::MulAdd(hn::Mul(z, z), p, hn::NegMulAdd(a.rest, a.low, lost));
  return hn::Add(main, small);
}

// The tangent is rest / bottom, bottom = 1 - rest^2 p(rest^2). `low` receives what bottom leaves
// out; kReduced: a.low is not zero.
template <bool kReduced, class D, class V = hn::Vec<D>>
HWY_INLINE V tan_bottom(D d, const Angle<D>& a, V& low) {
  const V one = constant(d, 1);
  const V z = hn::Mul(a.rest, a.rest);
  V p;
  if constexpr (kIsFloat32<D>) {
    static constexpr float kTerms[] = {0x1.555558p-2f, 0x1.6c1304p-6f, 0x1.15f972p-9f,
                                       0x1.a94b1ep-13f, 0x1.e82578p-16f};
    p = polynomial(d, z, kTerms);
  } else {
    static constexpr double kTerms[] = {
        0x1.5555555555556p-2,  0x1.6c16c16c168dap-6,  0x1.1566abc03d79bp-9,  0x1.bbd779134271dp-13,
        0x1.66a8f914142adp-16, 0x1.227f9b067c978p-19, 0x1.d6f90904652a9p-23, 0x1.7c253b40caf24p-26,
        0x1.41cda077f76cdp-29, 0x1.75d700ac5ef53p-33, 0x1.7c0bab25154ddp-35};
    p = polynomial(d, z, kTerms);
  }
  const V bottom = hn::NegMulAdd(z, p, one);
  const V lost = hn::NegMulAdd(z, p, hn::Sub(one, bottom));
  V z_low = hn::MulSub(a.rest, a.rest, z);
  if constexpr (kReduced) z_low = hn::MulAdd(hn::Add(a.rest, a.rest), a.low, z_low);
  low = hn::NegMulAdd(z_low, p, lost);
  return bottom;
}

// top / bottom, corrected by the remainder and by what both have lost.
template <class V>
HWY_INLINE V careful_quotient(V top, V top_low, V bottom, V bottom_low, V inverse) {
  const V quotient = hn::Mul(top, inverse);
  const V rest =
      hn::Add(hn::NegMulAdd(quotient, bottom, top), hn::NegMulAdd(quotient, bottom_low, top_low));
  return hn::MulAdd(rest, inverse, quotient);
}

// Larger arguments are left to the C library, but only they: what a lane gives must not depend on
// its neighbours.
template <class F, class D, class V = hn::Vec<D>>
HWY_NOINLINE V replace_large(F function, D d, V x, V result) {
  const V exact = by_lane(function, d, x);
  return hn::IfThenElse(hn::Le(hn::Abs(x), constant(d, kTrigLimit<D>)), result, exact);
}
template <class F, class D, class V = hn::Vec<D>>
HWY_INLINE V finish(F function, D d, V x, V result) {
  const auto in_range = hn::Le(hn::Abs(x), constant(d, kTrigLimit<D>));
  if (HWY_LIKELY(hn::AllTrue(d, in_range))) return result;
  return replace_large(function, d, x, result);
}
template <class D>
HWY_INLINE hn::Mask<D> odd_quadrant(D d, const Angle<D>& a) {
  const hn::RebindToSigned<D> di;
  return hn::RebindMask(d, hn::TestBit(a.quadrant, hn::Set(di, 1)));
}
// The sign bit where the second-lowest bit of `quadrant` is set.
template <class D, class VI>
HWY_INLINE hn::Vec<D> quadrant_sign(D d, VI quadrant) {
  constexpr int kUp = static_cast<int>(sizeof(hn::TFromD<D>)) * 8 - 2;
  const auto moved = hn::ShiftLeft<kUp>(quadrant);
  return hn::And(hn::BitCast(d, moved), hn::SignBit(d));
}

struct LibrarySin {
  template <class T>
  T operator()(T x) const {
    return std::sin(x);
  }
};
struct LibraryCos {
  template <class T>
  T operator()(T x) const {
    return std::cos(x);
  }
};
struct LibraryTan {
  template <class T>
  T operator()(T x) const {
    return std::tan(x);
  }
};

#if HWY_TARGET <= HWY_AVX3

// The sine of float64 is that of the nearest multiple of pi / 16, from a table, turned by the rest;
// for the cosine 8 multiples are added. What the sum of the two largest terms loses is put back.
template <bool kCosine, class D, class V = hn::Vec<D>>
HWY_INLINE V sin_by_table(D d, V x) {
  alignas(64) static constexpr double kSine[16] = {0.0,
                                                   0x1.8f8b83c69a60bp-3,
                                                   0x1.87de2a6aea963p-2,
                                                   0x1.1c73b39ae68c8p-1,
                                                   0x1.6a09e667f3bcdp-1,
                                                   0x1.a9b66290ea1a3p-1,
                                                   0x1.d906bcf328d46p-1,
                                                   0x1.f6297cff75cbp-1,
                                                   1.0,
                                                   0x1.f6297cff75cbp-1,
                                                   0x1.d906bcf328d46p-1,
                                                   0x1.a9b66290ea1a3p-1,
                                                   0x1.6a09e667f3bcdp-1,
                                                   0x1.1c73b39ae68c8p-1,
                                                   0x1.87de2a6aea963p-2,
                                                   0x1.8f8b83c69a60bp-3};
  alignas(64) static constexpr double kLow[16] = {0.0,
                                                  -0x1.26d19b9ff8d82p-57,
                                                  -0x1.72cedd3d5a61p-57,
                                                  0x1.b25dd267f66p-55,
                                                  -0x1.bdd3413b26456p-55,
                                                  0x1.9f630e8b6dac8p-60,
                                                  0x1.457e610231ac2p-56,
                                                  0x1.562172a361fd3p-56,
                                                  0.0,
                                                  0x1.562172a361fd3p-56,
                                                  0x1.457e610231ac2p-56,
                                                  0x1.9f630e8b6dac8p-60,
                                                  -0x1.bdd3413b26456p-55,
                                                  0x1.b25dd267f66p-55,
                                                  -0x1.72cedd3d5a61p-57,
                                                  -0x1.26d19b9ff8d82p-57};
  alignas(64) static constexpr double kCosineOf[16] = {1.0,
                                                       0x1.f6297cff75cbp-1,
                                                       0x1.d906bcf328d46p-1,
                                                       0x1.a9b66290ea1a3p-1,
                                                       0x1.6a09e667f3bcdp-1,
                                                       0x1.1c73b39ae68c8p-1,
                                                       0x1.87de2a6aea963p-2,
                                                       0x1.8f8b83c69a60bp-3,
                                                       0.0,
                                                       -0x1.8f8b83c69a60bp-3,
                                                       -0x1.87de2a6aea963p-2,
                                                       -0x1.1c73b39ae68c8p-1,
                                                       -0x1.6a09e667f3bcdp-1,
                                                       -0x1.a9b66290ea1a3p-1,
                                                       -0x1.d906bcf328d46p-1,
                                                       -0x1.f6297cff75cbp-1};
  static constexpr double kSinTerms[] = {-0x1.5555555555555p-3, 0x1.111111110ee9ep-7,
                                         -0x1.a01a00f7c6b79p-13, 0x1.71c9f800aab23p-19};
  static constexpr double kCosTerms[] = {-0x1.ffffffffffffdp-2, 0x1.555555554f699p-5,
                                         -0x1.6c16c084a5b66p-10, 0x1.9ffe268d632a3p-16};
  const hn::RebindToSigned<D> di;
  const V magic = round_magic(d);
  const V shifted = hn::MulAdd(x, hn::Set(d, 0x1.45f306dc9c883p2), magic);
  const V n = hn::Sub(shifted, magic);
  const V second = hn::Set(d, 0x1.1a62633145c07p-57);
  const V third = hn::Set(d, -0x1.f1976b7ed8fbcp-113);
  const V exact = hn::NegMulAdd(n, hn::Set(d, 0x1.921fb54442d18p-3), x);
  const V rest = hn::Sub(exact, hn::Mul(n, second));  // as in reduce_angle
  const V low = hn::NegMulAdd(n, third, hn::NegMulAdd(n, second, hn::Sub(exact, rest)));
  auto multiple = hn::BitCast(di, shifted);
  if constexpr (kCosine) multiple = hn::Add(multiple, hn::Set(di, 8));

  const V index = hn::BitCast(d, multiple);
  const V sine = look_up(d, kSine, index);
  const V cosine = look_up(d, kCosineOf, index);
  const V z = hn::Mul(rest, rest);
  const V sin_rest = hn::MulAdd(hn::Mul(polynomial(d, z, kSinTerms), z), rest, low);
  const V cos_rest = hn::Mul(polynomial(d, z, kCosTerms), z);
  const V main = hn::MulAdd(cosine, rest, sine);
  const V lost = hn::MulSub(cosine, rest, hn::Sub(main, sine));
  const V small = hn::MulAdd(sine, cos_rest, hn::Add(lost, look_up(d, kLow, index)));
  const V v = hn::Add(main, hn::MulAdd(cosine, sin_rest, small));
  const V sign = hn::And(hn::BitCast(d, hn::ShiftLeft<59>(multiple)), hn::SignBit(d));
  return hn::Xor(v, sign);
}
template <class D>
inline constexpr bool kSinByTable = !kIsFloat32<D>;

#else

template <bool kCosine, class D, class V = hn::Vec<D>>
V sin_by_table(D d, V x);
template <class D>
inline constexpr bool kSinByTable = false;

#endif

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sin(D d, V x) {
  if constexpr (kSinByTable<D>) {
    const V result = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, sin_by_table<false>(d, x));
    return finish(LibrarySin(), d, x, result);
  }
  const auto is_small = is_small_angle(d, x);
  if (hn::AllTrue(d, is_small)) return sin_of_small(x, sin_series(d, x));
  const Angle<D> a = reduce_angle(d, x, is_small);
  const V series = sin_series(d, a.rest);
  V v = hn::IfThenElse(is_small, sin_of_small(x, series), sin_of_rest(a, series));
  v = hn::IfThenElse(odd_quadrant(d, a), cos_of_rest(d, a), v);
  return finish(LibrarySin(), d, x, hn::Xor(v, quadrant_sign(d, a.quadrant)));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V cos(D d, V x) {
  if constexpr (kSinByTable<D>) return finish(LibraryCos(), d, x, sin_by_table<true>(d, x));
  const hn::RebindToSigned<D> di;
  const auto is_small = is_small_angle(d, x);
  if (hn::AllTrue(d, is_small)) return cos_of_rest(d, small_angle(d, x));
  const Angle<D> a = reduce_angle(d, x, is_small);
  const V sine = sin_of_rest(a, sin_series(d, a.rest));
  const V v = hn::IfThenElse(odd_quadrant(d, a), sine, cos_of_rest(d, a));
  const V result = hn::Xor(v, quadrant_sign(d, hn::Add(a.quadrant, hn::Set(di, 1))));
  return finish(LibraryCos(), d, x, result);
}

// In odd quadrants it is -1 / tan(rest).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tan(D d, V x) {
  const V one = constant(d, 1);
  const auto is_small = is_small_angle(d, x);
  V b_low;
  if (hn::AllTrue(d, is_small)) {
    const V b = tan_bottom<false>(d, small_angle(d, x), b_low);
    const V result = careful_quotient(x, hn::Zero(d), b, b_low, hn::Div(one, b));
    return hn::CopySign(result, x);
  }
  const Angle<D> a = reduce_angle(d, x, is_small);
  const V b = tan_bottom<true>(d, a, b_low);
  const auto odd = odd_quadrant(d, a);
  const V top = hn::IfThenElse(odd, hn::Neg(b), a.rest);
  const V top_low = hn::IfThenElse(odd, hn::Neg(b_low), a.low);
  const V bottom = hn::IfThenElse(odd, a.rest, b);
  const V bottom_low = hn::IfThenElse(odd, a.low, b_low);
  const V result = careful_quotient(top, top_low, bottom, bottom_low, hn::Div(one, bottom));
  return finish(LibraryTan(), d, x, hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result));
}

#endif  // HWY_SCALAR

}  // namespace mindtorch::cpu::HWY_NAMESPACE::math
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
