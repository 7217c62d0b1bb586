#include <algorithm>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/backends/cpu/transpose.h"

// float16 and bfloat16: blocks of a and b are widened to float32, multiplied by OpenBLAS into a
// block of float32 sums, and rounded once when the block is complete.
namespace mindtorch::cpu {
namespace {

constexpr int64_t kBlockRows = 512;
constexpr int64_t kBlockCols = 512;
constexpr int64_t kBlockTerms = 512;
constexpr int64_t kProductGrain = int64_t{1} << 20;

struct Conversion {
  CastFn widen;
  CastFn narrow;
};
Conversion conversion(DType dtype) {
  return {find_cast(dtype, DType::kFloat32), find_cast(DType::kFloat32, dtype)};
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

// out = round(sums + beta * out); the sums already carry alpha.
void store(
    const Conversion& convert, int64_t n, float* sums, uint16_t* out, int64_t stride, float beta) {
  constexpr int64_t kPiece = 512;
  uint16_t gathered[kPiece];
  float before[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t count = std::min(kPiece, n - i);
    uint16_t* narrow = stride == 1 ? out + i : gathered;
    if (beta != 0) {
      for (int64_t j = 0; j < count && stride != 1; ++j) narrow[j] = out[(i + j) * stride];
      convert.widen(narrow, before, count);
      for (int64_t j = 0; j < count; ++j) sums[i + j] += beta * before[j];
    }
    convert.narrow(sums + i, narrow, count);
    for (int64_t j = 0; j < count && stride != 1; ++j) out[(i + j) * stride] = narrow[j];
  }
}

// Blocks of c near `limit`, fewer than that when c must be shared by many threads.
int64_t block_size(int64_t size, int64_t limit, int64_t pieces) {
  const int64_t count = std::max(ceil_div(size, limit), std::min(pieces, ceil_div(size, 64)));
  return ceil_div(ceil_div(size, count), 16) * 16;
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
  const Conversion convert = conversion(dtype);
  const int64_t work = m * n * k;
  const bool divides = work >= 2 * kProductGrain && !in_parallel_region() && num_threads() > 1;
  const int64_t rows = std::min(m, block_size(m, kBlockRows, divides ? num_threads() : 1));
  const int64_t cols = std::min(n, block_size(n, kBlockCols, 1));
  const int64_t terms = std::min(k, kBlockTerms);
  const int64_t row_blocks = ceil_div(m, rows);
  const int64_t col_blocks = ceil_div(n, cols);

  const int64_t grain = divides ? 1 : row_blocks * col_blocks;
  parallel_for(0, row_blocks * col_blocks, grain, [&](int64_t begin, int64_t end) {
    const Scratch<float> wide_a(rows * terms);
    const Scratch<float> wide_b(terms * cols);
    const Scratch<float> sums(rows * cols);
    const Scratch<uint16_t> gathered(std::max(rows, cols) * terms);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / col_blocks * rows;
      const int64_t col = i % col_blocks * cols;
      const int64_t height = std::min(rows, m - row);
      const int64_t width = std::min(cols, n - col);
      for (int64_t term = 0; term < k; term += terms) {
        const int64_t depth = std::min(terms, k - term);
        const ConstMatrix left = widen(convert.widen, height, depth, offset<uint16_t>(a, row, term),
                                       gathered.get(), wide_a.get());
        const ConstMatrix right = widen(convert.widen, depth, width, offset<uint16_t>(b, term, col),
                                        gathered.get(), wide_b.get());
        gemm(DType::kFloat32, height, width, depth, left, right, {sums.get(), width, 1}, {alpha, 0},
             {term == 0 ? 0.0 : 1.0, 0});
      }
      for (int64_t r = 0; r < height; ++r) {
        auto* out = static_cast<uint16_t*>(offset<uint16_t>(c, row + r, col).data);
        store(convert, width, sums.get() + r * width, out, c.col_stride, beta);
      }
    }
  });
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
  const Conversion convert = conversion(dtype);
  const Scratch<float> vector(k);
  const Scratch<uint16_t> gathered_x(k);
  widen(convert.widen, k, 1, {x, x_stride, 1}, gathered_x.get(), vector.get());

  // Blocks of a that stay in the second-level cache between widening and multiplying.
  constexpr int64_t kBlockElements = int64_t{1} << 15;
  const int64_t terms = std::min<int64_t>(k, a.row_stride == 1 ? 64 : 4096);
  const int64_t rows = std::clamp<int64_t>(kBlockElements / terms, 1, m);
  parallel_for(0, ceil_div(m, rows), 2, [&](int64_t begin, int64_t end) {
    const Scratch<float> wide(rows * terms);
    const Scratch<uint16_t> gathered(rows * terms);
    const Scratch<float> sums(rows);
    for (int64_t row = begin * rows; row < std::min(m, end * rows); row += rows) {
      const int64_t height = std::min(rows, m - row);
      for (int64_t term = 0; term < k; term += terms) {
        const int64_t depth = std::min(terms, k - term);
        const ConstMatrix block = widen(convert.widen, height, depth,
                                        offset<uint16_t>(a, row, term), gathered.get(), wide.get());
        gemv(DType::kFloat32, height, depth, block, vector.get() + term, 1, sums.get(), 1,
             {alpha, 0}, {term == 0 ? 0.0 : 1.0, 0});
      }
      auto* out = static_cast<uint16_t*>(y) + row * y_stride;
      store(convert, height, sums.get(), out, y_stride, beta);
    }
  });
}

float dot_half(
    DType dtype, int64_t n, const void* x, int64_t x_stride, const void* y, int64_t y_stride) {
  constexpr int64_t kBlock = 2048;
  const Conversion convert = conversion(dtype);
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
