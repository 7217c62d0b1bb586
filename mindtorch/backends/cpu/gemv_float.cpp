#include <algorithm>
#include <climits>

#include "mindtorch/backends/cpu/blas_operand.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu {

template <typename T>
void gemv_float(int64_t m,
                int64_t k,
                ConstMatrix a,
                const T* x,
                int64_t x_stride,
                T* y,
                int64_t y_stride,
                T alpha,
                T beta) {
  if (m == 1 && beta == 0) {
    y[0] = alpha * dot_float(k, static_cast<const T*>(a.data), a.col_stride, x, x_stride);
    return;
  }
  Scratch<T> packed_a;
  Scratch<T> packed_x;
  Scratch<T> result;
  const Operand<T> matrix = as_operand(m, k, a, packed_a);
  if (x_stride <= 0 || x_stride > INT_MAX) {
    packed_x.allocate(k);
    copy_matrix<T>(1, k, {x, 1, x_stride}, {packed_x.get(), 1, 1});
    x = packed_x.get();
    x_stride = 1;
  }
  // OpenBLAS may read y even when it does not count, so beta is applied here.
  T* sums = y;
  int64_t step = y_stride;
  if (y_stride <= 0 || y_stride > INT_MAX) {
    result.allocate(m);
    sums = result.get();
    step = 1;
    if (beta != 0) copy_matrix<T>(m, 1, {y, y_stride, 1}, {sums, 1, 1});
  }
  for (int64_t i = 0; i < m && beta != 1; ++i)
    sums[i * step] = beta == 0 ? 0 : beta * sums[i * step];

  parallel_for(0, m, ceil_div(kVectorGrain, k), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kLargestSize) {
      const auto rows = static_cast<int>(std::min(end - i, kLargestSize));
      for (int64_t l = 0; l < k; l += kLargestSize) {
        const auto terms = static_cast<int>(std::min(k - l, kLargestSize));
        // In BLAS's eyes a transposed matrix has as many rows as there are terms.
        blas_gemv(matrix.order(), matrix.trans ? terms : rows, matrix.trans ? rows : terms, alpha,
                  matrix.at(i, l), static_cast<int>(matrix.ld), x + l * x_stride,
                  static_cast<int>(x_stride), sums + i * step, static_cast<int>(step));
      }
    }
  });
  if (sums != y) copy_matrix<T>(m, 1, {sums, 1, 1}, {y, y_stride, 1});
}

template <typename T>
T dot_float(int64_t n, const T* x, int64_t x_stride, const T* y, int64_t y_stride) {
  if (x_stride < 0 || x_stride > INT_MAX || y_stride < 0 || y_stride > INT_MAX) {
    T sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i * x_stride] * y[i * y_stride];
    return sum;
  }
  // The same pieces on any number of threads, so that the sum does not depend on it.
  constexpr int64_t kPiece = int64_t{1} << 18;
  const auto piece = [&](int64_t i) {
    const int64_t begin = i * kPiece;
    return blas_dot(static_cast<int>(std::min(n - begin, kPiece)), x + begin * x_stride,
                    static_cast<int>(x_stride), y + begin * y_stride, static_cast<int>(y_stride));
  };
  if (n <= kPiece) return n == 0 ? T{0} : piece(0);
  const int64_t pieces = ceil_div(n, kPiece);
  Scratch<T> sums(pieces);
  parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sums.get()[i] = piece(i);
  });
  T sum = 0;
  for (int64_t i = 0; i < pieces; ++i) sum += sums.get()[i];
  return sum;
}

template void gemv_float(
    int64_t, int64_t, ConstMatrix, const float*, int64_t, float*, int64_t, float, float);
template void gemv_float(
    int64_t, int64_t, ConstMatrix, const double*, int64_t, double*, int64_t, double, double);
template float dot_float(int64_t, const float*, int64_t, const float*, int64_t);
template double dot_float(int64_t, const double*, int64_t, const double*, int64_t);

}  // namespace mindtorch::cpu
