#include "simulator/ascend/ops/gemm.h"

#define SIM_CBLAS(name, C)                                                                \
  extern "C" void name(int order, int trans_a, int trans_b, int m, int n, int k, C alpha, \
                       const C* a, int lda, const C* b, int ldb, C beta, C* c, int ldc)
SIM_CBLAS(scipy_cblas_sgemm, float);
SIM_CBLAS(scipy_cblas_dgemm, double);
#undef SIM_CBLAS

namespace sim {
namespace {

template <class C, class F>
void product(
    F cblas, int64_t m, int64_t n, int64_t k, C alpha, const C* a, const C* b, C beta, C* c) {
  constexpr int kRowMajor = 101;
  constexpr int kNoTranspose = 111;
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (int64_t i = 0; i < m * n; ++i) c[i] *= beta;
    return;
  }
  cblas(kRowMajor, kNoTranspose, kNoTranspose, static_cast<int>(m), static_cast<int>(n),
        static_cast<int>(k), alpha, a, static_cast<int>(k), b, static_cast<int>(n), beta, c,
        static_cast<int>(n));
}

}  // namespace

void gemm(int64_t m,
          int64_t n,
          int64_t k,
          float alpha,
          const float* a,
          const float* b,
          float beta,
          float* c) {
  product(scipy_cblas_sgemm, m, n, k, alpha, a, b, beta, c);
}

void gemm(int64_t m,
          int64_t n,
          int64_t k,
          double alpha,
          const double* a,
          const double* b,
          double beta,
          double* c) {
  product(scipy_cblas_dgemm, m, n, k, alpha, a, b, beta, c);
}

std::vector<float> multiply_rows(const View& x, const View& weight, const View* bias) {
  std::vector<float> y = multiply(x, weight);
  if (bias != nullptr) {
    const auto row = load_all<float>(*bias);
    for (size_t i = 0; i < y.size(); ++i) y[i] += row[i % row.size()];
  }
  return y;
}

Shape product_shape(Planner& p, const Shape& a, const Shape& b, const char* names) {
  const size_t m = a.size() - 2;
  const size_t n = b.size() - 2;
  p.check(a[m + 1] == b[n], std::string(names) + " have shapes " + shape_text(a) + " and " +
                                shape_text(b) + ", which do not multiply");
  Shape shape = p.broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2), names);
  shape.push_back(a[m]);
  shape.push_back(b[n + 1]);
  return shape;
}

View matrix(const View& view, const Shape& batch, int64_t index) {
  Shape shape = batch;
  shape.insert(shape.end(), view.shape.end() - 2, view.shape.end());
  const View all = view.expand(shape);
  View one{view.data,
           view.dtype,
           {view.shape.end() - 2, view.shape.end()},
           {view.strides.end() - 2, view.strides.end()}};
  const View lead{nullptr, view.dtype, batch, {all.strides.begin(), all.strides.end() - 2}};
  one.data += lead.offset_of(index);
  return one;
}

}  // namespace sim
