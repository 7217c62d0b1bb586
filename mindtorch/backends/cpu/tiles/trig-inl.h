// Sine, cosine and tangent on vectors of float32 and float64.

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

// x minus a multiple of pi / 2, as rest + low. Exact enough up to kTrigLimit.
template <class D>
inline constexpr double kTrigLimit = kIsFloat32<D> ? 0x1p17 : 0x1p20;

template <class D>
struct Angle {
  hn::Vec<D> rest, low;
  hn::Vec<hn::RebindToSigned<D>> quadrant;
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE Angle<D> reduce_angle(D d, V x) {
  const V magic = round_magic(d);
  const V shifted = hn::MulAdd(x, constant(d, 0x1.45f306p-1f, 0x1.45f306dc9c883p-1), magic);
  const V n = hn::Sub(shifted, magic);
  const V second = constant(d, -0x1.777a5cp-25f, 0x1.1a62633145c07p-54);
  const V third = constant(d, -0x1.ee59dap-50f, -0x1.f1976b7ed8fbcp-110);
  const V exact = hn::NegMulAdd(n, constant(d, 0x1.921fb6p0f, 0x1.921fb54442d18p0), x);
  // Where the next difference cancels it is exact; elsewhere its rounding error is recovered.
  const V product = hn::Mul(n, second);
  const V rest = hn::Sub(exact, product);
  const V lost = hn::Sub(hn::Sub(exact, rest), product);
  const V low = hn::NegMulAdd(n, third, hn::Sub(lost, hn::MulSub(n, second, product)));
  return {rest, low, hn::BitCast(hn::RebindToSigned<D>(), shifted)};
}

// `low` receives what the last sum rounded away.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sin_of_rest(D d, const Angle<D>& a, V* low = nullptr) {
  const V z = hn::Mul(a.rest, a.rest);
  V p;
  if constexpr (kIsFloat32<D>) {
    static constexpr float kTerms[] = {-0x1.555546p-3f, 0x1.110776p-7f, -0x1.9953p-13f};
    p = polynomial(d, z, kTerms);
  } else {
    static constexpr double kTerms[] = {-0x1.5555555555548p-3,  0x1.111111110f73p-7,
                                        -0x1.a01a019be91bfp-13, 0x1.71de3555217cap-19,
                                        -0x1.ae5e4b789d729p-26, 0x1.5d8b5167e99d8p-33};
    p = polynomial(d, z, kTerms);
  }
  const V small = hn::MulAdd(hn::Mul(p, z), a.rest, a.low);
  const V sum = hn::Add(a.rest, small);
  if (low != nullptr) *low = hn::Sub(small, hn::Sub(sum, a.rest));
  return sum;
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V cos_of_rest(D d, const Angle<D>& a, V* low = nullptr) {
  const V one = constant(d, 1);
  const V z = hn::Mul(a.rest, a.rest);
  V p;
  if constexpr (kIsFloat32<D>) {
    static constexpr float kTerms[] = {0x1.55554ap-5f, -0x1.6c0c28p-10f, 0x1.99e82ap-16f};
    p = polynomial(d, z, kTerms);
  } else {
    static constexpr double kTerms[] = {0x1.555555555554bp-5,  -0x1.6c16c16c1500dp-10,
                                        0x1.a01a019c8dd33p-16, -0x1.27e4f7f0520ebp-22,
                                        0x1.1ee9dacd61cdep-29, -0x1.8fa5edae9f4c5p-37};
    p = polynomial(d, z, kTerms);
  }
  // 1 - z / 2 is rounded; what that rounding took comes back with the small terms.
  const V half = hn::Mul(z, constant(d, 0.5));
  const V main = hn::Sub(one, half);
  const V lost = hn::Sub(hn::Sub(one, main), half);
  const V small = hn::MulAdd(hn::Mul(z, z), p, hn::NegMulAdd(a.rest, a.low, lost));
  const V sum = hn::Add(main, small);
  if (low != nullptr) *low = hn::Sub(small, hn::Sub(sum, main));
  return sum;
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

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sin(D d, V x) {
  const Angle<D> a = reduce_angle(d, x);
  const V v = hn::IfThenElse(odd_quadrant(d, a), cos_of_rest(d, a), sin_of_rest(d, a));
  const V result = hn::Xor(v, quadrant_sign(d, a.quadrant));
  // Keeps the sign of zero.
  return finish(LibrarySin(), d, x, hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V cos(D d, V x) {
  const hn::RebindToSigned<D> di;
  const Angle<D> a = reduce_angle(d, x);
  const V v = hn::IfThenElse(odd_quadrant(d, a), sin_of_rest(d, a), cos_of_rest(d, a));
  const V result = hn::Xor(v, quadrant_sign(d, hn::Add(a.quadrant, hn::Set(di, 1))));
  return finish(LibraryCos(), d, x, result);
}

// The quotient of sin and cos, corrected by its remainder and by what both had to round away.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tan(D d, V x) {
  const Angle<D> a = reduce_angle(d, x);
  V sin_low, cos_low;
  const V s = sin_of_rest(d, a, &sin_low);
  const V c = cos_of_rest(d, a, &cos_low);
  const auto odd = odd_quadrant(d, a);
  const V top = hn::IfThenElse(odd, hn::Neg(c), s);
  const V top_low = hn::IfThenElse(odd, hn::Neg(cos_low), sin_low);
  const V bottom = hn::IfThenElse(odd, s, c);
  const V bottom_low = hn::IfThenElse(odd, sin_low, cos_low);
  const V inverse = hn::Div(constant(d, 1), bottom);
  const V quotient = hn::Mul(top, inverse);
  const V rest =
      hn::Add(hn::NegMulAdd(quotient, bottom, top), hn::NegMulAdd(quotient, bottom_low, top_low));
  const V result = hn::MulAdd(rest, inverse, quotient);
  return finish(LibraryTan(), d, x, hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result));
}

#endif  // HWY_SCALAR

}  // namespace mindtorch::cpu::HWY_NAMESPACE::math
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
