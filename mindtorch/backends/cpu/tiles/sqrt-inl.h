// Square roots, correctly rounded. The unit of an x86 processor that takes roots needs several
// times as long for a vector as a dozen products, and works beside the multipliers: where there is
// an instruction for a first guess (AVX-512), it gets one vector of three, and the others are
// computed from the guess.

#include "mindtorch/backends/cpu/tiles/arithmetic-inl.h"

#if defined(MT_TILES_SQRT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_SQRT_INL_H_
#undef MT_TILES_SQRT_INL_H_
#else
#define MT_TILES_SQRT_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3

// Two numbers: if they are equal, they are the correctly rounded root.
//
// The instruction's guess of 1 / sqrt(x) has an error of 2^-14. A step of Newton's method (float32)
// makes that 2^-23.3, with its roundings, and one of the next order (float64) 2^-40.5. The exact
// root is guess + rest / (guess + root); `slope`, which stands for the reciprocal of that sum, has
// an error of at most 2^-22.2 and 2^-39.8. Both results take it off by more than that, one to
// either side, and whatever lies between two numbers that round alike rounds like them.
template <class V>
struct Bounds {
  V low, high;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE Bounds<V> bound_root(D d, V x) {
  constexpr bool kSingle = sizeof(hn::TFromD<D>) == 4;
  const hn::RebindToSigned<D> di;
  const V half = hn::Set(d, hn::TFromD<D>{0.5});
  V inverse;
  if constexpr (kSingle) {
    inverse = V{_mm512_rsqrt14_ps(x.raw)};
  } else {
    inverse = V{_mm512_rsqrt14_pd(x.raw)};
  }
  const V half_inverse = hn::Mul(inverse, half);
  const V rough = hn::Mul(x, inverse);
  V step = hn::NegMulAdd(rough, half_inverse, half);
  if constexpr (!kSingle) {
    step = hn::Mul(step, hn::MulAdd(step, hn::Set(d, 1.5), hn::Set(d, 1.0)));
  }
  const V guess = hn::MulAdd(rough, step, rough);
  const V rest = hn::NegMulAdd(guess, guess, x);
  const auto slope = hn::BitCast(di, hn::MulAdd(half_inverse, step, half_inverse));
  const auto off = hn::Set(di, kSingle ? 8 : 1 << 15);
  return {hn::MulAdd(rest, hn::BitCast(d, hn::Sub(slope, off)), guess),
          hn::MulAdd(rest, hn::BitCast(d, hn::Add(slope, off)), guess)};
}

// Whether both bounds of both roots agree. Below kLeast `rest` could be subnormal and lose digits;
// what has no root, zero and infinity give NaN, which is equal to nothing.
template <class D, class V = hn::Vec<D>>
HWY_INLINE bool is_sure(D d, V x1, const Bounds<V>& root1, V x2, const Bounds<V>& root2) {
  constexpr bool kSingle = sizeof(hn::TFromD<D>) == 4;
  const V least = hn::Set(d, static_cast<hn::TFromD<D>>(kSingle ? 0x1p-70 : 0x1p-900));
  const auto inside = hn::Ge(hn::Min(x1, x2), least);
  if constexpr (kSingle) {
    const auto first =
        _mm512_mask_cmp_ps_mask(inside.raw, root1.low.raw, root1.high.raw, _CMP_EQ_OQ);
    return _mm512_mask_cmp_ps_mask(first, root2.low.raw, root2.high.raw, _CMP_EQ_OQ) == 0xffff;
  } else {
    const auto first =
        _mm512_mask_cmp_pd_mask(inside.raw, root1.low.raw, root1.high.raw, _CMP_EQ_OQ);
    return _mm512_mask_cmp_pd_mask(first, root2.low.raw, root2.high.raw, _CMP_EQ_OQ) == 0xff;
  }
}

template <class T>
void sqrt_tile(const void* const* inputs, void* to, int64_t size, const PointwiseParams& params) {
  const hn::ScalableTag<T> d;
  constexpr size_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const T* in = static_cast<const T*>(inputs[0]);
  T* out = static_cast<T*>(to);
  const size_t n = static_cast<size_t>(size);
  size_t at = 0;
  for (; at + 3 * kLanes <= n; at += 3 * kLanes) {
    const auto root0 = hn::Sqrt(hn::LoadU(d, in + at));
    const auto x1 = hn::LoadU(d, in + at + kLanes);
    const auto x2 = hn::LoadU(d, in + at + 2 * kLanes);
    auto root1 = bound_root(d, x1);
    auto root2 = bound_root(d, x2);
    if (HWY_UNLIKELY(!is_sure(d, x1, root1, x2, root2))) {
      root1.low = hn::Sqrt(x1);
      root2.low = hn::Sqrt(x2);
    }
    hn::StoreU(root0, d, out + at);
    hn::StoreU(root1.low, d, out + at + kLanes);
    hn::StoreU(root2.low, d, out + at + 2 * kLanes);
  }
  const void* const rest[1] = {in + at};
  map_tile<Sqrt, T, 1>(rest, out + at, static_cast<int64_t>(n - at), params);
}

#else

template <class T>
void sqrt_tile(const void* const* inputs, void* to, int64_t size, const PointwiseParams& params) {
  map_tile<Sqrt, T, 2>(inputs, to, size, params);
}

#endif

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
