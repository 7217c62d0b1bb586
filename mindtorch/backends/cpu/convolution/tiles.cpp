// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/convolution/tiles.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/convolution/tiles.h"
#include "mindtorch/backends/cpu/tiles/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::convolution::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using mindtorch::cpu::HWY_NAMESPACE::kManyRegisters;
constexpr int kRows = kManyRegisters ? 8 : 4;
constexpr int kVectors = 3;
constexpr int kDotRows = 4;
constexpr int kDotColumns = kManyRegisters ? 6 : 3;

// Instruction sets without masks may touch what lies behind.
constexpr bool kHasMasks = HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86;

// `count` elements, followed by zeros.
template <class D, typename T>
HWY_INLINE hn::Vec<D> load_first(D d, const T* from, size_t count) {
  if constexpr (kHasMasks) return hn::MaskedLoad(hn::FirstN(d, count), d, from);
  T padded[hn::MaxLanes(D())] = {};
  std::memcpy(padded, from, count * sizeof(T));
  return hn::LoadU(d, padded);
}
template <class D, typename T>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* to, size_t count) {
  if constexpr (kHasMasks) return hn::BlendedStore(v, hn::FirstN(d, count), d, to);
  T all[hn::MaxLanes(D())];
  hn::StoreU(v, d, all);
  std::memcpy(to, all, count * sizeof(T));
}

template <typename T>
struct Multiply {
  const T* b;
  const int64_t* offsets;
  int64_t k;
  T* c;
  int64_t c_stride;
};

// Columns [column, column + count) of kR rows, in kV vectors; only the last may be partial.
template <int kR, int kV, bool kPartial, typename T>
HWY_INLINE void tile(const Multiply<T>& m,
                     const T* HWY_RESTRICT a,
                     const T* bias,
                     T* c,
                     int64_t column,
                     size_t last) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  V sums[kR][kV];
  HWY_UNROLL(8)
  for (int i = 0; i < kR; ++i) {
    const V first = bias == nullptr ? hn::Zero(d) : hn::Set(d, bias[i]);
    HWY_UNROLL(3)
    for (int j = 0; j < kV; ++j) sums[i][j] = first;
  }
  const T* const b = m.b + column;
  for (int64_t k = 0; k < m.k; ++k, a += kR) {
    const T* const row = b + m.offsets[k];
    V x[kV];
    HWY_UNROLL(3)
    for (int j = 0; j < kV; ++j) {
      if constexpr (kPartial) {
        x[j] = j == kV - 1 ? load_first(d, row + static_cast<size_t>(j) * lanes, last)
                           : hn::LoadU(d, row + static_cast<size_t>(j) * lanes);
      } else {
        x[j] = hn::LoadU(d, row + static_cast<size_t>(j) * lanes);
      }
    }
    HWY_UNROLL(8)
    for (int i = 0; i < kR; ++i) {
      const V factor = hn::Set(d, a[i]);
      HWY_UNROLL(3)
      for (int j = 0; j < kV; ++j) sums[i][j] = hn::MulAdd(factor, x[j], sums[i][j]);
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < kR; ++i) {
    T* const to = c + i * m.c_stride + column;
    HWY_UNROLL(3)
    for (int j = 0; j < kV; ++j) {
      if (kPartial && j == kV - 1) {
        store_first(sums[i][j], d, to + static_cast<size_t>(j) * lanes, last);
      } else {
        hn::StoreU(sums[i][j], d, to + static_cast<size_t>(j) * lanes);
      }
    }
  }
}

template <int kR, typename T>
void tile_of(const Multiply<T>& m, const T* a, const T* bias, T* c, int64_t column, int64_t count) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const auto vectors = ceil_div(count, lanes);
  const int64_t rest = count - (vectors - 1) * lanes;
  const auto last = static_cast<size_t>(rest);
  if (rest == lanes) {
    if (vectors == 3) return tile<kR, 3, false>(m, a, bias, c, column, last);
    if (vectors == 2) return tile<kR, 2, false>(m, a, bias, c, column, last);
    return tile<kR, 1, false>(m, a, bias, c, column, last);
  }
  if (vectors == 3) return tile<kR, 3, true>(m, a, bias, c, column, last);
  if (vectors == 2) return tile<kR, 2, true>(m, a, bias, c, column, last);
  return tile<kR, 1, true>(m, a, bias, c, column, last);
}

