// Vectors of the type of sums, from elements of any floating type; compiled once per instruction
// set.

#include <cstdint>

#include "mindtorch/backends/cpu/product/tiles.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

#if defined(MT_PRODUCT_LOAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_PRODUCT_LOAD_INL_H_
#undef MT_PRODUCT_LOAD_INL_H_
#else
#define MT_PRODUCT_LOAD_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {

template <typename S>
using Sum = typename product::SumOf<S>::type;
template <typename S>
using Tag = hn::ScalableTag<Sum<S>>;
template <typename S>
using Vector = hn::Vec<Tag<S>>;
template <typename S>
constexpr auto kLanesOf = static_cast<int64_t>(hn::MaxLanes(Tag<S>()));

template <typename S>
HWY_INLINE Vector<S> load(const S* from) {
  return load_wide(Tag<S>(), from);
}

// The first `count` elements, followed by zeros.
template <typename S>
HWY_INLINE Vector<S> load_some(const S* from, int64_t count) {
  if (count >= kLanesOf<S>) return load(from);
  if (count <= 0) return hn::Zero(Tag<S>());
  return load_wide_first(Tag<S>(), from, static_cast<size_t>(count), S(0));
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
