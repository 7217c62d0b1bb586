// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/product/packing.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/product/load-inl.h"
#include "mindtorch/backends/cpu/product/tiles.h"
#include "mindtorch/backends/cpu/product/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

template <typename S>
HWY_INLINE Sum<S> value(S element) {
  return static_cast<Sum<S>>(element);
}

// Columns of b that lie one after another: rows of its transpose.
template <typename S>
void pack_transposed(
    const S* from, int64_t column, int64_t terms, int64_t columns, int64_t width, Sum<S>* panel) {
  constexpr int64_t kSide = kLanesOf<S>;
  const Tag<S> d;
  for (int64_t j = 0; j < width; j += kSide) {
    const int64_t count = std::clamp<int64_t>(columns - j, 0, kSide);
    for (int64_t t = 0; t < terms; t += kSide) {
      const int64_t depth = std::min(kSide, terms - t);
      Vector<S> square[static_cast<size_t>(kSide)];
      const S* const corner = from + j * column + t;
      if (count == kSide && depth == kSide) {
        HWY_UNROLL(16)
        for (int64_t i = 0; i < kSide; ++i) square[i] = load(corner + i * column);
      } else {
        for (int64_t i = 0; i < kSide; ++i) {
          square[i] = i < count ? load_some(corner + i * column, depth) : hn::Zero(d);
        }
      }
      transpose_square<S>(square);
      Sum<S>* const to = panel + t * width + j;
      if (depth == kSide) {
        HWY_UNROLL(16)
        for (int64_t i = 0; i < kSide; ++i) hn::StoreU(square[i], d, to + i * width);
      } else {
        for (int64_t i = 0; i < depth; ++i) hn::StoreU(square[i], d, to + i * width);
      }
    }
  }
}

template <typename S>
void pack_panel(ConstMatrix b, int64_t terms, int64_t columns, int64_t width, Sum<S>* panel) {
  constexpr int64_t kLanes = kLanesOf<S>;
  const Tag<S> d;
  const auto* from = static_cast<const S*>(b.data);
  if (b.col_stride == 1 || columns == 1) {
    if (columns == width && width == 2 * kLanes) {
      for (int64_t t = 0; t < terms; ++t, from += b.row_stride, panel += width) {
        hn::StoreU(load(from), d, panel);
        hn::StoreU(load(from + kLanes), d, panel + kLanes);
      }
      return;
    }
    for (int64_t t = 0; t < terms; ++t, from += b.row_stride) {
      for (int64_t j = 0; j < width; j += kLanes, panel += kLanes) {
        hn::StoreU(load_some(from + j, columns - j), d, panel);
      }
    }
    return;
  }
  if (b.row_stride == 1 || terms == 1) {
    return pack_transposed(from, b.col_stride, terms, columns, width, panel);
  }
  for (int64_t t = 0; t < terms; ++t, from += b.row_stride, panel += width) {
    for (int64_t j = 0; j < columns; ++j) panel[j] = value(from[j * b.col_stride]);
    std::fill(panel + columns, panel + width, Sum<S>{0});
  }
}

template <typename S>
void pack_rows(ConstMatrix a, int64_t rows, int64_t terms, Sum<S>* packed, int64_t stride) {
  constexpr int64_t kLanes = kLanesOf<S>;
  const Tag<S> d;
  const auto* from = static_cast<const S*>(a.data);
  for (int64_t i = 0; i < rows; ++i, from += a.row_stride, packed += stride) {
    int64_t t = 0;
    for (; t + kLanes <= terms; t += kLanes) hn::StoreU(load(from + t), d, packed + t);
    for (; t < terms; ++t) packed[t] = value(from[t]);
  }
}

template <typename S>
void pack_columns(
    ConstMatrix a, int64_t rows, int64_t readable, int64_t terms, Sum<S>* packed, int64_t stride) {
  constexpr int64_t kLanes = kLanesOf<S>;
  const Tag<S> d;
  const auto* from = static_cast<const S*>(a.data);
  if (a.row_stride != 1 && rows > 1) {
    for (int64_t t = 0; t < terms; ++t, from += a.col_stride, packed += stride) {
      for (int64_t i = 0; i < rows; ++i) packed[i] = value(from[i * a.row_stride]);
    }
    return;
  }
  for (int64_t t = 0; t < terms; ++t, from += a.col_stride, packed += stride) {
    for (int64_t i = 0; i < rows; i += kLanes) {
      hn::StoreU(load_some(from + i, readable - i), d, packed + i);
    }
  }
}

template <typename S>
const product::Packing<S>* make_packing() {
  static constexpr product::Packing<S> kTable = {&pack_panel<S>, &pack_rows<S>, &pack_columns<S>};
  return &kTable;
}
const product::Packing<float>* pack_floats() { return make_packing<float>(); }
const product::Packing<double>* pack_doubles() { return make_packing<double>(); }
const product::Packing<Half>* pack_halves() { return make_packing<Half>(); }
const product::Packing<BFloat16>* pack_bfloats() { return make_packing<BFloat16>(); }

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
namespace {
HWY_EXPORT(pack_floats);
HWY_EXPORT(pack_doubles);
HWY_EXPORT(pack_halves);
HWY_EXPORT(pack_bfloats);
}  // namespace

template <>
const product::Packing<float>& product::packing<float>() {
  return *HWY_DYNAMIC_DISPATCH(pack_floats)();
}
template <>
const product::Packing<double>& product::packing<double>() {
  return *HWY_DYNAMIC_DISPATCH(pack_doubles)();
}
template <>
const product::Packing<Half>& product::packing<Half>() {
  return *HWY_DYNAMIC_DISPATCH(pack_halves)();
}
template <>
const product::Packing<BFloat16>& product::packing<BFloat16>() {
  return *HWY_DYNAMIC_DISPATCH(pack_bfloats)();
}

}  // namespace mindtorch::cpu
#endif