template <typename T>
void tile_of_rows(int rows,
                  const Multiply<T>& m,
                  const T* a,
                  const T* bias,
                  T* c,
                  int64_t column,
                  int64_t count) {
  if (rows == 8) return tile_of<8>(m, a, bias, c, column, count);
  if (rows == 4) return tile_of<4>(m, a, bias, c, column, count);
  if (rows == 2) return tile_of<2>(m, a, bias, c, column, count);
  tile_of<1>(m, a, bias, c, column, count);
}

// The rows of the panel that begins at row `at` of `rows`.
int rows_at(int64_t rows, int64_t at) {
  int height = kRows;
  while (height > rows - at) height /= 2;
  return height;
}

// How many of the `left` columns the next tile takes: no tile is left with a single vector.
int64_t columns_of_tile(int64_t left, int64_t lanes) {
  if (left > kVectors * lanes && left <= 4 * lanes) return 2 * lanes;
  return std::min(left, kVectors * lanes);
}

template <typename T>
void multiply(const T* a,
              int64_t rows,
              const T* b,
              const int64_t* offsets,
              int64_t k,
              int64_t n,
              const T* bias,
              T* c,
              int64_t c_stride,
              bool by_columns) {
  const Multiply<T> m = {b, offsets, k, c, c_stride};
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const auto run = [&](int64_t row, int64_t column, int64_t count) {
    tile_of_rows(rows_at(rows, row), m, a + row * k, bias == nullptr ? nullptr : bias + row,
                 c + row * c_stride, column, count);
  };
  if (by_columns) {
    for (int64_t column = 0, count = 0; column < n; column += count) {
      count = columns_of_tile(n - column, lanes);
      for (int64_t row = 0; row < rows; row += rows_at(rows, row)) run(row, column, count);
    }
    return;
  }
  for (int64_t row = 0; row < rows; row += rows_at(rows, row)) {
    for (int64_t column = 0, count = 0; column < n; column += count) {
      count = columns_of_tile(n - column, lanes);
      run(row, column, count);
    }
  }
}

// Rows [0, count) of kR; those behind repeat the last one, and are not stored.
template <int kR, int kV, typename T>
HWY_INLINE void panel_tile(const T* x,
                           const int64_t* rows,
                           int64_t count,
                           const int64_t* HWY_RESTRICT terms,
                           int64_t term_count,
                           const T* HWY_RESTRICT y,
                           const T* initial,
                           T* c) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  const int64_t width = kV * static_cast<int64_t>(lanes);
  const T* from[kR];
  V sums[kR][kV];
  HWY_UNROLL(8)
  for (int i = 0; i < kR; ++i) {
    const int64_t row = std::min<int64_t>(i, count - 1);
    from[i] = x + rows[row];
    const T* const first = initial == nullptr ? c + row * width : initial;
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) {
      sums[i][j] = hn::LoadU(d, first + static_cast<size_t>(j) * lanes);
    }
  }
  for (int64_t t = 0; t < term_count; ++t, y += width) {
    const int64_t term = terms[t];
    V factors[kV];
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) factors[j] = hn::LoadU(d, y + static_cast<size_t>(j) * lanes);
    HWY_UNROLL(8)
    for (int i = 0; i < kR; ++i) {
      const V value = hn::Set(d, from[i][term]);
      HWY_UNROLL(2)
      for (int j = 0; j < kV; ++j) sums[i][j] = hn::MulAdd(value, factors[j], sums[i][j]);
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < kR; ++i) {
    if (i >= count) break;
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) {
      hn::StoreU(sums[i][j], d,
                 c + i * width + static_cast<int64_t>(static_cast<size_t>(j) * lanes));
    }
  }
}

template <int kV, typename T>
void panel_of(const T* x,
              const int64_t* rows,
              int64_t row_count,
              const int64_t* terms,
              int64_t term_count,
              const T* y,
              const T* initial,
              T* c) {
  const int64_t width = kV * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  for (int64_t row = 0; row < row_count; row += kRows) {
    panel_tile<kRows, kV>(x, rows + row, std::min<int64_t>(kRows, row_count - row), terms,
                          term_count, y, initial, c + row * width);
  }
}

