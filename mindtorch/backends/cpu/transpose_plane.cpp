// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/transpose_plane.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "mindtorch/backends/cpu/memory_unit.h"
#include "mindtorch/backends/cpu/transpose_plane.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

template <size_t kSize>
using Vector16 [[gnu::vector_size(16)]] = typename UnitOf<kSize>::type;

// Element by element from the lower (kFirst = 0) or upper halves of two vectors.
template <size_t kSize, size_t kFirst, size_t... kIndex>
HWY_INLINE Vector16<kSize> interleave(Vector16<kSize> a,
                                      Vector16<kSize> b,
                                      std::index_sequence<kIndex...>) {
  constexpr size_t kLanes = 16 / kSize;
  return __builtin_shufflevector(a, b,
                                 static_cast<int>(kFirst + kIndex / 2 + (kIndex % 2) * kLanes)...);
}

// A square of 16 bytes a side. Each round interleaves row i with row i + half, which rotates the
// bits of an element's index (row, column) by one; after as many rounds as a row number has bits,
// row and column have changed places.
template <size_t kSize>
struct NarrowSquare {
  static constexpr int64_t kSide = 16 / kSize;

  static HWY_INLINE void transpose(const Plane& plane) {
    constexpr size_t kRows = 16 / kSize;
    if constexpr (kRows == 1) {
      copy_unit<16>(plane.from, plane.to);
    } else {
      constexpr auto kLanes = std::make_index_sequence<kRows>();
      Vector16<kSize> rows[kRows];
      for (size_t i = 0; i < kRows; ++i) {
        std::memcpy(&rows[i], plane.from + static_cast<int64_t>(i) * plane.from_stride, 16);
      }
      for (size_t round = 1; round < kRows; round *= 2) {
        Vector16<kSize> next[kRows];
        for (size_t i = 0; i < kRows / 2; ++i) {
          next[2 * i] = interleave<kSize, 0>(rows[i], rows[i + kRows / 2], kLanes);
          next[2 * i + 1] = interleave<kSize, kRows / 2>(rows[i], rows[i + kRows / 2], kLanes);
        }
        for (size_t i = 0; i < kRows; ++i) rows[i] = next[i];
      }
      for (size_t i = 0; i < kRows; ++i) {
        std::memcpy(plane.to + static_cast<int64_t>(i) * plane.to_stride, &rows[i], 16);
      }
    }
  }
};

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace hn = hwy::HWY_NAMESPACE;

// A square of whole registers, which are rows of blocks of 16 bytes: first every group of rows is
// transposed within its blocks, as above, then the blocks among each other. At 2 bytes the rows
// are limited to 32 bytes, to have registers for all of them.
template <size_t kSize>
struct WideSquare {
  using Lane = std::conditional_t<kSize == 16, uint64_t, typename UnitOf<kSize>::type>;
  static constexpr size_t kBytes = kSize == 2 ? 32 : HWY_MAX_BYTES;
  static constexpr size_t kGroup = 16 / kSize;
  static constexpr size_t kBlocks = kBytes / 16;
  static constexpr int64_t kSide = kBytes / kSize;
  static constexpr hn::FixedTag<Lane, kBytes / sizeof(Lane)> kTag{};
  using Vector = hn::Vec<hn::FixedTag<Lane, kBytes / sizeof(Lane)>>;

  static HWY_INLINE void transpose(const Plane& plane) {
    Vector groups[kBlocks][kGroup];
    HWY_UNROLL(4)
    for (size_t g = 0; g < kBlocks; ++g) {
      const uint8_t* from = plane.from + static_cast<int64_t>(g * kGroup) * plane.from_stride;
      transpose_within_blocks(from, plane.from_stride, groups[g]);
    }
    HWY_UNROLL(8)
    for (size_t i = 0; i < kGroup; ++i) {
      Vector blocks[kBlocks];
      for (size_t g = 0; g < kBlocks; ++g) blocks[g] = groups[g][i];
      transpose_blocks(blocks);
      HWY_UNROLL(4)
      for (size_t b = 0; b < kBlocks; ++b) {
        uint8_t* to = plane.to + static_cast<int64_t>(b * kGroup + i) * plane.to_stride;
        hn::StoreU(blocks[b], kTag, reinterpret_cast<Lane*>(to));
      }
    }
  }

 private:
  static HWY_INLINE void transpose_within_blocks(const uint8_t* from,
                                                 int64_t stride,
                                                 Vector (&rows)[kGroup]) {
    HWY_UNROLL(8)
    for (size_t i = 0; i < kGroup; ++i) {
      const uint8_t* row = from + static_cast<int64_t>(i) * stride;
      rows[i] = hn::LoadU(kTag, reinterpret_cast<const Lane*>(row));
    }
    HWY_UNROLL(3)
    for (size_t round = 1; round < kGroup; round *= 2) {
      Vector next[kGroup];
      HWY_UNROLL(4)
      for (size_t i = 0; i < kGroup / 2; ++i) {
        next[2 * i] = hn::InterleaveLower(kTag, rows[i], rows[i + kGroup / 2]);
        next[2 * i + 1] = hn::InterleaveUpper(kTag, rows[i], rows[i + kGroup / 2]);
      }
      HWY_UNROLL(8)
      for (size_t i = 0; i < kGroup; ++i) rows[i] = next[i];
    }
  }

