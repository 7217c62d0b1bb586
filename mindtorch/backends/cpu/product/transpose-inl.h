// Squares of vectors, turned over; compiled once per instruction set.

#include <cstddef>

#include "mindtorch/backends/cpu/product/load-inl.h"

#if defined(MT_PRODUCT_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_PRODUCT_TRANSPOSE_INL_H_
#undef MT_PRODUCT_TRANSPOSE_INL_H_
#else
#define MT_PRODUCT_TRANSPOSE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {

// Each round interleaves row i with row i + half within blocks of 16 bytes; then the blocks change
// places: see transpose_plane.cpp.
template <typename S>
HWY_INLINE void transpose_square(
    [[maybe_unused]] Vector<S> (&rows)[static_cast<size_t>(kLanesOf<S>)]) {
#if HWY_TARGET != HWY_SCALAR
  const Tag<S> d;
  using V = Vector<S>;
  constexpr size_t kSide = static_cast<size_t>(kLanesOf<S>);
  constexpr size_t kGroup = kSide < 16 / sizeof(Sum<S>) ? kSide : 16 / sizeof(Sum<S>);
  constexpr size_t kBlocks = kSide / kGroup;
  HWY_UNROLL(4)
  for (size_t g = 0; g < kSide; g += kGroup) {
    HWY_UNROLL(2)
    for (size_t round = 1; round < kGroup; round *= 2) {
      V next[kGroup];
      HWY_UNROLL(2)
      for (size_t i = 0; i < kGroup / 2; ++i) {
        next[2 * i] = hn::InterleaveLower(d, rows[g + i], rows[g + i + kGroup / 2]);
        next[2 * i + 1] = hn::InterleaveUpper(d, rows[g + i], rows[g + i + kGroup / 2]);
      }
      HWY_UNROLL(4)
      for (size_t i = 0; i < kGroup; ++i) rows[g + i] = next[i];
    }
  }
  if constexpr (kBlocks == 2) {
    HWY_UNROLL(4)
    for (size_t i = 0; i < kGroup; ++i) {
      const V lower = hn::ConcatLowerLower(d, rows[kGroup + i], rows[i]);
      rows[kGroup + i] = hn::ConcatUpperUpper(d, rows[kGroup + i], rows[i]);
      rows[i] = lower;
    }
  } else if constexpr (kBlocks == 4) {
    HWY_UNROLL(4)
    for (size_t i = 0; i < kGroup; ++i) {
      V even[2];  // blocks 0 and 2 of a pair of rows
      V odd[2];
      for (size_t j = 0; j < 2; ++j) {
        const V first = rows[2 * j * kGroup + i];
        const V second = rows[(2 * j + 1) * kGroup + i];
        even[j] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(second), first);
        odd[j] = hn::OddEvenBlocks(second, hn::SwapAdjacentBlocks(first));
      }
      rows[i] = hn::ConcatLowerLower(d, even[1], even[0]);
      rows[kGroup + i] = hn::ConcatLowerLower(d, odd[1], odd[0]);
      rows[2 * kGroup + i] = hn::ConcatUpperUpper(d, even[1], even[0]);
      rows[3 * kGroup + i] = hn::ConcatUpperUpper(d, odd[1], odd[0]);
    }
  }
#endif
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