template <typename T>
void multiply_panel(const T* x,
                    const int64_t* rows,
                    int64_t row_count,
                    const int64_t* terms,
                    int64_t term_count,
                    const T* y,
                    int64_t columns,
                    const T* initial,
                    T* c) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  if (columns == lanes) {
    panel_of<1>(x, rows, row_count, terms, term_count, y, initial, c);
  } else {
    panel_of<2>(x, rows, row_count, terms, term_count, y, initial, c);
  }
}

template <int kR, int kC, typename T>
void dots(const T* a,
          const T* b,
          const int64_t* HWY_RESTRICT offsets,
          const Pieces& pieces,
          T* HWY_RESTRICT c,
          int64_t c_stride) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kR][kC];
  for (auto& row : sums) {
    for (V& sum : row) sum = hn::Zero(d);
  }
  for (int64_t p = 0; p < pieces.count; ++p) {
    const T* const from = a + p * pieces.a_piece;
    const T* const with = b + p * pieces.b_piece;
    int64_t at = 0;
    for (; at + lanes <= pieces.length; at += lanes) {
      V x[kR];
      HWY_UNROLL(4)
      for (int i = 0; i < kR; ++i) x[i] = hn::LoadU(d, from + i * pieces.a_stride + at);
      HWY_UNROLL(6)
      for (int j = 0; j < kC; ++j) {
        const V y = hn::LoadU(d, with + offsets[j] + at);
        HWY_UNROLL(4)
        for (int i = 0; i < kR; ++i) sums[i][j] = hn::MulAdd(x[i], y, sums[i][j]);
      }
    }
    if (at < pieces.length) {
      const auto rest = static_cast<size_t>(pieces.length - at);
      HWY_UNROLL(6)
      for (int j = 0; j < kC; ++j) {
        const V y = load_first(d, with + offsets[j] + at, rest);
        HWY_UNROLL(4)
        for (int i = 0; i < kR; ++i) {
          const V x = load_first(d, from + i * pieces.a_stride + at, rest);
          sums[i][j] = hn::MulAdd(x, y, sums[i][j]);
        }
      }
    }
  }
  for (int i = 0; i < kR; ++i) {
    for (int j = 0; j < kC; ++j) c[i * c_stride + j] += hn::GetLane(hn::SumOfLanes(d, sums[i][j]));
  }
}

template <typename T>
void add_dots(const T* a,
              int64_t rows,
              const T* b,
              const int64_t* offsets,
              int64_t k,
              const Pieces& pieces,
              T* c,
              int64_t c_stride) {
  int64_t column = 0;
  const auto run = [&]<int kC>() {
    int64_t row = 0;
    for (; row + kDotRows <= rows; row += kDotRows) {
      dots<kDotRows, kC>(a + row * pieces.a_stride, b, offsets + column, pieces,
                         c + row * c_stride + column, c_stride);
    }
    for (; row < rows; ++row) {
      dots<1, kC>(a + row * pieces.a_stride, b, offsets + column, pieces,
                  c + row * c_stride + column, c_stride);
    }
    column += kC;
  };
  while (column + kDotColumns <= k) run.template operator()<kDotColumns>();
  while (column + 3 <= k) run.template operator()<3>();
  while (column < k) run.template operator()<1>();
}

template <typename T>
Tiles<T> make_tiles() {
  return {kRows, 2 * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>())), &multiply<T>,
          &multiply_panel<T>, &add_dots<T>};
}
Tiles<float> float_tiles() { return make_tiles<float>(); }
Tiles<double> double_tiles() { return make_tiles<double>(); }

}  // namespace
}  // namespace mindtorch::cpu::convolution::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu::convolution {

HWY_EXPORT(float_tiles);
HWY_EXPORT(double_tiles);

template <>
Tiles<float> tiles() {
  return HWY_DYNAMIC_DISPATCH(float_tiles)();
}
template <>
Tiles<double> tiles() {
  return HWY_DYNAMIC_DISPATCH(double_tiles)();
}

}  // namespace mindtorch::cpu::convolution
#endif
