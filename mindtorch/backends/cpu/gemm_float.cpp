#include <algorithm>

#include "mindtorch/backends/cpu/blas_operand.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/product/product.h"

namespace mindtorch::cpu {
namespace {

// c = alpha * x @ y + beta * c for a column x and a row y: bound by writing c.
template <typename T>
void outer_product(int64_t m, int64_t n, ConstMatrix x, ConstMatrix y, Matrix c, T alpha, T beta) {
  Scratch<T> row;
  const T* factors = static_cast<const T*>(y.data);
  if (y.col_stride != 1) {
    row.allocate(n);
    copy_matrix<T>(1, n, y, {row.get(), 1, 1});
    factors = row.get();
  }
  parallel_for(0, m, ceil_div(kVectorGrain, n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T factor = alpha * static_cast<const T*>(x.data)[i * x.row_stride];
      T* to = static_cast<T*>(c.data) + i * c.row_stride;
      if (beta == 0) {
        for (int64_t j = 0; j < n; ++j) to[j] = factor * factors[j];
      } else {
        for (int64_t j = 0; j < n; ++j) to[j] = factor * factors[j] + beta * to[j];
      }
    }
  });
}

}  // namespace

template <typename T>
void gemm_float(
    int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c, T alpha, T beta) {
  if (k == 1 && c.col_stride == 1) return outer_product(m, n, a, b, c, alpha, beta);
  const ConstMatrix addend = beta == 0 ? ConstMatrix{nullptr, 0, 0} : as_const(c);
  product::multiply<T>({1, m, n, k, a, 0, b, 0, c, 0, addend, 0, alpha, beta});
}

template void gemm_float(int64_t, int64_t, int64_t, ConstMatrix, ConstMatrix, Matrix, float, float);
template void gemm_float(
    int64_t, int64_t, int64_t, ConstMatrix, ConstMatrix, Matrix, double, double);

}  // namespace mindtorch::cpu
