// Least squares and the exponential of matrices.
#include <cmath>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/linalg_batch.h"
#include "mindtorch/backends/cpu/linalg/least_squares.h"
#include "mindtorch/backends/cpu/linalg/reflectors.h"
#include "mindtorch/ops/linalg_error.h"

namespace mindtorch::cpu {
namespace {

// --- least squares ---

// One of LAPACK's four ways, and the arrays it works in.
template <typename T>
struct LeastSquares {
  enum class Driver : uint8_t { kGels, kGelsy, kGelsd, kGelss };

  Driver driver;
  int m, n, columns;
  Real<T> rcond;
  Scratch<T> work{};
  int length = -1;  // of `work`; -1: LAPACK is asked for it
  Scratch<Real<T>> real_work{};
  Scratch<int> int_work{};

  int ldb() const { return leading(std::max(m, n)); }

  int run(T* a, T* b, Real<T>* s, int* rank, T* where) {
    switch (driver) {
      case Driver::kGels:
        return lapack::gels(m, n, columns, a, leading(m), b, ldb(), where, length);
      case Driver::kGelsy:
        std::fill_n(int_work.get(), n, 0);  // every column may move
        return lapack::gelsy(m, n, columns, a, leading(m), b, ldb(), int_work.get(), rcond, rank,
                             where, length, real_work.get());
      case Driver::kGelsd:
        return lapack::gelsd(m, n, columns, a, leading(m), b, ldb(), s, rcond, rank, where, length,
                             real_work.get(), int_work.get());
      case Driver::kGelss:
        return lapack::gelss(m, n, columns, a, leading(m), b, ldb(), s, rcond, rank, where, length,
                             real_work.get());
    }
    return 0;
  }

