#pragma once

#include <cstdint>

#include "mindtorch/tensor/dtype.h"

// Sums of products with float16 or bfloat16 elements that are widened in registers, so that memory
// is read once and at half the size of float32. For products of few rows, which wait for memory.
namespace mindtorch::cpu {

inline constexpr int64_t kMostDotRows = 8;
// Rows of `x` below are padded with zeros to a multiple of this.
inline constexpr int64_t kDotPadding = 64;

// out[j * rows + i] = the sum of w[j * w_stride + t] * x[i * x_stride + t] over t < k, for j < n
// and i < rows <= kMostDotRows. `x` is float32.
void half_dots(DType dtype,
               int64_t n,
               const uint16_t* w,
               int64_t w_stride,
               int64_t rows,
               const float* x,
               int64_t x_stride,
               int64_t k,
               float* out);

// sums[j] = the sum of w[t * w_stride + j] * x[t] over t < k, for j < n.
void half_columns(DType dtype,
                  int64_t n,
                  int64_t k,
                  const uint16_t* w,
                  int64_t w_stride,
                  const float* x,
                  float* sums);

// The sum of x[t] * y[t] over t < n.
float half_dot(DType dtype, int64_t n, const uint16_t* x, const uint16_t* y);

}  // namespace mindtorch::cpu
