#include <algorithm>

#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/half_conversion.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/transpose.h"

// How products of bfloat16 with few rows are computed where the machine multiplies bfloat16, and
// the choice between that and gemm_bfloat16().
namespace mindtorch::cpu {
namespace {

// Rows up to which dots are faster than packing.
constexpr int64_t kMostRows = 32;
constexpr int64_t kMostAmxRows = 4;
constexpr int64_t kDotGrain = int64_t{1} << 15;  // elements that are read

int64_t most_dot_rows() { return amx_bfloat16_tiles() != nullptr ? kMostAmxRows : kMostRows; }

// c(i, j) for a few rows i of a and contiguous columns j of b.
void multiply_by_dots(int64_t m,
                      int64_t n,
                      int64_t k,
                      ConstMatrix a,
                      ConstMatrix b,
                      Matrix c,
                      float alpha,
                      float beta) {
  const HalfConversion convert(DType::kBFloat16);
  const int64_t stride = ceil_div(k, kDotPadding) * kDotPadding;
  const Scratch<uint16_t> rows_of_a(m * stride);
  const int64_t shape[] = {m, k};
  const int64_t from_strides[] = {2 * a.row_stride, 2 * a.col_stride};
  const int64_t to_strides[] = {2 * stride, 2};
  copy_strided(2, shape, 2, a.data, from_strides, rows_of_a.get(), to_strides);
  for (int64_t i = 0; i < m; ++i) {
    std::fill(rows_of_a.get() + i * stride + k, rows_of_a.get() + (i + 1) * stride, uint16_t{0});
  }
  const int64_t passes = ceil_div(m, kMostDotRows);
  parallel_for(0, n, ceil_div(kDotGrain, k * passes), [&](int64_t begin, int64_t end) {
    constexpr int64_t kPiece = 64;
    float sums[kPiece * kMostDotRows];
    for (int64_t col = begin; col < end; col += kPiece) {
      const int64_t cols = std::min(kPiece, end - col);
      const auto* columns = static_cast<const uint16_t*>(b.data) + col * b.col_stride;
      for (int64_t row = 0; row < m; row += kMostDotRows) {
        const int64_t rows = std::min(kMostDotRows, m - row);
        bfloat16_dots(cols, columns, b.col_stride, rows, rows_of_a.get() + row * stride, stride, k,
                      sums);
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

}  // namespace

void multiply_bfloat16(int64_t m,
                       int64_t n,
                       int64_t k,
                       ConstMatrix a,
                       ConstMatrix b,
                       Matrix c,
                       float alpha,
                       float beta) {
  const bool is_column = n == 1 && m > 1;
  if (is_column || (m > 1 && c.col_stride != 1 && c.row_stride == 1)) {
    return multiply_bfloat16(n, m, k, transposed(b), transposed(a), transposed(c), alpha, beta);
  }
  const bool reads_columns = b.row_stride == 1 && (k >= 32 || m == 1);
  if (reads_columns && m <= most_dot_rows()) {
    return multiply_by_dots(m, n, k, a, b, c, alpha, beta);
  }
  // Columns of b, which are many, are rows of its transpose: they need not be packed.
  if (reads_columns && m <= kMostRows && amx_bfloat16_tiles() != nullptr) {
    return gemm_bfloat16(n, m, k, transposed(b), transposed(a), transposed(c), alpha, beta,
                         as_const(transposed(c)));
  }
  gemm_bfloat16(m, n, k, a, b, c, alpha, beta, as_const(c));
}

bool multiply_bfloat16_with_addend(
    int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, ConstMatrix addend, Matrix c) {
  if (m <= kMostRows || c.col_stride != 1 || addend.col_stride != 1) return false;
  gemm_bfloat16(m, n, k, a, b, c, 1, 1, addend);
  return true;
}

}  // namespace mindtorch::cpu
