// Complex numbers in registers as they lie in memory, (re, im) beside each other: short transforms
// of the elements of as many registers, lane by lane, and transpositions.
//
// Only for instruction sets of x86 with registers of at least 32 bytes.
// Included once for each instruction set, hence no #pragma once.
#if defined(MT_FFT_INTERLEAVED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_FFT_INTERLEAVED_INL_H_
#undef MT_FFT_INTERLEAVED_INL_H_
#else
#define MT_FFT_INTERLEAVED_INL_H_
#endif

#include <type_traits>
#include <utility>

#include "hwy/highway.h"

#if HWY_MAX_BYTES >= 32 && HWY_TARGET != HWY_SCALAR && HWY_ARCH_X86
HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::fft::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// --- transpositions ---

// Of two registers: their even blocks of 16 bytes in turn, and their odd ones.
template <class V>
HWY_INLINE void exchange_blocks(V& a, V& b) {
  const V even = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
  b = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
  a = even;
}

// Block i of register j and block j of register i change places, of as many registers as one has
// blocks.
template <class D>
HWY_INLINE void transpose_blocks(D d, hn::Vec<D>* x) {
  static_assert(std::is_same_v<hn::TFromD<D>, double>);
  if constexpr (hn::MaxLanes(d) == 4) {
    exchange_blocks(x[0], x[1]);
  } else {
#if HWY_TARGET <= HWY_AVX3
    const auto a = _mm512_shuffle_f64x2(x[0].raw, x[1].raw, 0x44);
    const auto b = _mm512_shuffle_f64x2(x[0].raw, x[1].raw, 0xEE);
    const auto c = _mm512_shuffle_f64x2(x[2].raw, x[3].raw, 0x44);
    const auto e = _mm512_shuffle_f64x2(x[2].raw, x[3].raw, 0xEE);
    x[0].raw = _mm512_shuffle_f64x2(a, c, 0x88);
    x[1].raw = _mm512_shuffle_f64x2(a, c, 0xDD);
    x[2].raw = _mm512_shuffle_f64x2(b, e, 0x88);
    x[3].raw = _mm512_shuffle_f64x2(b, e, 0xDD);
#endif
  }
}

// The same of complex numbers: as many registers as one has of them.
template <class D>
HWY_INLINE void transpose(D d, hn::Vec<D>* x) {
  if constexpr (std::is_same_v<hn::TFromD<D>, double>) {
    transpose_blocks(d, x);
  } else {
    constexpr int kHalf = static_cast<int>(hn::MaxLanes(d)) / 4;
    const hn::Repartition<double, D> dd;
    hn::Vec<decltype(dd)> even[kHalf], odd[kHalf];
    HWY_UNROLL(4)
    for (int i = 0; i < kHalf; ++i) {
      const auto a = hn::BitCast(dd, x[2 * i]);
      const auto b = hn::BitCast(dd, x[2 * i + 1]);
      even[i] = hn::InterleaveLower(dd, a, b);
      odd[i] = hn::InterleaveUpper(dd, a, b);
    }
    transpose_blocks(dd, even);
    transpose_blocks(dd, odd);
    HWY_UNROLL(4)
    for (int i = 0; i < kHalf; ++i) {
      x[2 * i] = hn::BitCast(d, even[i]);
      x[2 * i + 1] = hn::BitCast(d, odd[i]);
    }
  }
}

// --- transforms ---

// cos(2 pi k / R) and sin(2 pi k / R) for 0 <= k <= R / 2.
template <int R>
struct Roots;
template <>
struct Roots<3> {
  static constexpr double kCosines[] = {1, -0.5};
  static constexpr double kSines[] = {0, 0.86602540378443864676};
};
template <>
struct Roots<5> {
  static constexpr double kCosines[] = {1, 0.30901699437494742410, -0.80901699437494742410};
  static constexpr double kSines[] = {0, 0.95105651629515357212, 0.58778525229247312917};
};
template <>
struct Roots<7> {
  static constexpr double kCosines[] = {1, 0.62348980185873353053, -0.22252093395631440429,
                                        -0.90096886790241912624};
  static constexpr double kSines[] = {0, 0.78183148246802980871, 0.97492791218182360702,
                                      0.43388373911755812048};
};

// `sign` is (1, -1) in turn, or (-1, 1) for the inverse.
template <class D>
struct ColumnTransform {
  using V = hn::Vec<D>;
  using T = hn::TFromD<D>;

  V sign;

  static HWY_INLINE V constant(double x) { return hn::Set(D(), static_cast<T>(x)); }
  static HWY_INLINE V swapped(V x) { return hn::Reverse2(D(), x); }
  // -i x, or i x.
  HWY_INLINE V turn(V x) const { return hn::Mul(swapped(x), sign); }

