// The error function of float64 and its complement, on vectors.

#include "mindtorch/backends/cpu/tiles/math-inl.h"

#if defined(MT_TILES_ERF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_ERF_INL_H_
#undef MT_TILES_ERF_INL_H_
#else
#define MT_TILES_ERF_INL_H_
#endif

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE::math {

// e^(x^2) erfc(x) for x in [0, 27.5], as a quotient.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V scaled_erfc_top(D d, V x) {
  static constexpr double kTerms[] = {1.0,
                                      0x1.2c9c322aa1b3bp+1,
                                      0x1.5de21631ddc65p+1,
                                      0x1.04d94be686f5p+1,
                                      0x1.115aab52eb4cbp+0,
                                      0x1.a2db8606eedd6p-2,
                                      0x1.da9879d61d93dp-4,
                                      0x1.892b5b517d24fp-6,
                                      0x1.c99c92ecc5278p-9,
                                      0x1.544d35e2e43cdp-12,
                                      0x1.f15d8702d6f42p-17};
  return polynomial(d, x, kTerms);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V scaled_erfc_bottom(D d, V x) {
  static constexpr double kTerms[] = {1.0,
                                      0x1.bd0aecacb68f2p+1,
                                      0x1.6a07af27db8ccp+2,
                                      0x1.6c8deb9d61d34p+2,
                                      0x1.fa1cde88cb8a2p+1,
                                      0x1.fe02eda65f791p+0,
                                      0x1.7df1b80b15dccp-1,
                                      0x1.aae8c08622a2p-3,
                                      0x1.5ecb1c7dd05fep-5,
                                      0x1.96689c19cda62p-8,
                                      0x1.2d959e1baa2c5p-11,
                                      0x1.b8c74f87ee33fp-16};
  return polynomial(d, x, kTerms);
}

// factor e^(-half t^2) times that of x. The square is carried in two parts.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gaussian_tail(D d, V t, V half, V x, V factor) {
  const V square = hn::Mul(t, t);
  const V lost = hn::MulSub(t, t, square);
  auto n = reduce_exp(d, hn::Neg(hn::Mul(square, half)));
  n.rest = hn::NegMulAdd(lost, half, n.rest);
  const V top = hn::Mul(hn::Mul(scaled_erfc_top(d, x), factor), exp_of_rest<true>(d, n.rest));
  return scale_by_power(d, hn::Div(top, scaled_erfc_bottom(d, x)), n);
}

// erfc(x) for x >= 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erfc_of_positive(D d, V x) {
  const V one = hn::Set(d, 1.0);
  const V t = min_or_second(d, hn::Set(d, 27.4), x);  // where it has underflowed
  return gaussian_tail(d, t, one, t, one);
}

// erf(x) / x - 1 for |x| <= 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf_series(D d, V x) {
  static constexpr double kTerms[] = {
      0x1.06eba8214db69p-3,  -0x1.812746b037a25p-2,  0x1.ce2f21a0458dp-4,   -0x1.b82ce31354872p-6,
      0x1.565bcd2c53588p-8,  -0x1.c02db92f81b0fp-11, 0x1.f9a3b8d56d625p-14, -0x1.f4dce695f0a0cp-17,
      0x1.ba687d32ed1a5p-20, -0x1.638b706892fdcp-23, 0x1.1302e1c3a82f2p-26, -0x1.c3fec4950a141p-30,
      0x1.3aa392cbbe66bp-33};
  return polynomial(d, hn::Mul(x, x), kTerms);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf_of_small(D d, V x) {
  return hn::MulAdd(erf_series(d, x), x, x);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE::math
HWY_AFTER_NAMESPACE();

#endif  // HWY_SCALAR

#endif  // include guard per target
