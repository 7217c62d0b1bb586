// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/packed_product.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>

#include "mindtorch/backends/cpu/packed_product.h"
#include "mindtorch/backends/cpu/tiles/tile-inl.h"

#ifndef MT_PACKED_PRODUCT_TYPES_
#define MT_PACKED_PRODUCT_TYPES_
namespace mindtorch::cpu {
namespace {

// Terms of a panel that are summed at a time: as many columns stay in the first cache.
constexpr int64_t kDepth = 128;

template <typename T>
struct Product {
  const T* a;
  int64_t a_stride;
  int64_t rows;
  const T* panels;
  int64_t k;
  int64_t n;
  T* c;
  int64_t c_stride;
  bool add;
};

template <typename T>
struct PackedTiles {
  int64_t panel_columns;
  void (*multiply)(const Product<T>& product);
};

}  // namespace
}  // namespace mindtorch::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// As many sums as there are registers for, beside the operands.
constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM;
constexpr int kRows = kManyRegisters ? 8 : 4;
constexpr int kVectors = 2;

// Terms [0, depth) of kR rows and one panel, of which `columns` are stored.
template <int kR, typename T>
HWY_INLINE void packed_tile(const T* HWY_RESTRICT a,
                            int64_t a_stride,
                            const T* HWY_RESTRICT b,
                            int64_t depth,
                            T* c,
                            int64_t c_stride,
                            int64_t columns,
                            bool add) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(decltype(d)()));
  V sums[kR][kVectors];
  for (auto& row : sums) {
    for (V& sum : row) sum = hn::Zero(d);
  }
  for (int64_t k = 0; k < depth; ++k, b += kVectors * kLanes) {
    V y[kVectors];
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) y[j] = hn::LoadU(d, b + j * kLanes);
    HWY_UNROLL(8)
    for (int i = 0; i < kR; ++i) {
      const V x = hn::Set(d, a[i * a_stride + k]);
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::MulAdd(x, y[j], sums[i][j]);
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < kR; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) {
      T* const to = c + i * c_stride + j * kLanes;
      const int64_t left = columns - j * kLanes;
      if (left >= kLanes) {
        hn::StoreU(add ? hn::Add(sums[i][j], hn::LoadU(d, to)) : sums[i][j], d, to);
      } else if (left > 0) {
        const auto count = static_cast<size_t>(left);
        const V sum = add ? hn::Add(sums[i][j], load_first(d, to, count)) : sums[i][j];
        store_first(d, sum, to, count);
      }
    }
  }
}

template <typename T>
void multiply_packed(const Product<T>& p) {
  constexpr int64_t kWidth = kVectors * static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  for (int64_t column = 0; column < p.n; column += kWidth) {
    const int64_t columns = std::min(kWidth, p.n - column);
    for (int64_t first = 0; first < p.k; first += kDepth) {
      const int64_t depth = std::min(kDepth, p.k - first);
      const T* const b = p.panels + column * p.k + first * kWidth;
      const bool add = p.add || first > 0;
      const auto run = [&]<int kR>(int64_t row) {
        packed_tile<kR>(p.a + row * p.a_stride + first, p.a_stride, b, depth,
                        p.c + row * p.c_stride + column, p.c_stride, columns, add);
      };
      int64_t row = 0;
      for (; row + kRows <= p.rows; row += kRows) run.template operator()<kRows>(row);
      if constexpr (kRows == 8) {
        for (; row + 4 <= p.rows; row += 4) run.template operator()<4>(row);
      }
      for (; row + 2 <= p.rows; row += 2) run.template operator()<2>(row);
      for (; row < p.rows; ++row) run.template operator()<1>(row);
    }
  }
}

template <typename T>
PackedTiles<T> make_packed() {
  return {kVectors * static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>())), &multiply_packed<T>};
}
PackedTiles<float> packed_floats() { return make_packed<float>(); }
PackedTiles<double> packed_doubles() { return make_packed<double>(); }

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
namespace {

HWY_EXPORT(packed_floats);
HWY_EXPORT(packed_doubles);

template <typename T>
const PackedTiles<T>& packed_tiles() {
  static const PackedTiles<T> found = [] {
    if constexpr (std::is_same_v<T, float>) return HWY_DYNAMIC_DISPATCH(packed_floats)();
    if constexpr (std::is_same_v<T, double>) return HWY_DYNAMIC_DISPATCH(packed_doubles)();
  }();
  return found;
}

}  // namespace

// Panel after panel, row by row; the last one is filled up with zeros.
template <typename T>
PackedMatrix<T>::PackedMatrix(
    const T* data, int64_t k, int64_t n, int64_t row_stride, int64_t col_stride)
    : k_(k), n_(n) {
  const int64_t width = packed_tiles<T>().panel_columns;
  panels_.allocate(ceil_div(n, width) * width * k);
  T* to = panels_.get();
  for (int64_t column = 0; column < n; column += width) {
    const int64_t columns = std::min(width, n - column);
    for (int64_t row = 0; row < k; ++row, to += width) {
      const T* const from = data + row * row_stride + column * col_stride;
      for (int64_t j = 0; j < columns; ++j) to[j] = from[j * col_stride];
      std::fill(to + columns, to + width, T{0});
    }
  }
}

template <typename T>
void PackedMatrix<T>::multiply(
    const T* a, int64_t a_stride, int64_t rows, T* c, int64_t c_stride, bool add) const {
  packed_tiles<T>().multiply({a, a_stride, rows, panels_.get(), k_, n_, c, c_stride, add});
}

template class PackedMatrix<float>;
template class PackedMatrix<double>;

}  // namespace mindtorch::cpu
#endif
