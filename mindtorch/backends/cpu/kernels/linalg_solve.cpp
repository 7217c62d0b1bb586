// Factors of square matrices, and what is solved by them.
#include <cmath>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/linalg_batch.h"
#include "mindtorch/backends/cpu/linalg/factor.h"
#include "mindtorch/backends/cpu/linalg/pieces.h"
#include "mindtorch/backends/cpu/linalg/triangle.h"
#include "mindtorch/ops/linalg_checks.h"
#include "mindtorch/ops/linalg_error.h"

namespace mindtorch::cpu {
namespace {

using lapack::Diagonal;
using lapack::Op;
using lapack::Side;
using lapack::Triangle;
using Name = std::optional<std::string_view>;

void check(const Tensor& info, Name name) {
  ops::check_linalg_infos({info.data<int32_t>(), static_cast<size_t>(info.numel())}, name,
                          info.dim() > 0);
}

// Factors the matrices of `lu` in place.
template <typename T>
void factor(const Tensor& lu, const Tensor& pivots, int32_t* info) {
  const int m = rows_of(lu);
  const int n = columns_of(lu);
  for_large_matrices(count_matrices(lu), cube(std::min(m, n)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int failed =
          linalg::factor_lu(m, n, matrix_at<T>(lu, i), leading(m), vector_at<int32_t>(pivots, i));
      if (info != nullptr) info[i] = failed;
    }
  });
}

void lu_factor(
    ops::Launch&, const Tensor& A, Name checked_as, Tensor& lu, Tensor& pivots, Tensor& info) {
  copy(A, lu);
  visit_lapack(lu.dtype(), [&]<typename T>() { factor<T>(lu, pivots, info.data<int32_t>()); });
  check(info, checked_as);
}

void inv(ops::Launch&, const Tensor& A, Name checked_as, Tensor& inverse, Tensor& info) {
  copy(A, inverse);
  const int n = rows_of(inverse);
  visit_lapack(inverse.dtype(), [&]<typename T>() {
    const auto invert = [&](int64_t begin, int64_t end) {
      const Scratch<int> pivots(n);
      const Scratch<T> lu(int64_t{n} * n);
      for (int64_t i = begin; i < end; ++i) {
        T* const a = matrix_at<T>(inverse, i);
        std::copy_n(a, int64_t{n} * n, lu.get());
        const int failed = linalg::factor_lu(n, n, lu.get(), leading(n), pivots.get());
        if (failed == 0) linalg::invert_lu(n, lu.get(), pivots.get(), a);
        info.data<int32_t>()[i] = failed;
      }
    };
    for_large_matrices(count_matrices(inverse), 2 * cube(n), invert);
  });
  check(info, checked_as);
}

void cholesky(
    ops::Launch&, const Tensor& self, bool upper, Name checked_as, Tensor& factor, Tensor& info) {
  copy(self, factor);
  const int n = rows_of(factor);
  visit_lapack(factor.dtype(), [&]<typename T>() {
    for_large_matrices(count_matrices(factor), cube(n) / 3, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* const a = matrix_at<T>(factor, i);
        info.data<int32_t>()[i] =
            linalg::factor_cholesky(upper ? Triangle::kUpper : Triangle::kLower, n, a, leading(n));
        for (int64_t column = 0; column < n; ++column) {
          T* const line = a + column * n;
          std::fill(upper ? line + column + 1 : line, upper ? line + n : line + column, T{});
        }
      }
    });
  });
  check(info, checked_as);
}

// Rows of a permutation matrix from LAPACK's list of swaps.
void permutation(ops::Launch&, const Tensor& pivots, int64_t n, DType, Tensor& out) {
  const Tensor swaps = row_major(pivots);
  const int64_t count = swaps.size(-1);
  visit_lapack(out.dtype(), [&]<typename T>() {
    std::fill_n(out.data<T>(), out.numel(), T{});
    for_matrices(count_matrices(out), static_cast<double>(n), [&](int64_t begin, int64_t end) {
      const Scratch<int64_t> order(n);
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t row = 0; row < n; ++row) order.get()[row] = row;
        for (int64_t row = 0; row < count; ++row) {
          const int64_t other = vector_at<int32_t>(swaps, i)[row] - int64_t{1};
          MT_CHECK(other >= 0 && other < n, RuntimeError,
                   "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive. Did "
                   "you properly pass the result of lu_factor?");
          std::swap(order.get()[row], order.get()[other]);
        }
        for (int64_t row = 0; row < n; ++row) {
          matrix_at<T>(out, i)[order.get()[row] * n + row] = T{1};
        }
      }
    });
  });
}

