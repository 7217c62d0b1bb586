#pragma once

#include <cstdint>

#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/dtype.h"

// Products of matrices and vectors on plain memory, for every dtype. All strides are in elements.
// Those of inputs may have any value that stays in bounds, 0 included; the elements of an output
// must be distinct and overlap no input. The dtype decides how a product is computed:
//   float32, float64   by tiles: product/product.h
//   float16, bfloat16  in float32, rounded once at the end; subnormal bfloat16 numbers may count as
//                      0, as AVX512_BF16 has it
//   complex            by OpenBLAS
//   integers           in wrapping arithmetic of the dtype itself
// bool has no products in torch either: NotImplementedError. Large products use parallel_for.
namespace mindtorch::cpu {

// Element (r, c) lies at data[r * row_stride + c * col_stride].
struct ConstMatrix {
  const void* data;
  int64_t row_stride;
  int64_t col_stride;
};
struct Matrix {
  void* data;
  int64_t row_stride;
  int64_t col_stride;
};

// alpha or beta of a product: `f` counts for floating dtypes, `i` for integers, `f` and `imag` for
// complex numbers.
struct Factor {
  double f;
  int64_t i;
  double imag = 0;
};
inline constexpr Factor kZeroFactor = {0.0, 0};
inline constexpr Factor kOneFactor = {1.0, 1};

// c = alpha * a @ b + beta * c, with a of m x k, b of k x n, c of m x n. When beta is 0, c is only
// written: it may hold NaN or nothing at all. When alpha or k is 0, a and b are not read.
MT_API void gemm(DType dtype,
                 int64_t m,
                 int64_t n,
                 int64_t k,
                 ConstMatrix a,
                 ConstMatrix b,
                 Matrix c,
                 Factor alpha = kOneFactor,
                 Factor beta = kZeroFactor);

// c = a @ b + addend, where `addend` is as large as c and may be c. False, and nothing is computed,
// where that is no faster than a copy of `addend` and gemm().
MT_API bool gemm_with_addend(DType dtype,
                             int64_t m,
                             int64_t n,
                             int64_t k,
                             ConstMatrix a,
                             ConstMatrix b,
                             ConstMatrix addend,
                             Matrix c);

// The same as gemm() for `batch` products whose matrices lie `*_batch_stride` elements apart; 0
// gives every product the same a or b.
MT_API void batched_gemm(DType dtype,
                         int64_t batch,
                         int64_t m,
                         int64_t n,
                         int64_t k,
                         ConstMatrix a,
                         int64_t a_batch_stride,
                         ConstMatrix b,
                         int64_t b_batch_stride,
                         Matrix c,
                         int64_t c_batch_stride,
                         Factor alpha = kOneFactor,
                         Factor beta = kZeroFactor);

// y = alpha * a @ x + beta * y, with a of m x k.
MT_API void gemv(DType dtype,
                 int64_t m,
                 int64_t k,
                 ConstMatrix a,
                 const void* x,
                 int64_t x_stride,
                 void* y,
                 int64_t y_stride,
                 Factor alpha = kOneFactor,
                 Factor beta = kZeroFactor);

// *out = the sum of x[i] * y[i]; 0 when n is 0.
MT_API void dot(DType dtype,
                int64_t n,
                const void* x,
                int64_t x_stride,
                const void* y,
                int64_t y_stride,
                void* out);

}  // namespace mindtorch::cpu
