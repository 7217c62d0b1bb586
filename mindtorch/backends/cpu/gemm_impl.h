#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/gemm.h"
#include "mindtorch/backends/cpu/scratch.h"

// The ways of gemm.h's products. gemm.cpp has dealt with empty products and zero alphas.
namespace mindtorch::cpu {

template <typename T>  // float, double: of the parts
void gemm_complex(int64_t m,
                  int64_t n,
                  int64_t k,
                  ConstMatrix a,
                  ConstMatrix b,
                  Matrix c,
                  std::complex<T> alpha,
                  std::complex<T> beta);

// The next three only where bfloat16_tiles() are.
void multiply_bfloat16(int64_t m,
                       int64_t n,
                       int64_t k,
                       ConstMatrix a,
                       ConstMatrix b,
                       Matrix c,
                       float alpha,
                       float beta);
// gemm_with_addend().
bool multiply_bfloat16_with_addend(
    int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, ConstMatrix addend, Matrix c);
// `addend` is what beta counts for: c, or a matrix of its size if c has contiguous rows and both
// factors are 1.
void gemm_bfloat16(int64_t m,
                   int64_t n,
                   int64_t k,
                   ConstMatrix a,
                   ConstMatrix b,
                   Matrix c,
                   float alpha,
                   float beta,
                   ConstMatrix addend);
void gemm_integer(DType dtype,
                  int64_t m,
                  int64_t n,
                  int64_t k,
                  ConstMatrix a,
                  ConstMatrix b,
                  Matrix c,
                  int64_t alpha,
                  int64_t beta);
int64_t dot_integer(
    DType dtype, int64_t n, const void* x, int64_t x_stride, const void* y, int64_t y_stride);

inline ConstMatrix transposed(ConstMatrix a) { return {a.data, a.col_stride, a.row_stride}; }
inline ConstMatrix as_const(Matrix c) { return {c.data, c.row_stride, c.col_stride}; }
inline Matrix transposed(Matrix c) { return {c.data, c.col_stride, c.row_stride}; }

template <typename T>
ConstMatrix offset(ConstMatrix a, int64_t row, int64_t col) {
  return {static_cast<const T*>(a.data) + row * a.row_stride + col * a.col_stride, a.row_stride,
          a.col_stride};
}
template <typename T>
Matrix offset(Matrix c, int64_t row, int64_t col) {
  return {static_cast<T*>(c.data) + row * c.row_stride + col * c.col_stride, c.row_stride,
          c.col_stride};
}

}  // namespace mindtorch::cpu
