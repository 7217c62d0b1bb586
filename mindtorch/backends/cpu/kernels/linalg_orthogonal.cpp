// Orthogonal factors, and products with them.
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/linalg_batch.h"
#include "mindtorch/backends/cpu/linalg/reflectors.h"

namespace mindtorch::cpu {
namespace {

using lapack::Op;
using lapack::Side;

// Fewer columns are as fast in LAPACK.
bool has_blocks(int64_t columns) { return columns >= 8; }

// R's triangle from the first rows of what geqrf leaves, which may lie in the same memory.
template <typename T>
void take_upper(const T* factored, int64_t m, int64_t rows, int64_t n, T* r) {
  for (int64_t column = 0; column < n; ++column) {
    const int64_t filled = std::min(column + 1, rows);
    if (r != factored) std::copy_n(factored + column * m, filled, r + column * rows);
    std::fill_n(r + column * rows + filled, rows - filled, T{});
  }
}

// LAPACK's geqrf, with its work array where that is needed.
template <typename T>
class QrFactors {
 public:
  QrFactors(int m, int n) : m_(m), n_(n) {
    if (is_ours()) return;
    T answer{};
    lapack::geqrf(m, n, static_cast<T*>(nullptr), leading(m), nullptr, &answer, -1);
    length_ = work_length(answer);
    work_.allocate(length_);
  }
  void run(T* a, T* tau) const {
    if constexpr (!kIsComplex<T>) {
      if (is_ours()) return linalg::Reflectors<T>::factor(m_, n_, a, m_, tau);
    }
    lapack::geqrf(m_, n_, a, leading(m_), tau, work_.get(), length_);
  }

 private:
  bool is_ours() const { return !kIsComplex<T> && has_blocks(std::min(m_, n_)); }

  int m_;
  int n_;
  int length_ = 0;
  Scratch<T> work_;
};

// LAPACK's orgqr: the reflectors in the first k of n columns of `a` become those of Q.
template <typename T>
class QrColumns {
 public:
  QrColumns(int m, int n, int k) : m_(m), n_(n), k_(k) {
    if (is_ours()) return;
    T answer{};
    lapack::orgqr(m, n, k, static_cast<T*>(nullptr), leading(m), nullptr, &answer, -1);
    length_ = work_length(answer);
    work_.allocate(length_);
  }
  void run(T* a, const T* tau) const {
    if constexpr (!kIsComplex<T>) {
      if (is_ours()) {
        return linalg::Reflectors<T>(m_, k_, {a, 1, m_}, tau).make({a, 1, m_}, n_);
      }
    }
    lapack::orgqr(m_, n_, k_, a, leading(m_), tau, work_.get(), length_);
  }

 private:
  bool is_ours() const { return !kIsComplex<T> && has_blocks(k_); }

