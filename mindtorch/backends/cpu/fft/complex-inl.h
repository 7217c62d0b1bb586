// A complex number in every lane.
//
// Included once for each instruction set, hence no #pragma once.
#if defined(MT_FFT_COMPLEX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_FFT_COMPLEX_INL_H_
#undef MT_FFT_COMPLEX_INL_H_
#else
#define MT_FFT_COMPLEX_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::fft::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using V = hn::Vec<hn::ScalableTag<T>>;

template <typename T>
struct Complex {
  V<T> re;
  V<T> im;
};
template <typename T>
HWY_INLINE Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <typename T>
HWY_INLINE Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
template <typename T>
HWY_INLINE Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
          hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im))};
}
template <typename T>
HWY_INLINE Complex<T> times_minus_i(Complex<T> a) {
  return {a.im, hn::Neg(a.re)};
}
// a - i b and a + i b, without a negation.
template <typename T>
HWY_INLINE Complex<T> minus_i(Complex<T> a, Complex<T> b) {
  return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)};
}
template <typename T>
HWY_INLINE Complex<T> plus_i(Complex<T> a, Complex<T> b) {
  return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)};
}

template <typename T>
HWY_INLINE Complex<T> operator*(Complex<T> a, V<T> b) {
  return {hn::Mul(a.re, b), hn::Mul(a.im, b)};
}
template <typename T>
HWY_INLINE Complex<T> conjugate(Complex<T> x) {
  return {x.re, hn::Neg(x.im)};
}

// Numbers that lie one beside the other.
template <typename T>
HWY_INLINE Complex<T> load(const T* from) {
  V<T> re, im;
  hn::LoadInterleaved2(hn::ScalableTag<T>(), from, re, im);
  return {re, im};
}
template <typename T>
HWY_INLINE void store(Complex<T> x, T* to) {
  hn::StoreInterleaved2(x.re, x.im, hn::ScalableTag<T>(), to);
}

}  // namespace mindtorch::cpu::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