  void allocate() {
    T answer{};
    Real<T> real_answer{};
    int int_answer = 0;
    int rank = 0;
    const int64_t smaller = std::min(m, n);
    int64_t ints = n + 1;
    int64_t reals = std::max<int64_t>(5 * smaller, 2 * int64_t{n}) + 1;
    if (driver == Driver::kGelsy) {
      int_work.allocate(ints);
      real_work.allocate(reals);
      run(nullptr, nullptr, nullptr, &rank, &answer);
    } else if (driver == Driver::kGelsd) {
      if constexpr (kIsComplex<T>) {
        lapack::gelsd(m, n, columns, static_cast<T*>(nullptr), leading(m), nullptr, ldb(), nullptr,
                      rcond, &rank, &answer, -1, &real_answer, &int_answer);
        reals = std::max<int64_t>(reals, static_cast<int64_t>(real_answer));
      } else {
        lapack::gelsd(m, n, columns, static_cast<T*>(nullptr), leading(m), nullptr, ldb(), nullptr,
                      rcond, &rank, &answer, -1, nullptr, &int_answer);
      }
      int_work.allocate(std::max<int64_t>(int_answer, 1));
      real_work.allocate(reals);
    } else {
      run(nullptr, nullptr, nullptr, &rank, &answer);
      real_work.allocate(reals);
    }
    length = work_length(answer);
    work.allocate(length);
  }
};

template <typename T>
typename LeastSquares<T>::Driver driver_of(std::string_view name) {
  using Driver = typename LeastSquares<T>::Driver;
  return name == "gels"    ? Driver::kGels
         : name == "gelsy" ? Driver::kGelsy
         : name == "gelsd" ? Driver::kGelsd
                           : Driver::kGelss;
}

void lstsq(ops::Launch&,
           const Tensor& A,
           const Tensor& B,
           double rcond,
           std::string_view driver,
           Tensor& solution,
           Tensor& rank,
           Tensor& singular_values) {
  const int m = rows_of(A);
  const int n = columns_of(A);
  Tensor a = Tensor::make_strided(A.sizes(), ops::column_major_strides(A.sizes()), A.dtype());
  copy(A, a);
  // B is in the upper part of the solution's memory.
  Shape sizes = B.sizes();
  copy(B, solution.alias(sizes, solution.strides(), solution.storage_offset()));
  const int64_t count = count_matrices(A);
  const Scratch<int32_t> info(count);
  const bool has_rank = driver != "gels";
  const bool has_values = driver == "gelsd" || driver == "gelss";
  visit_lapack(A.dtype(), [&]<typename T>() {
    const int columns = columns_of(B);
    const bool is_ours = driver == "gelsy" && linalg::has_fast_solution(m, n, columns);
    for_large_matrices(count, 2.0 * m * n * (n + columns), [&](int64_t begin, int64_t end) {
      LeastSquares<T> solver{driver_of<T>(driver), m, n, columns, static_cast<Real<T>>(rcond)};
      solver.allocate();
      for (int64_t i = begin; i < end; ++i) {
        int found = 0;
        if constexpr (!kIsComplex<T>) {
          if (is_ours &&
              linalg::solve_independent(m, n, columns, matrix_at<T>(a, i),
                                        matrix_at<T>(solution, i), solver.ldb(), solver.rcond)) {
            info.get()[i] = 0;
            rank.data<int64_t>()[i] = n;
            continue;
          }
        }
        info.get()[i] = solver.run(matrix_at<T>(a, i), matrix_at<T>(solution, i),
                                   has_values ? vector_at<Real<T>>(singular_values, i) : nullptr,
                                   &found, solver.work.get());
        if (has_rank) rank.data<int64_t>()[i] = found;
      }
    });
  });
  ops::check_linalg_infos({info.get(), static_cast<size_t>(count)}, "torch.linalg.lstsq",
                          A.dim() > 2);
}

// --- the exponential ---

template <typename T>
void multiply(DType dtype, int n, const T* a, const T* b, T* c) {
  gemm(dtype, n, n, n, {a, 1, n}, {b, 1, n}, {c, 1, n}, kOneFactor, kZeroFactor);
}

// The largest sum of absolute values in a column.
template <typename T>
double one_norm(const T* a, int64_t n) {
  double largest = 0;
  for (int64_t column = 0; column < n; ++column) {
    double sum = 0;
    for (int64_t row = 0; row < n; ++row) sum += std::abs(a[column * n + row]);
    if (!(sum <= largest)) largest = sum;  // a NaN stays
  }
  return largest;
}

// Higham's scaling and squaring: the quotient of polynomials of degree 13 is exact to float64 up to
// a norm of 5.4.
template <typename T>
void exponential(DType dtype, int order, const T* from, T* out) {
  constexpr double kLargestNorm = 5.371920351148152;
  constexpr double kTerms[] = {64764752532480000,
                               32382376266240000,
                               7771770303897600,
                               1187353796428800,
                               129060195264000,
                               10559470521600,
                               670442572800,
                               33522128640,
                               1323241920,
                               40840800,
                               960960,
                               16380,
                               182,
                               1};
  const int64_t n = order;
  const int64_t size = n * n;
  const double norm = one_norm(from, n);
  int squarings = 0;
  if (std::isfinite(norm) && norm > kLargestNorm) {
    squarings = static_cast<int>(std::ceil(std::log2(norm / kLargestNorm)));
  }
  const Scratch<T> memory(6 * size);
  T* const a = memory.get();
  T* const a2 = a + size;
  T* const a4 = a2 + size;
  T* const a6 = a4 + size;
  T* const odd = a6 + size;
  T* const even = odd + size;
  const auto scale = static_cast<Real<T>>(std::ldexp(1.0, -squarings));
  for (int64_t i = 0; i < size; ++i) a[i] = from[i] * scale;
  multiply(dtype, order, a, a, a2);
  multiply(dtype, order, a2, a2, a4);
  multiply(dtype, order, a4, a2, a6);
  // sum of `first` .. first + 6 in steps of 2, by powers of a2; the first is the identity's.
  const auto sum_terms = [&](int first, bool with_identity, T* to) {
    const auto term = [&](int i) { return static_cast<Real<T>>(kTerms[i]); };
    for (int64_t i = 0; i < size; ++i) {
      to[i] = a2[i] * term(first + 2) + a4[i] * term(first + 4) + a6[i] * term(first + 6);
    }
    for (int64_t i = 0; with_identity && i < n; ++i) to[i * n + i] += term(first);
  };
  sum_terms(7, false, odd);
  multiply(dtype, order, a6, odd, out);
  sum_terms(1, true, odd);
  for (int64_t i = 0; i < size; ++i) odd[i] += out[i];
  multiply(dtype, order, a, odd, out);  // the odd terms
  std::copy_n(out, size, odd);
  sum_terms(6, false, even);
  multiply(dtype, order, a6, even, out);
  sum_terms(0, true, even);
  for (int64_t i = 0; i < size; ++i) {
    const T whole = even[i] + out[i];
    out[i] = whole + odd[i];
    even[i] = whole - odd[i];
  }
  const Scratch<int> pivots(n);
  lapack::getrf(order, order, even, order, pivots.get());
  lapack::getrs(lapack::Op::kNone, order, order, even, order, pivots.get(), out, order);
  for (int i = 0; i < squarings; ++i) {
    multiply(dtype, order, out, out, a);
    std::copy_n(a, size, out);
  }
}

void matrix_exp(ops::Launch&, const Tensor& self, Tensor& out) {
  if (out.numel() == 0) return;
  const int n = rows_of(out);
  // The exponential of a transpose is the transpose: rows serve as well as columns.
  const Tensor from = row_major(self);
  visit_lapack(out.dtype(), [&]<typename T>() {
    for_matrices(count_matrices(out), 8 * cube(n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        exponential(out.dtype(), n, matrix_at<T>(from, i), matrix_at<T>(out, i));
      }
    });
  });
}

}  // namespace

void register_linalg_lstsq(ops::Registry& registry) {
  registry.kernel<lstsq>(DeviceType::kCpu, "_linalg_lstsq").takes(kAllOrComplex);
  registry.kernel<matrix_exp>(DeviceType::kCpu, "_linalg_matrix_exp").takes(kAllOrComplex);
}

}  // namespace mindtorch::cpu
