#include "simulator/ascend/ops/gemm.h"

extern "C" void scipy_cblas_sgemm(int order,
                                  int trans_a,
                                  int trans_b,
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
                                  int ldc);

namespace sim {

void gemm(int64_t m,
          int64_t n,
          int64_t k,
          float alpha,
          const float* a,
          const float* b,
          float beta,
          float* c) {
  constexpr int kRowMajor = 101;
  constexpr int kNoTranspose = 111;
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (int64_t i = 0; i < m * n; ++i) c[i] *= beta;
    return;
  }
  scipy_cblas_sgemm(kRowMajor, kNoTranspose, kNoTranspose, static_cast<int>(m), static_cast<int>(n),
                    static_cast<int>(k), alpha, a, static_cast<int>(k), b, static_cast<int>(n),
                    beta, c, static_cast<int>(n));
}

std::vector<float> multiply(const View& a, const View& b) {
  const int64_t m = a.size(0);
  const int64_t k = a.size(1);
  const int64_t n = b.size(1);
  std::vector<float> result(static_cast<size_t>(m * n));
  gemm(m, n, k, 1, load_all<float>(a).data(), load_all<float>(b).data(), 0, result.data());
  return result;
}

}  // namespace sim
