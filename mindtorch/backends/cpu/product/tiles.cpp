// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/product/tiles.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <utility>

#include "mindtorch/backends/cpu/product/tiles.h"
#include "mindtorch/backends/cpu/tiles/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// As many rows of sums as there are registers for, beside the operands.
#if HWY_TARGET <= HWY_AVX3
constexpr int kRows = 14;
#elif HWY_ARCH_ARM
constexpr int kRows = 12;
#else
constexpr int kRows = 6;
#endif

template <int kR, int kV, bool kByRows, typename T>
HWY_NOINLINE void multiply_tile(const product::Tile<T>& tile) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(decltype(d)()));
  V sums[kR][kV];
  HWY_UNROLL(14)
  for (int i = 0; i < kR; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) sums[i][j] = hn::Zero(d);
  }
  const T* HWY_RESTRICT a = tile.a;
  const T* HWY_RESTRICT b = tile.b;
  const int64_t a_row = tile.a_row;
  const int64_t a_term = tile.a_term;
  const int64_t b_term = tile.b_term;
  // By the time the sums are complete, the lines that they go to are here.
  HWY_UNROLL(14)
  for (int i = 0; i < kR; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) __builtin_prefetch(tile.c + i * tile.c_row + j * kLanes, 1);
  }
  for (int64_t t = tile.terms; t > 0; --t) {
    V y[kV];
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) y[j] = hn::LoadU(d, b + j * kLanes);
    HWY_UNROLL(14)
    for (int i = 0; i < kR; ++i) {
      const V x = hn::Set(d, kByRows ? a[i * a_row] : a[i]);
      HWY_UNROLL(2)
      for (int j = 0; j < kV; ++j) sums[i][j] = hn::MulAdd(x, y[j], sums[i][j]);
    }
    a += kByRows ? 1 : a_term;
    b += b_term;
  }
  if (tile.alpha != 1) {
    const V alpha = hn::Set(d, tile.alpha);
    HWY_UNROLL(14)
    for (int i = 0; i < kR; ++i) {
      HWY_UNROLL(2)
      for (int j = 0; j < kV; ++j) sums[i][j] = hn::Mul(sums[i][j], alpha);
    }
  }
  const V beta = hn::Set(d, tile.beta);
  T* c = tile.c;
  const T* addend = tile.addend;
  const int64_t columns = tile.columns;
  if (columns == kV * kLanes) {
    HWY_UNROLL(14)
    for (int i = 0; i < kR; ++i, c += tile.c_row) {
      HWY_UNROLL(2)
      for (int j = 0; j < kV; ++j) {
        V sum = sums[i][j];
        if (addend != nullptr) sum = hn::MulAdd(beta, hn::LoadU(d, addend + j * kLanes), sum);
        hn::StoreU(sum, d, c + j * kLanes);
      }
      addend += addend != nullptr ? tile.addend_row : 0;
    }
    return;
  }
  HWY_UNROLL(14)
  for (int i = 0; i < kR; ++i, c += tile.c_row) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) {
      const int64_t left = columns - j * kLanes;
      if (left <= 0) break;
      const auto count = static_cast<size_t>(left < kLanes ? left : kLanes);
      V sum = sums[i][j];
      if (addend != nullptr) {
        sum = hn::MulAdd(beta, load_first(d, addend + j * kLanes, count), sum);
      }
      store_first(d, sum, c + j * kLanes, count);
    }
    addend += addend != nullptr ? tile.addend_row : 0;
  }
}

template <typename T, int kV, int... kIndex>
void fill(product::Tiles<T>& tiles, std::integer_sequence<int, kIndex...>) {
  ((tiles.by_rows[kV - 1][kIndex] = &multiply_tile<kIndex + 1, kV, true, T>), ...);
  ((tiles.by_columns[kV - 1][kIndex] = &multiply_tile<kIndex + 1, kV, false, T>), ...);
}

template <typename T>
product::Tiles<T> fill_tiles() {
  product::Tiles<T> tiles = {};
  tiles.lanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  tiles.rows = kRows;
  fill<T, 1>(tiles, std::make_integer_sequence<int, kRows>());
  fill<T, 2>(tiles, std::make_integer_sequence<int, kRows>());
  return tiles;
}
template <typename T>
const product::Tiles<T>* make_tiles() {
  static const product::Tiles<T> table = fill_tiles<T>();
  return &table;
}
const product::Tiles<float>* float_tiles() { return make_tiles<float>(); }
const product::Tiles<double>* double_tiles() { return make_tiles<double>(); }

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
namespace {
HWY_EXPORT(float_tiles);
HWY_EXPORT(double_tiles);
}  // namespace

template <>
const product::Tiles<float>& product::tiles<float>() {
  return *HWY_DYNAMIC_DISPATCH(float_tiles)();
}
template <>
const product::Tiles<double>& product::tiles<double>() {
  return *HWY_DYNAMIC_DISPATCH(double_tiles)();
}

}  // namespace mindtorch::cpu
#endif
