// Products of complex matrices, by OpenBLAS.
#include <complex>
#include <vector>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/openblas.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kRowGrain = int64_t{1} << 18;  // multiplications a thread should get at least

// A matrix as BLAS takes it: one of the strides is 1.
template <typename T>
struct Operand {
  const T* data = nullptr;
  int64_t leading = 0;
  int trans = kNoTrans;
  std::vector<T> packed{};

  Operand(ConstMatrix m, int64_t rows, int64_t cols) : data(static_cast<const T*>(m.data)) {
    if (m.col_stride == 1 && m.row_stride >= cols) {
      leading = m.row_stride;
    } else if (m.row_stride == 1 && m.col_stride >= rows) {
      leading = m.col_stride;
      trans = kTrans;
    } else {
      packed.resize(static_cast<size_t>(rows * cols));
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) {
          packed[static_cast<size_t>(r * cols + c)] = data[r * m.row_stride + c * m.col_stride];
        }
      }
      data = packed.data();
      leading = cols;
    }
    leading = std::max<int64_t>(leading, 1);
  }
  const T* row(int64_t r) const { return trans == kNoTrans ? data + r * leading : data + r; }
};

void multiply_complex(int trans_a,
                      int trans_b,
                      int m,
                      int n,
                      int k,
                      const std::complex<float>& alpha,
                      const std::complex<float>* a,
                      int lda,
                      const std::complex<float>* b,
                      int ldb,
                      const std::complex<float>& beta,
                      std::complex<float>* c,
                      int ldc) {
  scipy_cblas_cgemm(kRowMajor, trans_a, trans_b, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}
void multiply_complex(int trans_a,
                      int trans_b,
                      int m,
                      int n,
                      int k,
                      const std::complex<double>& alpha,
                      const std::complex<double>* a,
                      int lda,
                      const std::complex<double>* b,
                      int ldb,
                      const std::complex<double>& beta,
                      std::complex<double>* c,
                      int ldc) {
  scipy_cblas_zgemm(kRowMajor, trans_a, trans_b, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}

}  // namespace

template <typename T>
void gemm_complex(int64_t m,
                  int64_t n,
                  int64_t k,
                  ConstMatrix a,
                  ConstMatrix b,
                  Matrix c,
                  std::complex<T> alpha,
                  std::complex<T> beta) {
  using C = std::complex<T>;
  if (c.col_stride != 1 && c.row_stride == 1) {  // the transposed product has rows
    return gemm_complex<T>(n, m, k, transposed(b), transposed(a),
                           {c.data, c.col_stride, c.row_stride}, alpha, beta);
  }
  const Operand<C> left(a, m, k);
  const Operand<C> right(b, k, n);
  C* const out = static_cast<C*>(c.data);
  std::vector<C> rows;  // where the columns of c lie apart
  if (c.col_stride != 1) {
    rows.resize(static_cast<size_t>(m * n));
    for (int64_t i = 0; beta != C{} && i < m * n; ++i) {
      rows[static_cast<size_t>(i)] = out[i / n * c.row_stride + i % n * c.col_stride];
    }
  }
  C* const to = rows.empty() ? out : rows.data();
  const int64_t step = rows.empty() ? std::max(c.row_stride, n) : n;
  parallel_for(0, m, std::max<int64_t>(1, kRowGrain / (n * k)), [&](int64_t begin, int64_t end) {
    multiply_complex(left.trans, right.trans, static_cast<int>(end - begin), static_cast<int>(n),
                     static_cast<int>(k), alpha, left.row(begin), static_cast<int>(left.leading),
                     right.data, static_cast<int>(right.leading), beta, to + begin * step,
                     static_cast<int>(step));
  });
  for (int64_t i = 0; !rows.empty() && i < m * n; ++i) {
    out[i / n * c.row_stride + i % n * c.col_stride] = rows[static_cast<size_t>(i)];
  }
}

template void gemm_complex<float>(int64_t,
                                  int64_t,
                                  int64_t,
                                  ConstMatrix,
                                  ConstMatrix,
                                  Matrix,
                                  std::complex<float>,
                                  std::complex<float>);
template void gemm_complex<double>(int64_t,
                                   int64_t,
                                   int64_t,
                                   ConstMatrix,
                                   ConstMatrix,
                                   Matrix,
                                   std::complex<double>,
                                   std::complex<double>);

}  // namespace mindtorch::cpu