// Replaces the right-hand sides in `x` by solutions; `x` lies in columns, or in rows for X A = B.
template <typename T>
void substitute(const Tensor& lu, const Tensor& pivots, bool left, bool adjoint, const Tensor& x) {
  const int n = rows_of(lu);
  const int count = left ? columns_of(x) : rows_of(x);
  // X A = B is A' X' = B' for the transposes, and X A* = B the conjugate of A X* = B*.
  const Op op =
      left ? (adjoint ? Op::kAdjoint : Op::kNone) : (adjoint ? Op::kNone : Op::kTranspose);
  const bool conjugates = kIsComplex<T> && !left && adjoint;
  for_large_matrices(count_matrices(x), 1.0 * n * n * count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* const solved = matrix_at<T>(x, i);
      const auto flip = [&] {
        if (conjugates) std::transform(solved, solved + int64_t{n} * count, solved, conjugate<T>);
      };
      flip();
      linalg::solve_lu(op, n, count, matrix_at<T>(lu, i), leading(n), vector_at<int32_t>(pivots, i),
                       solved, leading(n));
      flip();
    }
  });
}

void lu_solve(ops::Launch&,
              const Tensor& LU,
              const Tensor& pivots,
              const Tensor& B,
              bool left,
              bool adjoint,
              Tensor& out) {
  copy(B, out);
  const Tensor lu = column_major(LU);
  const Tensor swaps = row_major(pivots);
  const int64_t n = lu.size(-1);
  const int32_t* const begin = swaps.data<int32_t>();
  MT_CHECK(std::all_of(begin, begin + swaps.numel(), [&](int32_t p) { return p >= 1 && p <= n; }),
           RuntimeError,
           "Pivots given to lu_solve must all be greater or equal to 1. Did you "
           "properly pass the result of lu_factor?");
  visit_lapack(out.dtype(), [&]<typename T>() { substitute<T>(lu, swaps, left, adjoint, out); });
}

// A tensor that repeats to have these sizes.
Tensor shown_as(const Tensor& tensor, const Shape& sizes) {
  return tensor.alias(sizes, broadcast_strides(tensor.sizes(), tensor.strides(), sizes),
                      tensor.storage_offset());
}

void solve(ops::Launch&,
           const Tensor& A,
           const Tensor& B,
           bool left,
           Name checked_as,
           Tensor& result,
           Tensor& lu,
           Tensor& pivots,
           Tensor& info) {
  copy(A, lu);
  copy(B, result);
  visit_lapack(lu.dtype(), [&]<typename T>() {
    factor<T>(lu, pivots, info.data<int32_t>());
    check(info, checked_as);
    const Shape batch = ops::batch_shape(result);
    const int64_t n = lu.size(-1);
    substitute<T>(column_major(shown_as(lu, ops::with_dims(batch, {n, n}))),
                  row_major(shown_as(pivots, ops::with_dims(batch, {n}))), left, false, result);
  });
}

// Calls body(i, diagonal element of U) for the matrices and elements in turn, after sign(i, -1) for
// an odd number of swaps.
template <typename T, typename Body>
void walk_diagonal(const Tensor& lu, const Tensor& pivots, int64_t i, const Body& body) {
  const int64_t n = lu.size(-1);
  bool is_odd = false;
  for (int64_t k = 0; k < n; ++k) is_odd ^= vector_at<int32_t>(pivots, i)[k] != k + 1;
  body(T(is_odd ? -1 : 1));
  for (int64_t k = 0; k < n; ++k) body(matrix_at<T>(lu, i)[k * n + k]);
}

ops::SpecList factors_of(const Tensor& A) {
  Shape pivots = A.sizes();
  pivots.pop_back();
  return {ops::column_major_spec(A.sizes(), A.dtype(), A.device()),
          {std::move(pivots), DType::kInt32, A.device(), std::nullopt}};
}

void det(ops::Launch&, const Tensor& A, Tensor& result, Tensor& lu, Tensor& pivots) {
  copy(A, lu);
  visit_lapack(lu.dtype(), [&]<typename T>() {
    factor<T>(lu, pivots, nullptr);
    for (int64_t i = 0; i < result.numel(); ++i) {
      T product(1);
      walk_diagonal<T>(lu, pivots, i, [&](T x) { product *= x; });
      result.data<T>()[i] = product;
    }
  });
}

void slogdet(
    ops::Launch&, const Tensor& A, Tensor& sign, Tensor& logabsdet, Tensor& lu, Tensor& pivots) {
  copy(A, lu);
  visit_lapack(lu.dtype(), [&]<typename T>() {
    factor<T>(lu, pivots, nullptr);
    for (int64_t i = 0; i < sign.numel(); ++i) {
      T product(1);
      Real<T> sum(0);
      walk_diagonal<T>(lu, pivots, i, [&](T x) {
        const Real<T> size = std::abs(x);
        product *= size == 0 ? T(0) : x / size;
        sum += std::log(size);
      });
      sign.data<T>()[i] = product;
      logabsdet.data<Real<T>>()[i] = sum;
    }
  });
}

