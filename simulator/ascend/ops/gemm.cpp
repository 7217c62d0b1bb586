#include "simulator/ascend/ops/gemm.h"

#include <algorithm>

#define SIM_CBLAS(name, C)                                                                \
  extern "C" void name(int order, int trans_a, int trans_b, int m, int n, int k, C alpha, \
                       const C* a, int lda, const C* b, int ldb, C beta, C* c, int ldc)
SIM_CBLAS(scipy_cblas_sgemm, float);
SIM_CBLAS(scipy_cblas_dgemm, double);
#undef SIM_CBLAS
extern "C" int scipy_openblas_get_num_threads(void);

namespace sim {
namespace {

struct Block {
  int64_t m;
  int64_t n;
  int64_t k;
};

// In which blocks a product is computed. OpenBLAS wakes its threads for all but little ones, which
// costs more than they save, and on a machine with busy cores a thousand times more. So a product
// of medium size is given to it in blocks that it computes on the calling thread.
Block block_of(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kOneThread = int64_t{1} << 18;  // multiplications
  constexpr int64_t kMedium = int64_t{1} << 24;
  const bool little = m * n <= kOneThread / k;
  if (little || m * n > kMedium / k || scipy_openblas_get_num_threads() == 1) return {m, n, k};
  Block block{std::min<int64_t>(m, 64), std::min<int64_t>(n, 64), 0};
  block.k = std::min(k, kOneThread / (block.m * block.n));
  block.n = std::min(n, kOneThread / (block.m * block.k));
  return block;
}

template <class C, class F>
void product(
    F cblas, int64_t m, int64_t n, int64_t k, C alpha, const C* a, const C* b, C beta, C* c) {
  constexpr int kRowMajor = 101;
  constexpr int kNoTranspose = 111;
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (int64_t i = 0; i < m * n; ++i) c[i] = beta == C{0} ? C{0} : c[i] * beta;
    return;
  }
  const auto block = [&](int64_t i, int64_t j, int64_t l, const Block& size) {
    cblas(kRowMajor, kNoTranspose, kNoTranspose, static_cast<int>(std::min(size.m, m - i)),
          static_cast<int>(std::min(size.n, n - j)), static_cast<int>(std::min(size.k, k - l)),
          alpha, a + i * k + l, static_cast<int>(k), b + l * n + j, static_cast<int>(n),
          l == 0 ? beta : C{1}, c + i * n + j, static_cast<int>(n));
  };
  const Block size = block_of(m, n, k);
  for (int64_t i = 0; i < m; i += size.m) {
    for (int64_t j = 0; j < n; j += size.n) {
      for (int64_t l = 0; l < k; l += size.k) block(i, j, l, size);
    }
  }
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
