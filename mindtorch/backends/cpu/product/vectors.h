#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/product/tiles.h"

// Sums of products with few rows, which wait for memory: the matrix is read once, as it lies, and
// elements of 16 bits are widened in registers.
namespace mindtorch::cpu::product {

inline constexpr int64_t kMostDotRows = 8;

template <typename S>
struct Vectors {
  using T = typename SumOf<S>::type;
  // out[j * rows + i] = the sum of w[j * w_stride + t] * x[i * x_stride + t] over t < terms, for
  // j < count and i < rows <= kMostDotRows.
  void (*dots)(int64_t count,
               const S* w,
               int64_t w_stride,
               int64_t rows,
               const T* x,
               int64_t x_stride,
               int64_t terms,
               T* out);
  // sums[j] = the sum of w[t * w_stride + j] * x[t] over t < terms, for j < count.
  void (*columns)(int64_t count, int64_t terms, const S* w, int64_t w_stride, const T* x, T* sums);
};

template <typename S>  // float, double, Half, BFloat16
const Vectors<S>& vectors();

// The sum of x[t] * y[t] over t < n.
template <typename S>
typename SumOf<S>::type dot(int64_t n, const S* x, const S* y);

}  // namespace mindtorch::cpu::product
