#include <algorithm>

#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/half_conversion.h"
#include "mindtorch/backends/cpu/half_dots.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/product/product.h"
#include "mindtorch/backends/cpu/transpose.h"

// float16 and bfloat16 are widened to float32 where they are read, and sums are rounded once.
// Machines that multiply bfloat16 themselves save the widening: gemm_bfloat16.cpp.
namespace mindtorch::cpu {
namespace {

// Rows up to which dots are faster than packing.
constexpr int64_t kMostBFloat16DotRows = 32;
constexpr int64_t kMostAmxDotRows = 4;
constexpr int64_t kDotGrain = int64_t{1} << 15;  // elements that are read

bool multiplies_natively(DType dtype) {
  return dtype == DType::kBFloat16 && bfloat16_tiles() != nullptr;
}

int64_t most_dot_rows(DType dtype) {
  if (!multiplies_natively(dtype)) return kMostDotRows;
  return amx_bfloat16_tiles() != nullptr ? kMostAmxDotRows : kMostBFloat16DotRows;
}

// Widens a block to `wide`, along whichever of its dimensions is contiguous; returns it as float32.
// `gathered` has room for blocks with no such dimension.
ConstMatrix widen(
    CastFn cast, int64_t rows, int64_t cols, ConstMatrix a, uint16_t* gathered, float* wide) {
  const bool by_cols = a.row_stride == 1 && rows > 1;
  const bool by_rows = a.col_stride == 1 && cols > 1;
  if (!by_rows && !by_cols) {
    const int64_t shape[] = {rows, cols};
    const int64_t from_strides[] = {2 * a.row_stride, 2 * a.col_stride};
    const int64_t to_strides[] = {2 * cols, 2};
    copy_strided(2, shape, 2, a.data, from_strides, gathered, to_strides);
    cast(gathered, wide, rows * cols);
    return {wide, cols, 1};
  }
  const int64_t count = by_rows ? rows : cols;
  const int64_t length = by_rows ? cols : rows;
  const int64_t stride = by_rows ? a.row_stride : a.col_stride;
  const auto* from = static_cast<const uint16_t*>(a.data);
  if (stride == length) {
    cast(from, wide, count * length);
  } else {
    for (int64_t i = 0; i < count; ++i) cast(from + i * stride, wide + i * length, length);
  }
  return by_rows ? ConstMatrix{wide, length, 1} : ConstMatrix{wide, 1, length};
}

// Rows of a, widened unless the machine multiplies bfloat16 itself, and padded for the dots.
class DotRows {
 public:
  DotRows(DType dtype, int64_t m, int64_t k, ConstMatrix a)
      : dtype_(dtype),
        k_(k),
        stride_(ceil_div(k, kDotPadding) * kDotPadding),
        narrow_(m * stride_) {
    const int64_t shape[] = {m, k};
    const int64_t from_strides[] = {2 * a.row_stride, 2 * a.col_stride};
    const int64_t to_strides[] = {2 * stride_, 2};
    copy_strided(2, shape, 2, a.data, from_strides, narrow_.get(), to_strides);
    for (int64_t i = 0; i < m; ++i) {
      std::fill(narrow_.get() + i * stride_ + k, narrow_.get() + (i + 1) * stride_, uint16_t{0});
    }
    if (multiplies_natively(dtype)) return;
    wide_.allocate(m * stride_);
    HalfConversion(dtype).widen(narrow_.get(), wide_.get(), m * stride_);
  }

  // sums[j * rows + i] = row `row + i` times column j of n columns.
  void multiply(int64_t row,
                int64_t rows,
                const uint16_t* columns,
                int64_t column_stride,
                int64_t n,
                float* sums) const {
    if (wide_.get() == nullptr) {
      bfloat16_dots(n, columns, column_stride, rows, narrow_.get() + row * stride_, stride_, k_,
                    sums);
    } else {
      half_dots(dtype_, n, columns, column_stride, rows, wide_.get() + row * stride_, stride_, k_,
                sums);
    }
  }