void solve_triangular(ops::Launch&,
                      const Tensor& A,
                      const Tensor& B,
                      bool upper,
                      bool left,
                      bool unitriangular,
                      Tensor& out) {
  copy(B, out);
  const int m = rows_of(out);
  const int n = columns_of(out);
  const int order = rows_of(A);
  // Rows are the columns of the transpose, whose other triangle is used.
  const bool by_rows = A.is_contiguous() && !has_strides(A, ops::column_major_strides(A.sizes()));
  const Tensor a = by_rows ? A : column_major(A);
  visit_lapack(out.dtype(), [&]<typename T>() {
    for_large_matrices(count_matrices(out), 0.5 * order * m * n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* const triangle = matrix_at<T>(a, i);
        T* const x = matrix_at<T>(out, i);
        if constexpr (!kIsComplex<T>) {
          const ConstMatrix seen =
              by_rows ? ConstMatrix{triangle, order, 1} : ConstMatrix{triangle, 1, order};
          // X A = B is A' X' = B'.
          const linalg::TriangularSolver<T> solver(order, left ? seen : transposed(seen),
                                                   upper != left, unitriangular);
          linalg::solve_columns(solver, left ? Matrix{x, 1, m} : Matrix{x, m, 1}, left ? n : m);
        } else {
          const linalg::Pieces pieces = {left ? n : m, 0.5 * order * order};
          pieces.run([&](int64_t first, int64_t count) {
            const auto some = static_cast<int>(count);
            lapack::trsm(left ? Side::kLeft : Side::kRight,
                         upper != by_rows ? Triangle::kUpper : Triangle::kLower,
                         by_rows ? Op::kTranspose : Op::kNone,
                         unitriangular ? Diagonal::kOnes : Diagonal::kStored, left ? m : some,
                         left ? some : n, triangle, leading(order), x + (left ? first * m : first),
                         leading(m));
          });
        }
      }
    });
  });
}

template <typename T>
using SymmetricFactor = int (*)(Triangle, int, T*, int, int*, T*, int);

void ldl_factor(ops::Launch&,
                const Tensor& self,
                bool hermitian,
                Name checked_as,
                Tensor& factors,
                Tensor& pivots,
                Tensor& info) {
  copy(self, factors);
  const int n = rows_of(factors);
  visit_lapack(factors.dtype(), [&]<typename T>() {
    const auto run = hermitian ? static_cast<SymmetricFactor<T>>(lapack::hetrf)
                               : static_cast<SymmetricFactor<T>>(lapack::sytrf);
    for_matrices(count_matrices(factors), cube(n) / 3, [&](int64_t begin, int64_t end) {
      T answer{};
      run(Triangle::kLower, n, nullptr, leading(n), nullptr, &answer, -1);
      const int length = work_length(answer);
      const Scratch<T> work(length);
      for (int64_t i = begin; i < end; ++i) {
        T* const a = matrix_at<T>(factors, i);
        for (int64_t column = 1; column < n; ++column) std::fill_n(a + column * n, column, T{});
        info.data<int32_t>()[i] = run(Triangle::kLower, n, a, leading(n),
                                      vector_at<int32_t>(pivots, i), work.get(), length);
      }
    });
  });
  check(info, checked_as);
}

template <typename T>
using Substitute = int (*)(Triangle, int, int, const T*, int, const int*, T*, int);

void ldl_solve(ops::Launch&,
               const Tensor& LD,
               const Tensor& pivots,
               const Tensor& B,
               bool hermitian,
               Tensor& out) {
  copy(B, out);
  const Tensor factors = column_major(LD);
  const Tensor swaps = row_major(pivots);
  const int n = rows_of(factors);
  const int count = columns_of(out);
  visit_lapack(out.dtype(), [&]<typename T>() {
    const auto run = hermitian ? static_cast<Substitute<T>>(lapack::hetrs)
                               : static_cast<Substitute<T>>(lapack::sytrs);
    for_matrices(count_matrices(out), 1.0 * n * n * count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        run(Triangle::kLower, n, count, matrix_at<T>(factors, i), leading(n),
            vector_at<int32_t>(swaps, i), matrix_at<T>(out, i), leading(n));
      }
    });
  });
}

}  // namespace

void register_linalg_solve(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<inv>(kCpu, "_linalg_inv").takes(kAllOrComplex);
  registry.kernel<cholesky>(kCpu, "_linalg_cholesky").takes(kAllOrComplex);
  registry.kernel<lu_factor>(kCpu, "_linalg_lu_factor").takes(kAllOrComplex);
  registry.kernel<permutation>(kCpu, "_linalg_permutation").takes(kAllOrComplex);
  registry.kernel<lu_solve>(kCpu, "_linalg_lu_solve").takes(kAllOrComplex);
  registry.kernel<solve>(kCpu, "_linalg_solve").takes(kAllOrComplex);
  registry.kernel<det>(kCpu, "_linalg_det").takes(kAllOrComplex).keeps<factors_of>();
  registry.kernel<slogdet>(kCpu, "_linalg_slogdet").takes(kAllOrComplex).keeps<factors_of>();
  registry.kernel<solve_triangular>(kCpu, "_linalg_solve_triangular").takes(kAllOrComplex);
  registry.kernel<ldl_factor>(kCpu, "_linalg_ldl_factor").takes(kAllOrComplex);
  registry.kernel<ldl_solve>(kCpu, "_linalg_ldl_solve").takes(kAllOrComplex);
}

}  // namespace mindtorch::cpu
