// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/fft/short_lines.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/fft/plan.h"
#include "mindtorch/backends/cpu/fft/short_lines.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/tiles/registers-inl.h"
#include "mindtorch/backends/cpu/tiles/tile-inl.h"

#ifndef MT_FFT_SHORT_LINES_TYPES_
#define MT_FFT_SHORT_LINES_TYPES_
namespace mindtorch::cpu::fft {
namespace {

// to = scale * from @ matrix, row by row.
template <typename T>
struct RowProduct {
  const T* matrix;        // of a TransformTable
  int64_t matrix_stride;  // of rows
  int64_t terms;
  int64_t second_term;  // after term 0: one that has only zeros is left out, it may be infinite
  int64_t columns;
  T scale;
  const T* from;
  int64_t from_stride;
  T* to;
  int64_t to_stride;
};

template <typename T>
struct ShortLineFunctions {
  int64_t most_columns;  // of a product
  void (*multiply)(const RowProduct<T>& product, int64_t rows);
};

}  // namespace
}  // namespace mindtorch::cpu::fft
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::fft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
namespace tiles = mindtorch::cpu::HWY_NAMESPACE;

// A row of sums stays in registers from its first term to its last, so that rows may be replaced.
using mindtorch::cpu::HWY_NAMESPACE::kManyRegisters;
constexpr int kMostShortVectors = 3;
constexpr int rows_at_once(int vectors) {
  const int sums = kManyRegisters ? 16 : 8;
  return std::min(sums / vectors, 8);
}

template <int kRows, int kVectors, typename T>
HWY_INLINE void multiply_rows(const RowProduct<T>& p, int64_t row) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(decltype(d)()));
  const T* const from = p.from + row * p.from_stride;
  V sums[kRows][kVectors];
  HWY_UNROLL(8)
  for (int i = 0; i < kRows; ++i) {
    const V x = hn::Set(d, from[i * p.from_stride]);
    HWY_UNROLL(3)
    for (int j = 0; j < kVectors; ++j) {
      // Not a product alone: an imaginary part that is 0 is not to be -0.
      sums[i][j] = hn::MulAdd(x, hn::LoadU(d, p.matrix + j * kLanes), hn::Zero(d));
    }
  }
  const T* matrix = p.matrix + p.second_term * p.matrix_stride;
  for (int64_t k = p.second_term; k < p.terms; ++k, matrix += p.matrix_stride) {
    V y[kVectors];
    HWY_UNROLL(3)
    for (int j = 0; j < kVectors; ++j) y[j] = hn::LoadU(d, matrix + j * kLanes);
    HWY_UNROLL(8)
    for (int i = 0; i < kRows; ++i) {
      const V x = hn::Set(d, from[i * p.from_stride + k]);
      HWY_UNROLL(3)
      for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::MulAdd(x, y[j], sums[i][j]);
    }
  }
  const V scale = hn::Set(d, p.scale);
  const auto last = static_cast<size_t>(p.columns - (kVectors - 1) * kLanes);
  HWY_UNROLL(8)
  for (int i = 0; i < kRows; ++i) {
    T* const to = p.to + (row + i) * p.to_stride;
    HWY_UNROLL(2)
    for (int j = 0; j + 1 < kVectors; ++j) {
      hn::StoreU(hn::Mul(sums[i][j], scale), d, to + j * kLanes);
    }
    const V end = hn::Mul(sums[i][kVectors - 1], scale);
    T* const to_end = to + (kVectors - 1) * kLanes;
    if (last == static_cast<size_t>(kLanes)) {
      hn::StoreU(end, d, to_end);
    } else {
      tiles::store_first(d, end, to_end, last);
    }
  }
}

template <int kVectors, typename T>
void multiply_all_rows(const RowProduct<T>& p, int64_t rows) {
  constexpr int kRows = rows_at_once(kVectors);
  int64_t row = 0;
  for (; row + kRows <= rows; row += kRows) multiply_rows<kRows, kVectors>(p, row);
  for (; row < rows; ++row) multiply_rows<1, kVectors>(p, row);
}

template <typename T>
void multiply(const RowProduct<T>& p, int64_t rows) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  switch (ceil_div(p.columns, kLanes)) {
    case 1:
      return multiply_all_rows<1>(p, rows);
    case 2:
      return multiply_all_rows<2>(p, rows);
    default:
      return multiply_all_rows<3>(p, rows);
  }
}

template <typename T>
ShortLineFunctions<T> make_short_functions() {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  return {kMostShortVectors * kLanes, &multiply<T>};
}
ShortLineFunctions<float> short_float32() { return make_short_functions<float>(); }
ShortLineFunctions<double> short_float64() { return make_short_functions<double>(); }

}  // namespace
}  // namespace mindtorch::cpu::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu::fft {
namespace {

HWY_EXPORT(short_float32);
HWY_EXPORT(short_float64);

template <typename T>
const ShortLineFunctions<T>& short_line_functions() {
  static const ShortLineFunctions<T> found = [] {
    if constexpr (std::is_same_v<T, float>) return HWY_DYNAMIC_DISPATCH(short_float32)();
    if constexpr (std::is_same_v<T, double>) return HWY_DYNAMIC_DISPATCH(short_float64)();
  }();
  return found;
}

}  // namespace

template <typename T>
bool transform_short_lines(
    Transform kind, int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale) {
  constexpr int64_t kThreadWork = int64_t{1} << 17;  // multiplications that pay for a thread
  const ShortLineFunctions<T>& functions = short_line_functions<T>();
  const int64_t width = input_width(kind, length);
  const int64_t columns = output_width(kind, length);
  const bool is_read = from.step == (kind == Transform::kRealToHalf ? 1 : 2);
  const bool is_written = to.step == (kind == Transform::kHalfToReal ? 1 : 2);
  if (!is_read || !is_written || length > kMostShortLength || columns > functions.most_columns) {
    return false;
  }
  const auto matrix = transform_matrix<T>(kind, length);
  RowProduct<T> product = {};
  product.matrix = matrix->row_at(0);
  product.matrix_stride = matrix->stride;
  // The imaginary parts of the first and of the middle element of a real line's spectrum.
  const bool is_half = kind == Transform::kHalfToReal;
  product.second_term = is_half ? 2 : 1;
  product.terms = is_half && length % 2 == 0 ? width - 1 : width;
  product.columns = columns;
  product.scale = scale;
  product.from_stride = from.next;
  product.to_stride = to.next;
  parallel_for(0, count, kThreadWork / (width * columns), [&](int64_t begin, int64_t end) {
    RowProduct<T> part = product;
    part.from = from.from_line(begin).data;
    part.to = to.from_line(begin).data;
    functions.multiply(part, end - begin);
  });
  return true;
}

template bool transform_short_lines(
    Transform, int64_t, int64_t, Lines<const float>, Lines<float>, float);
template bool transform_short_lines(
    Transform, int64_t, int64_t, Lines<const double>, Lines<double>, double);

}  // namespace mindtorch::cpu::fft
#endif  // HWY_ONCE