  static HWY_INLINE void of2(V& a, V& b) {
    const V sum = hn::Add(a, b);
    b = hn::Sub(a, b);
    a = sum;
  }
  HWY_INLINE void of4(V& a, V& b, V& c, V& d) const {
    of2(a, c);
    of2(b, d);
    const V turned = swapped(d);
    const V odd = c;
    of2(a, b);
    c = b;
    b = hn::MulAdd(turned, sign, odd);
    d = hn::NegMulAdd(turned, sign, odd);
  }
  HWY_INLINE void of8(V* x) const {
    V even[4] = {x[0], x[2], x[4], x[6]};
    V odd[4] = {x[1], x[3], x[5], x[7]};
    of4(even[0], even[1], even[2], even[3]);
    of4(odd[0], odd[1], odd[2], odd[3]);
    const V root = constant(0.70710678118654752440);
    odd[1] = hn::Mul(hn::Add(odd[1], turn(odd[1])), root);
    odd[2] = turn(odd[2]);
    odd[3] = hn::Mul(hn::Sub(turn(odd[3]), odd[3]), root);
    for (int i = 0; i < 4; ++i) {
      x[i] = hn::Add(even[i], odd[i]);
      x[i + 4] = hn::Sub(even[i], odd[i]);
    }
  }
  // A matrix of 4 x 4.
  HWY_INLINE void of16(V* x) const {
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i) of4(x[i], x[i + 4], x[i + 8], x[i + 12]);
    const V cosine = constant(0.92387953251128675613);  // of pi / 8
    const V sine = constant(0.38268343236508977173);
    const V root = constant(0.70710678118654752440);
    const V turn_cosine = hn::Mul(cosine, sign);
    const V turn_sine = hn::Mul(sine, sign);
    const V turn_root = hn::Mul(root, sign);
    // Element i of row k is turned by i * k sixteenths of the circle.
    x[5] = hn::MulAdd(swapped(x[5]), turn_sine, hn::Mul(x[5], cosine));
    x[6] = hn::MulAdd(swapped(x[6]), turn_root, hn::Mul(x[6], root));
    x[7] = hn::MulAdd(swapped(x[7]), turn_cosine, hn::Mul(x[7], sine));
    x[9] = hn::MulAdd(swapped(x[9]), turn_root, hn::Mul(x[9], root));
    x[10] = turn(x[10]);
    x[11] = hn::MulSub(swapped(x[11]), turn_root, hn::Mul(x[11], root));
    x[13] = hn::MulAdd(swapped(x[13]), turn_cosine, hn::Mul(x[13], sine));
    x[14] = hn::MulSub(swapped(x[14]), turn_root, hn::Mul(x[14], root));
    x[15] = hn::NegMulSub(swapped(x[15]), turn_sine, hn::Mul(x[15], cosine));
    HWY_UNROLL(4)
    for (int k = 0; k < 4; ++k) of4(x[4 * k], x[4 * k + 1], x[4 * k + 2], x[4 * k + 3]);
    // Result k + 4 * j is in row k.
    for (int k = 0; k < 4; ++k) {
      for (int j = 0; j < k; ++j) std::swap(x[4 * k + j], x[4 * j + k]);
    }
  }
  // Odd lengths: elements j and R - j meet the same cosine and opposite sines.
  template <int R>
  HWY_INLINE void of_odd(V* x) const {
    constexpr int kHalf = R / 2;
    V sums[kHalf], differences[kHalf];
    const V first = x[0];
    HWY_UNROLL(3)
    for (int j = 0; j < kHalf; ++j) {
      sums[j] = hn::Add(x[j + 1], x[R - 1 - j]);
      differences[j] = hn::Sub(x[j + 1], x[R - 1 - j]);
      x[0] = hn::Add(x[0], sums[j]);
    }
    HWY_UNROLL(3)
    for (int k = 1; k <= kHalf; ++k) {
      V even = hn::MulAdd(sums[0], constant(Roots<R>::kCosines[k]), first);
      V odd = hn::Mul(differences[0], constant(Roots<R>::kSines[k]));
      HWY_UNROLL(3)
      for (int j = 2; j <= kHalf; ++j) {
        const int power = j * k % R;
        const int at = power > kHalf ? R - power : power;
        even = hn::MulAdd(sums[j - 1], constant(Roots<R>::kCosines[at]), even);
        const V sine = constant(power > kHalf ? -Roots<R>::kSines[at] : Roots<R>::kSines[at]);
        odd = hn::MulAdd(differences[j - 1], sine, odd);
      }
      const V turned = swapped(odd);
      x[k] = hn::MulAdd(turned, sign, even);
      x[R - k] = hn::NegMulAdd(turned, sign, even);
    }
  }
  template <int kCount>
  HWY_INLINE void of(V* x) const {
    if constexpr (kCount == 2) {
      of2(x[0], x[1]);
    } else if constexpr (kCount == 4) {
      of4(x[0], x[1], x[2], x[3]);
    } else if constexpr (kCount == 8) {
      of8(x);
    } else if constexpr (kCount == 16) {
      of16(x);
    } else {
      of_odd<kCount>(x);
    }
  }
};

// x times complex numbers, given as factors of (re, im) and of (im, re).
template <class D>
HWY_INLINE hn::Vec<D> turn_elements(D d, hn::Vec<D> x, hn::Vec<D> same, hn::Vec<D> other) {
  return hn::MulAdd(hn::Reverse2(d, x), other, hn::Mul(x, same));
}

// The transform, or its inverse.
template <class D>
HWY_INLINE ColumnTransform<D> column_transform(D d, bool inverse) {
  HWY_ALIGN hn::TFromD<D> signs[hn::MaxLanes(d)];
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    signs[i] = static_cast<hn::TFromD<D>>((i % 2 == 1) == inverse ? 1 : -1);
  }
  return {hn::Load(d, signs)};
}

}  // namespace mindtorch::cpu::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