 private:
  DType dtype_;
  int64_t k_;
  int64_t stride_;
  Scratch<uint16_t> narrow_;
  Scratch<float> wide_;
};

// c(i, j) for a few rows i of a and contiguous columns j of b.
void multiply_by_dots(DType dtype,
                      int64_t m,
                      int64_t n,
                      int64_t k,
                      ConstMatrix a,
                      ConstMatrix b,
                      Matrix c,
                      float alpha,
                      float beta) {
  const HalfConversion convert(dtype);
  const DotRows x(dtype, m, k, a);
  const int64_t passes = ceil_div(m, kMostDotRows);
  parallel_for(0, n, ceil_div(kDotGrain, k * passes), [&](int64_t begin, int64_t end) {
    constexpr int64_t kPiece = 64;
    float sums[kPiece * kMostDotRows];
    for (int64_t col = begin; col < end; col += kPiece) {
      const int64_t cols = std::min(kPiece, end - col);
      const auto* columns = static_cast<const uint16_t*>(b.data) + col * b.col_stride;
      for (int64_t row = 0; row < m; row += kMostDotRows) {
        const int64_t rows = std::min(kMostDotRows, m - row);
        x.multiply(row, rows, columns, b.col_stride, cols, sums);
        for (int64_t i = 0; i < rows; ++i) {
          float line[kPiece];
          for (int64_t j = 0; j < cols; ++j) line[j] = sums[j * rows + i];
          auto* out = static_cast<uint16_t*>(offset<uint16_t>(c, row + i, col).data);
          store_halves(convert, cols, line, out, c.col_stride, alpha, beta);
        }
      }
    }
  });
}

// y for contiguous columns of a: columns times elements of x are added up. The sums of kPartTerms
// columns are apart, on any number of threads, so that the result does not depend on it.
void add_columns(DType dtype,
                 int64_t m,
                 int64_t k,
                 ConstMatrix a,
                 const void* x,
                 int64_t x_stride,
                 void* y,
                 int64_t y_stride,
                 float alpha,
                 float beta) {
  constexpr int64_t kPartTerms = 1024;
  constexpr int64_t kLeastRows = 64;
  const HalfConversion convert(dtype);
  const Scratch<float> vector(k);
  const Scratch<uint16_t> gathered(k);
  widen(convert.widen, k, 1, {x, x_stride, 1}, gathered.get(), vector.get());
  const int64_t parts = ceil_div(k, kPartTerms);
  const Scratch<float> sums(parts * m);
  const int64_t wanted = ceil_div(num_threads(), parts);
  const int64_t rows = std::max(ceil_div(ceil_div(m, wanted), kLeastRows) * kLeastRows, kLeastRows);
  const int64_t pieces = ceil_div(m, rows);
  const int64_t grain = ceil_div(kDotGrain, rows * std::min(k, kPartTerms));
  parallel_for(0, parts * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t term = i / pieces * kPartTerms;
      const int64_t row = i % pieces * rows;
      half_columns(dtype, std::min(rows, m - row), std::min(kPartTerms, k - term),
                   static_cast<const uint16_t*>(offset<uint16_t>(a, row, term).data), a.col_stride,
                   vector.get() + term, sums.get() + i / pieces * m + row);
    }
  });
  for (int64_t part = 1; part < parts; ++part) {
    for (int64_t i = 0; i < m; ++i) sums.get()[i] += sums.get()[part * m + i];
  }
  store_halves(convert, m, sums.get(), static_cast<uint16_t*>(y), y_stride, alpha, beta);
}

}  // namespace

