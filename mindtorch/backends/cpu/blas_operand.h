#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/openblas.h"
#include "mindtorch/backends/cpu/transpose.h"

// Matrices of float and double as OpenBLAS takes them.
namespace mindtorch::cpu {

// OpenBLAS counts in 32 bits; longer dimensions are taken in pieces of this size.
inline constexpr int64_t kLargestSize = int64_t{1} << 30;
// Elements of a vector or matrix that are worth a thread when each is used once.
inline constexpr int64_t kVectorGrain = int64_t{1} << 16;

inline void blas_gemm(int ta,
                      int tb,
                      int m,
                      int n,
                      int k,
                      float alpha,
                      const float* a,
                      int lda,
                      const float* b,
                      int ldb,
                      float beta,
                      float* c,
                      int ldc) {
  scipy_cblas_sgemm(kRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
inline void blas_gemm(int ta,
                      int tb,
                      int m,
                      int n,
                      int k,
                      double alpha,
                      const double* a,
                      int lda,
                      const double* b,
                      int ldb,
                      double beta,
                      double* c,
                      int ldc) {
  scipy_cblas_dgemm(kRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
inline void blas_gemv(int trans,
                      int m,
                      int n,
                      float alpha,
                      const float* a,
                      int lda,
                      const float* x,
                      int incx,
                      float* y,
                      int incy) {
  scipy_cblas_sgemv(kRowMajor, trans, m, n, alpha, a, lda, x, incx, 1.0f, y, incy);
}
inline void blas_gemv(int trans,
                      int m,
                      int n,
                      double alpha,
                      const double* a,
                      int lda,
                      const double* x,
                      int incx,
                      double* y,
                      int incy) {
  scipy_cblas_dgemv(kRowMajor, trans, m, n, alpha, a, lda, x, incx, 1.0, y, incy);
}
inline float blas_dot(int n, const float* x, int incx, const float* y, int incy) {
  return scipy_cblas_sdot(n, x, incx, y, incy);
}
inline double blas_dot(int n, const double* x, int incx, const double* y, int incy) {
  return scipy_cblas_ddot(n, x, incx, y, incy);
}

// A matrix as BLAS takes it: rows, or columns when `trans`, are contiguous and `ld` elements apart.
template <typename T>
struct Operand {
  const T* data;
  bool trans;
  int64_t ld;

  const T* at(int64_t row, int64_t col) const {
    return trans ? data + col * ld + row : data + row * ld + col;
  }
  int order() const { return trans ? kTrans : kNoTrans; }
};

// Whether rows of `cols` elements can be given to BLAS as they lie. A stride that is never taken,
// or taken within a single element, counts for nothing.
inline bool has_contiguous_rows(int64_t rows,
                                int64_t cols,
                                int64_t row_stride,
                                int64_t col_stride) {
  const bool unit = col_stride == 1 || cols == 1;
  const bool apart = row_stride >= std::max<int64_t>(cols, 1) || rows == 1;
  return unit && apart && (rows == 1 || row_stride <= INT_MAX) && cols <= INT_MAX;
}
inline int64_t leading_dimension(int64_t rows, int64_t cols, int64_t row_stride) {
  return rows == 1 ? std::max<int64_t>(cols, 1) : row_stride;
}

template <typename T>
void copy_matrix(int64_t rows, int64_t cols, ConstMatrix from, Matrix to) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const int64_t shape[] = {rows, cols};
  const int64_t from_strides[] = {from.row_stride * kSize, from.col_stride * kSize};
  const int64_t to_strides[] = {to.row_stride * kSize, to.col_stride * kSize};
  copy_strided(kSize, shape, 2, from.data, from_strides, to.data, to_strides);
}

// `packed` holds the matrix when its strides are none that BLAS knows.
template <typename T>
Operand<T> as_operand(int64_t rows, int64_t cols, ConstMatrix a, Scratch<T>& packed) {
  const T* data = static_cast<const T*>(a.data);
  if (has_contiguous_rows(rows, cols, a.row_stride, a.col_stride)) {
    return {data, false, leading_dimension(rows, cols, a.row_stride)};
  }
  if (has_contiguous_rows(cols, rows, a.col_stride, a.row_stride)) {
    return {data, true, leading_dimension(cols, rows, a.col_stride)};
  }
  packed.allocate(rows * cols);
  if (cols <= INT_MAX) {
    copy_matrix<T>(rows, cols, a, {packed.get(), cols, 1});
    return {packed.get(), false, cols};
  }
  copy_matrix<T>(rows, cols, a, {packed.get(), 1, rows});
  return {packed.get(), true, rows};
}

}  // namespace mindtorch::cpu
