#pragma once

#include <vector>

#include "simulator/ascend/ops/loops.h"

namespace sim {

// c[m,n] = alpha * a[m,k] @ b[k,n] + beta * c, all row-major and contiguous.
void gemm(int64_t m,
          int64_t n,
          int64_t k,
          float alpha,
          const float* a,
          const float* b,
          float beta,
          float* c);

void gemm(int64_t m,
          int64_t n,
          int64_t k,
          double alpha,
          const double* a,
          const double* b,
          double beta,
          double* c);

// The product of two matrices of any layout, computed in C: float, or double, which holds sums of
// products of small integers exactly.
template <class C = float>
std::vector<C> multiply(const View& a, const View& b) {
  const int64_t m = a.size(0);
  const int64_t k = a.size(1);
  const int64_t n = b.size(1);
  std::vector<C> result(static_cast<size_t>(m * n));
  gemm(m, n, k, C{1}, load_all<C>(a).data(), load_all<C>(b).data(), C{0}, result.data());
  return result;
}

// x @ weight + bias; `bias` may be null.
std::vector<float> multiply_rows(const View& x, const View& weight, const View* bias);

// Shape of a product of matrices, the leading dims broadcast.
Shape product_shape(Planner& p, const Shape& a, const Shape& b, const char* names);

// Matrix number `index` of a view of shape [..., m, n], broadcast to `batch` first.
View matrix(const View& view, const Shape& batch, int64_t index);

// The last two dims exchanged, if `transpose`.
inline Shape turned(Shape shape, bool transpose) {
  if (transpose) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}
inline View turned(const View& view, bool transpose) {
  if (!transpose) return view;
  View result = view;
  std::swap(result.shape[result.shape.size() - 1], result.shape[result.shape.size() - 2]);
  std::swap(result.strides[result.strides.size() - 1], result.strides[result.strides.size() - 2]);
  return result;
}

}  // namespace sim