void gemm_half(DType dtype,
               int64_t m,
               int64_t n,
               int64_t k,
               ConstMatrix a,
               ConstMatrix b,
               Matrix c,
               float alpha,
               float beta) {
  if (c.col_stride != 1 && c.row_stride == 1) {
    return gemm_half(dtype, n, m, k, transposed(b), transposed(a), transposed(c), alpha, beta);
  }
  const bool reads_columns = k >= 32 && b.row_stride == 1;
  if (reads_columns && m <= most_dot_rows(dtype)) {
    return multiply_by_dots(dtype, m, n, k, a, b, c, alpha, beta);
  }
  if (multiplies_natively(dtype)) {
    // Columns of b, which are many, are rows of its transpose: they need not be packed.
    if (reads_columns && m <= kMostBFloat16DotRows && amx_bfloat16_tiles() != nullptr) {
      return gemm_bfloat16(n, m, k, transposed(b), transposed(a), transposed(c), alpha, beta,
                           as_const(transposed(c)));
    }
    return gemm_bfloat16(m, n, k, a, b, c, alpha, beta, as_const(c));
  }
  const ConstMatrix addend = beta == 0 ? ConstMatrix{nullptr, 0, 0} : as_const(c);
  const product::Problem problem = {1, m, n, k, a, 0, b, 0, c, 0, addend, 0, alpha, beta};
  if (dtype == DType::kFloat16) return product::multiply<Half>(problem);
  product::multiply<BFloat16>(problem);
}

bool multiplies_halves_by_tiles(DType dtype) { return !multiplies_natively(dtype); }

bool gemm_half_with_addend(DType dtype,
                           int64_t m,
                           int64_t n,
                           int64_t k,
                           ConstMatrix a,
                           ConstMatrix b,
                           ConstMatrix addend,
                           Matrix c) {
  if (c.col_stride != 1 || addend.col_stride != 1) return false;
  if (multiplies_natively(dtype)) {
    if (m <= kMostBFloat16DotRows) return false;
    gemm_bfloat16(m, n, k, a, b, c, 1, 1, addend);
    return true;
  }
  if (m <= kMostDotRows) return false;
  const product::Problem problem = {1, m, n, k, a, 0, b, 0, c, 0, addend, 0, 1, 1};
  if (dtype == DType::kFloat16) {
    product::multiply<Half>(problem);
  } else {
    product::multiply<BFloat16>(problem);
  }
  return true;
}

void gemv_half(DType dtype,
               int64_t m,
               int64_t k,
               ConstMatrix a,
               const void* x,
               int64_t x_stride,
               void* y,
               int64_t y_stride,
               float alpha,
               float beta) {
  if (a.col_stride == 1) {  // rows of a are columns of its transpose
    return multiply_by_dots(dtype, 1, m, k, {x, 0, x_stride}, transposed(a), {y, 0, y_stride},
                            alpha, beta);
  }
  if (multiplies_natively(dtype)) {
    return gemm_bfloat16(1, m, k, {x, 0, x_stride}, transposed(a), {y, 0, y_stride}, alpha, beta,
                         {y, 0, y_stride});
  }
  if (a.row_stride != 1) {  // neither rows nor columns are contiguous
    const Scratch<uint16_t> rows(m * k);
    const int64_t shape[] = {m, k};
    const int64_t from_strides[] = {2 * a.row_stride, 2 * a.col_stride};
    const int64_t to_strides[] = {2 * k, 2};
    copy_strided(2, shape, 2, a.data, from_strides, rows.get(), to_strides);
    return gemv_half(dtype, m, k, {rows.get(), k, 1}, x, x_stride, y, y_stride, alpha, beta);
  }
  add_columns(dtype, m, k, a, x, x_stride, y, y_stride, alpha, beta);
}

float dot_half(
    DType dtype, int64_t n, const void* x, int64_t x_stride, const void* y, int64_t y_stride) {
  if (x_stride == 1 && y_stride == 1) {
    return half_dot(dtype, n, static_cast<const uint16_t*>(x), static_cast<const uint16_t*>(y));
  }
  constexpr int64_t kBlock = 2048;
  const HalfConversion convert(dtype);
  float wide_x[kBlock];
  float wide_y[kBlock];
  uint16_t gathered[kBlock];
  float sum = 0;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    const auto* from_x = static_cast<const uint16_t*>(x) + i * x_stride;
    const auto* from_y = static_cast<const uint16_t*>(y) + i * y_stride;
    widen(convert.widen, 1, count, {from_x, 1, x_stride}, gathered, wide_x);
    widen(convert.widen, 1, count, {from_y, 1, y_stride}, gathered, wide_y);
    sum += dot_float<float>(count, wide_x, 1, wide_y, 1);
  }
  return sum;
}

}  // namespace mindtorch::cpu
