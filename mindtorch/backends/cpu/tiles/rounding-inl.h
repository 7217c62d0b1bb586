// Rounding of vectors to whole numbers, compiled once per instruction set.

#include <cmath>

#include "mindtorch/backends/cpu/tiles/tile-inl.h"

#if defined(MT_TILES_ROUNDING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_ROUNDING_INL_H_
#undef MT_TILES_ROUNDING_INL_H_
#else
#define MT_TILES_ROUNDING_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
// Highway's one-lane forms lose the sign of zero.
template <class V>
HWY_INLINE V ceil(V a) {
  return V(std::ceil(a.raw));
}
template <class V>
HWY_INLINE V floor(V a) {
  return V(std::floor(a.raw));
}
template <class V>
HWY_INLINE V round(V a) {
  return V(std::nearbyint(a.raw));
}
template <class V>
HWY_INLINE V trunc(V a) {
  return V(std::trunc(a.raw));
}
#else
template <class V>
HWY_INLINE V ceil(V a) {
  return hn::Ceil(a);
}
template <class V>
HWY_INLINE V floor(V a) {
  return hn::Floor(a);
}
template <class V>
HWY_INLINE V round(V a) {
  return hn::Round(a);
}
template <class V>
HWY_INLINE V trunc(V a) {
  return hn::Trunc(a);
}
#endif

struct Ceil {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a) const {
    return ceil(a);
  }
};
struct Floor {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a) const {
    return floor(a);
  }
};
struct Round {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a) const {
    return round(a);
  }
};
struct Trunc {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a) const {
    return trunc(a);
  }
};
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