  int m_;
  int n_;
  int k_;
  int length_ = 0;
  Scratch<T> work_;
};

void qr(ops::Launch&, const Tensor& A, std::string_view mode, Tensor& q, Tensor& r) {
  const int m = rows_of(A);
  const int n = columns_of(A);
  const int k = std::min(m, n);
  const bool makes_q = mode != "r";
  const int q_columns = makes_q ? columns_of(q) : 0;
  // A is factored where Q will be, or R, if one of them has room for it.
  const bool in_q = makes_q && q_columns >= n;
  const bool in_r = !in_q && rows_of(r) == m;
  Tensor apart;
  if (!in_q && !in_r) {
    apart = Tensor::make_strided(A.sizes(), ops::column_major_strides(A.sizes()), A.dtype());
  }
  const Tensor& factored = in_q ? q : in_r ? r : apart;
  copy(A, factored.alias(A.sizes(), factored.strides(), factored.storage_offset()));
  visit_lapack(A.dtype(), [&]<typename T>() {
    for_large_matrices(count_matrices(A), 2.0 * m * n * k, [&](int64_t begin, int64_t end) {
      const QrFactors<T> factors(m, n);
      const QrColumns<T> columns(m, q_columns, k);
      const Scratch<T> tau(k);
      for (int64_t i = begin; i < end; ++i) {
        T* const a = matrix_at<T>(factored, i);
        T* const factor = makes_q ? matrix_at<T>(q, i) : nullptr;
        factors.run(a, tau.get());
        if (makes_q && !in_q) std::copy_n(a, int64_t{m} * k, factor);
        take_upper(a, m, r.size(-2), n, matrix_at<T>(r, i));
        if (!makes_q) continue;
        std::fill_n(factor + int64_t{m} * k, int64_t{m} * (q_columns - k), T{});
        columns.run(factor, tau.get());
      }
    });
  });
}

void geqrf(ops::Launch&, const Tensor& self, Tensor& factored, Tensor& tau) {
  copy(self, factored);
  const int m = rows_of(factored);
  const int n = columns_of(factored);
  visit_lapack(factored.dtype(), [&]<typename T>() {
    for_large_matrices(count_matrices(factored), 1.0 * m * n * n, [&](int64_t begin, int64_t end) {
      const QrFactors<T> factors(m, n);
      for (int64_t i = begin; i < end; ++i) {
        factors.run(matrix_at<T>(factored, i), vector_at<T>(tau, i));
      }
    });
  });
}

void householder_product(ops::Launch&, const Tensor& input, const Tensor& tau, Tensor& out) {
  copy(input, out);
  const Tensor factors = row_major(tau);
  const int m = rows_of(out);
  const int n = columns_of(out);
  const int k = columns_of(factors);
  visit_lapack(out.dtype(), [&]<typename T>() {
    for_large_matrices(count_matrices(out), 1.0 * m * n * k, [&](int64_t begin, int64_t end) {
      const QrColumns<T> columns(m, n, k);
      for (int64_t i = begin; i < end; ++i) {
        columns.run(matrix_at<T>(out, i), vector_at<T>(factors, i));
      }
    });
  });
}

void ormqr(ops::Launch&,
           const Tensor& self,
           const Tensor& tau,
           const Tensor& other,
           bool left,
           bool transpose,
           Tensor& out) {
  copy(other, out);
  const Tensor reflectors = column_major(self);
  const Tensor factors = row_major(tau);
  const int m = rows_of(out);
  const int n = columns_of(out);
  const int k = columns_of(factors);
  visit_lapack(out.dtype(), [&]<typename T>() {
    const Side side = left ? Side::kLeft : Side::kRight;
    const Op op = !transpose ? Op::kNone : kIsComplex<T> ? Op::kAdjoint : Op::kTranspose;
    const int ld = leading(rows_of(reflectors));
    T answer{};
    lapack::ormqr(side, op, m, n, k, static_cast<const T*>(nullptr), ld, nullptr, nullptr,
                  leading(m), &answer, -1);
    const int length = work_length(answer);
    for_large_matrices(count_matrices(out), 2.0 * m * n * k, [&](int64_t begin, int64_t end) {
      const Scratch<T> work(length);
      for (int64_t i = begin; i < end; ++i) {
        const T* const vectors = matrix_at<T>(reflectors, i);
        T* const c = matrix_at<T>(out, i);
        if constexpr (!kIsComplex<T>) {
          if (has_blocks(k)) {  // C Q is the transpose of Q' C'
            linalg::Reflectors<T>(left ? m : n, k, {vectors, 1, ld}, vector_at<T>(factors, i))
                .apply(transpose == left, left ? Matrix{c, 1, m} : Matrix{c, m, 1}, left ? n : m);
            continue;
          }
        }
        lapack::ormqr(side, op, m, n, k, vectors, ld, vector_at<T>(factors, i), c, leading(m),
                      work.get(), length);
      }
    });
  });
}

}  // namespace

void register_linalg_orthogonal(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<qr>(kCpu, "_linalg_qr").takes(kAllOrComplex);
  registry.kernel<geqrf>(kCpu, "_linalg_geqrf").takes(kAllOrComplex);
  registry.kernel<householder_product>(kCpu, "_linalg_householder_product").takes(kAllOrComplex);
  registry.kernel<ormqr>(kCpu, "_linalg_ormqr").takes(kAllOrComplex);
}

}  // namespace mindtorch::cpu