  static HWY_INLINE void transpose_blocks(Vector (&v)[kBlocks]) {
    if constexpr (kBlocks == 2) {
      const Vector lower = hn::ConcatLowerLower(kTag, v[1], v[0]);
      v[1] = hn::ConcatUpperUpper(kTag, v[1], v[0]);
      v[0] = lower;
    } else {
      Vector even[2];  // blocks 0 and 2 of a pair of rows
      Vector odd[2];
      for (size_t i = 0; i < 2; ++i) {
        const Vector a = v[2 * i];
        const Vector b = v[2 * i + 1];
        even[i] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
        odd[i] = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
      }
      v[0] = hn::ConcatLowerLower(kTag, even[1], even[0]);
      v[1] = hn::ConcatLowerLower(kTag, odd[1], odd[0]);
      v[2] = hn::ConcatUpperUpper(kTag, even[1], even[0]);
      v[3] = hn::ConcatUpperUpper(kTag, odd[1], odd[0]);
    }
  }
};

template <size_t kSize>
struct SquareOf {
  using type = WideSquare<kSize>;
};
template <>
struct SquareOf<1> {
  using type = NarrowSquare<1>;  // a wide one would need 32 registers and more
};
#else
template <size_t kSize>
struct SquareOf {
  using type = NarrowSquare<kSize>;
};
#endif

template <size_t kSize>
HWY_INLINE Plane corner(const Plane& plane, int64_t row, int64_t col) {
  constexpr auto kUnit = static_cast<int64_t>(kSize);
  return {plane.from + row * plane.from_stride + col * kUnit, plane.from_stride,
          plane.to + col * plane.to_stride + row * kUnit, plane.to_stride};
}

// Whole cache lines of both sides are finished before the next ones are begun.
template <typename Square, size_t kSize>
void transpose_by(const Plane& plane, int64_t rows, int64_t cols) {
  constexpr int64_t kSide = Square::kSide;
  constexpr int64_t kLine = std::max<int64_t>(64 / kSize, kSide);
  for (int64_t row = 0; row < rows; row += kLine) {
    for (int64_t col = 0; col < cols; col += kLine) {
      const int64_t row_end = std::min(row + kLine, rows);
      const int64_t col_end = std::min(col + kLine, cols);
      for (int64_t r = row; r < row_end; r += kSide) {
        for (int64_t c = col; c < col_end; c += kSide) {
          Square::transpose(
              corner<kSize>(plane, std::min(r, rows - kSide), std::min(c, cols - kSide)));
        }
      }
    }
  }
}

template <size_t kSize>
void transpose_sized(const Plane& plane, int64_t rows, int64_t cols) {
  using Wide = typename SquareOf<kSize>::type;
  if (std::min(rows, cols) >= Wide::kSide) return transpose_by<Wide, kSize>(plane, rows, cols);
  transpose_by<NarrowSquare<kSize>, kSize>(plane, rows, cols);
}

void transpose_any(int64_t size, const Plane& plane, int64_t rows, int64_t cols) {
  switch (size) {
    case 1:
      return transpose_sized<1>(plane, rows, cols);
    case 2:
      return transpose_sized<2>(plane, rows, cols);
    case 4:
      return transpose_sized<4>(plane, rows, cols);
    case 8:
      return transpose_sized<8>(plane, rows, cols);
    default:
      return transpose_sized<16>(plane, rows, cols);
  }
}

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(transpose_any);

namespace {

// Planes too narrow for squares. Compiled for the baseline only: with newer instruction sets the
// compiler makes gathers of this, which are slower.
template <size_t kSize>
void transpose_narrow(const Plane& plane, int64_t rows, int64_t cols) {
  constexpr auto kUnit = static_cast<int64_t>(kSize);
  for (int64_t c = 0; c < cols; ++c) {
    const uint8_t* from = plane.from + c * kUnit;
    uint8_t* to = plane.to + c * plane.to_stride;
    for (int64_t r = 0; r < rows; ++r) {
      copy_unit<kSize>(from + r * plane.from_stride, to + r * kUnit);
    }
  }
}

}  // namespace

void transpose_plane(int64_t size, const Plane& plane, int64_t rows, int64_t cols) {
  if (std::min(rows, cols) * size >= 16) {
    return HWY_DYNAMIC_DISPATCH(transpose_any)(size, plane, rows, cols);
  }
  switch (size) {
    case 1:
      return transpose_narrow<1>(plane, rows, cols);
    case 2:
      return transpose_narrow<2>(plane, rows, cols);
    case 4:
      return transpose_narrow<4>(plane, rows, cols);
    default:  // one element of 16 bytes is wide enough
      return transpose_narrow<8>(plane, rows, cols);
  }
}

}  // namespace mindtorch::cpu
#endif  // HWY_ONCE
