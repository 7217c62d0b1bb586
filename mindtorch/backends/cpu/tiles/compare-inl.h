// Comparisons as functions of vectors; the result is a mask.

#include "mindtorch/backends/cpu/tiles/tile-inl.h"

#if defined(MT_TILES_COMPARE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_COMPARE_INL_H_
#undef MT_TILES_COMPARE_INL_H_
#else
#define MT_TILES_COMPARE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {

struct Eq {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V a, V b) const {
    return hn::Eq(a, b);
  }
};
struct Ne {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V a, V b) const {
    return not_equal(a, b);
  }
};
struct Lt {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V a, V b) const {
    return hn::Lt(a, b);
  }
};
// Integers have no "less or equal" instruction below AVX-512, and it must be false for NaN.
struct Le {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V a, V b) const {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Le(a, b);
    } else {
      return hn::Not(hn::Lt(b, a));
    }
  }
};

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
