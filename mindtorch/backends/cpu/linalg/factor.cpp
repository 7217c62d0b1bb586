#include "mindtorch/backends/cpu/linalg/factor.h"

#include <cmath>
#include <complex>
#include <numeric>
#include <type_traits>
#include <vector>

#include "mindtorch/backends/cpu/gemm.h"
#include "mindtorch/backends/cpu/linalg/panel.h"
#include "mindtorch/backends/cpu/linalg/pieces.h"
#include "mindtorch/backends/cpu/linalg/triangle.h"

namespace mindtorch::cpu::linalg {
namespace {

using lapack::Diagonal;
using lapack::Op;
using lapack::Side;
using lapack::Triangle;

template <typename T>
inline constexpr bool kIsReal = std::is_floating_point_v<T>;

// c -= a @ b, all of them column-major.
template <typename T>
void subtract_product(int64_t m,
                      int64_t n,
                      int64_t k,
                      const T* a,
                      int64_t lda,
                      const T* b,
                      int64_t ldb,
                      T* c,
                      int64_t ldc,
                      bool b_is_transposed = false) {
  if (m <= 0 || n <= 0) return;
  const ConstMatrix right = b_is_transposed ? ConstMatrix{b, ldb, 1} : ConstMatrix{b, 1, ldb};
  gemm(DTypeOf<T>::value, m, n, k, {a, 1, lda}, right, {c, 1, ldc}, {-1.0, -1}, kOneFactor);
}

// --- LU ---

// Exchanges rows [from, to) of `columns` columns with their pivots.
template <typename T>
void swap_rows(int64_t columns, T* a, int64_t ld, const int* pivots, int64_t from, int64_t to) {
  for (int64_t j = 0; j < columns; ++j, a += ld) {
    for (int64_t k = from; k < to; ++k) std::swap(a[k], a[pivots[k] - 1]);
  }
}

// What the factored columns [0, width) do to `columns` others of the same m rows.
template <typename T>
void update(
    int64_t m, int64_t width, int64_t columns, const T* a, int64_t ld, const int* pivots, T* b) {
  swap_rows(columns, b, ld, pivots, 0, width);
  TriangularSolver<T>(width, {a, 1, ld}, true, true).solve({b, 1, ld}, columns);
  subtract_product(m - width, columns, width, a + width, ld, b, ld, b + width, ld);
}

// A panel of any width, m >= n: its halves, one after the other.
template <typename T>
int factor_panel(int64_t m, int64_t n, T* a, int64_t ld, int* pivots) {
  if (n <= kPanelColumns) return panel_factors<T>().lu(m, n, a, ld, pivots);
  const int64_t left = ceil_div(n / 2, kPanelColumns) * kPanelColumns;
  const int64_t right = n - left;
  T* const others = a + left * ld;
  int failed = factor_panel(m, left, a, ld, pivots);
  update(m, left, right, a, ld, pivots, others);
  const int found = factor_panel(m - left, right, others + left, ld, pivots + left);
  if (failed == 0 && found != 0) failed = found + static_cast<int>(left);
  for (int64_t k = left; k < n; ++k) pivots[k] += static_cast<int>(left);
  swap_rows(left, a, ld, pivots, left, n);
  return failed;
}

int64_t panel_width(int64_t n) { return n < 512 ? kPanelColumns : n < 2048 ? 64 : 128; }

}  // namespace

namespace {

// OpenBLAS takes a pivot that is NaN for zero; LAPACK's own getrf goes on with it.
template <typename T>
int first_zero_pivot(int count, const T* a, int64_t ld, int failed) {
  const auto pivot = [&](int i) { return a[i * ld + i]; };
  if (pivot(failed - 1) == pivot(failed - 1)) return failed;
  for (int i = failed; i < count; ++i) {
    if (pivot(i) == T{}) return i + 1;
  }
  return 0;
}

// OpenBLAS does not look for NaN in what it takes the root of, as LAPACK's own potrf does.
template <typename T>
int first_bad_root(int count, const T* a, int64_t ld) {
  for (int i = 0; i < count; ++i) {
    if (!std::isfinite(std::real(a[i * ld + i]))) return i + 1;
  }
  return 0;
}

}  // namespace

template <typename T>
int factor_lu(int m, int n, T* a, int ld, int* pivots) {
  const int64_t both = std::min(m, n);
  if constexpr (kIsReal<T>) {
    constexpr int64_t kLeast = 8;  // LAPACK has less to do before it begins
    if (both >= kLeast) {
      const int64_t stride = ld;
      const int64_t most = panel_width(both);
      int failed = 0;
      for (int64_t at = 0; at < both; at += most) {
        const int64_t width = std::min(most, both - at);
        const int64_t rows = m - at;
        T* const panel = a + at * stride + at;
        const int found = factor_panel(rows, width, panel, stride, pivots + at);
        if (failed == 0 && found != 0) failed = found + static_cast<int>(at);
        const int64_t behind = n - at - width;
        const Pieces pieces = {behind, static_cast<double>(width * rows)};
        pieces.run([&](int64_t i, int64_t count) {
          update(rows, width, count, panel, stride, pivots + at, panel + (width + i) * stride);
        });
        for (int64_t k = at; k < at + width; ++k) pivots[k] += static_cast<int>(at);
      }
      // Later exchanges of rows of what was factored before.
      const Pieces factored = {both, static_cast<double>(both) / 2, true};
      factored.run([&](int64_t first, int64_t count) {
        for (int64_t j = first; j < first + count; ++j) {
          swap_rows(1, a + j * stride, stride, pivots, std::min((j / most + 1) * most, both), both);
        }
      });
      return failed;
    }
  }
  const int failed = lapack::getrf(m, n, a, ld, pivots);
  return failed > 0 ? first_zero_pivot(std::min(m, n), a, ld, failed) : failed;
}

namespace {

// Exchanges rows of a panel with their pivots, in their order or in the other.
template <typename T>
void swap_panel_rows(T* panel, int64_t width, const int* pivots, int64_t n, bool backwards) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t k = backwards ? n - 1 - i : i;
    const int64_t other = pivots[k] - 1;
    if (other != k) {
      std::swap_ranges(panel + k * width, panel + (k + 1) * width, panel + other * width);
    }
  }
}

template <typename T>
void solve_real_lu(
    bool transposed, int n, int columns, const T* lu, int ld, const int* pivots, T* b, int ldb) {
  const int64_t stride = ldb;
  const ConstMatrix a = transposed ? ConstMatrix{lu, ld, 1} : ConstMatrix{lu, 1, ld};
  const TriangularSolver<T> first(n, a, true, !transposed);
  const TriangularSolver<T> second(n, a, false, transposed);
  if (n <= kMostPanelRows) {
    for_panels<T>(n, columns, 1.0 * n * n, [&](int64_t at, int64_t count, T* panel, int64_t width) {
      T* to[kMostPanelColumns];
      for (int64_t j = 0; j < count; ++j) to[j] = b + (at + j) * stride;
      pack_columns(to[0], stride, n, count, panel, width);
      if (!transposed) swap_panel_rows(panel, width, pivots, n, false);
      first.solve_panel(panel, width);
      second.solve_panel(panel, width);
      if (transposed) swap_panel_rows(panel, width, pivots, n, true);
      unpack_columns<T>(panel, width, n, to, count);
    });
    return;
  }
  const Pieces pieces = {columns, 1.0 * n};
  const auto swap = [&] {
    pieces.run([&](int64_t i, int64_t count) {
      for (int64_t j = i; j < i + count; ++j) {
        swap_panel_rows(b + j * stride, 1, pivots, n, transposed);
      }
    });
  };
  if (!transposed) swap();
  solve_columns(first, {b, 1, stride}, columns);
  solve_columns(second, {b, 1, stride}, columns);
  if (transposed) swap();
}

}  // namespace

template <typename T>
void solve_lu(Op op, int n, int columns, const T* lu, int ld, const int* pivots, T* b, int ldb) {
  if (n == 0 || columns == 0) return;
  if constexpr (kIsReal<T>) {
    solve_real_lu(op != Op::kNone, n, columns, lu, ld, pivots, b, ldb);
  } else {
    const Pieces pieces = {columns, 1.0 * n * n};
    pieces.run([&](int64_t i, int64_t count) {
      lapack::getrs(op, n, static_cast<int>(count), lu, ld, pivots, b + i * ldb, ldb);
    });
  }
}

namespace {

// Columns [first, first + count) of inverse(L U), which are column-major.
template <typename T>
void invert_by_lapack(int64_t n, const T* lu, int64_t first, int64_t count, T* columns) {
  const auto size = static_cast<int>(n);
  const auto wide = static_cast<int>(count);
  lapack::trsm(Side::kLeft, Triangle::kLower, Op::kNone, Diagonal::kOnes,
               static_cast<int>(n - first), wide, lu + first * n + first, size, columns + first,
               size);
  lapack::trsm(Side::kLeft, Triangle::kUpper, Op::kNone, Diagonal::kStored, size, wide, lu, size,
               columns, size);
}

}  // namespace

template <typename T>
void invert_lu(int n, const T* lu, const int* pivots, T* inverse) {
  if (n == 0) return;
  const int64_t size = n;
  // Row i of P A is row order[i] of A, so that column i of inverse(P A) is that column of A's.
  std::vector<int> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = 0; i < size; ++i) {
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(pivots[i] - 1)]);
  }
  const auto column = [&](int64_t i) { return inverse + order[static_cast<size_t>(i)] * size; };
  if constexpr (kIsReal<T>) {
    const TriangularSolver<T> lower(n, {lu, 1, size}, true, true);
    const TriangularSolver<T> upper(n, {lu, 1, size}, false, false);
    if (n <= kMostPanelRows) {
      for_panels<T>(n, n, 1.0 * n * n, [&](int64_t at, int64_t count, T* panel, int64_t width) {
        T* to[kMostPanelColumns];
        std::fill_n(panel, size * width, T{});
        for (int64_t j = 0; j < count; ++j) {
          to[j] = column(at + j);
          panel[(at + j) * width + j] = T{1};
        }
        lower.solve_panel(panel, width, at);
        upper.solve_panel(panel, width);
        unpack_columns<T>(panel, width, size, to, count);
      });
      return;
    }
  }
  const Pieces pieces = {size, 1.0 * n * n, true};
  pieces.run([&](int64_t first, int64_t count) {
    const Scratch<T> columns(size * count);
    std::fill_n(columns.get(), size * count, T{});
    for (int64_t j = 0; j < count; ++j) columns.get()[j * size + first + j] = T{1};
    if constexpr (kIsReal<T>) {
      TriangularSolver<T>(size - first, {lu + first * size + first, 1, size}, true, true)
          .solve({columns.get() + first, 1, size}, count);
      TriangularSolver<T>(size, {lu, 1, size}, false, false).solve({columns.get(), 1, size}, count);
    } else {
      invert_by_lapack(size, lu, first, count, columns.get());
    }
    for (int64_t j = 0; j < count; ++j) {
      std::copy_n(columns.get() + j * size, size, column(first + j));
    }
  });
}

// --- Cholesky ---

namespace {
template <typename T>
int factor_head(Triangle triangle, int n, T* a, int ld) {
  const int failed = lapack::potrf(triangle, n, a, ld);
  return failed == 0 ? first_bad_root(n, a, ld) : failed;
}
}  // namespace

template <typename T>
int factor_cholesky(Triangle triangle, int n, T* a, int ld) {
  constexpr int kLeast = 384;  // smaller ones are done before threads have met twice
  constexpr int64_t kWidth = 128;
  if constexpr (kIsReal<T>) {
    if (n >= kLeast) {
      const bool is_lower = triangle == Triangle::kLower;
      const int64_t stride = ld;
      for (int64_t at = 0; at < n; at += kWidth) {
        const int64_t width = std::min<int64_t>(kWidth, n - at);
        T* const head = a + at * stride + at;
        const int failed = factor_head(triangle, static_cast<int>(width), head, ld);
        if (failed != 0) return failed + static_cast<int>(at);
        const int64_t rest = n - at - width;
        // The block below the head, or beside it, then what is behind both.
        T* const panel = head + width * (is_lower ? 1 : stride);
        T* const behind = head + width * (stride + 1);
        // A lower block is solved from the right: the transpose of what an upper one is.
        const TriangularSolver<T> solver(
            width, is_lower ? ConstMatrix{head, 1, stride} : ConstMatrix{head, stride, 1}, true,
            false);
        solve_columns(solver, is_lower ? Matrix{panel, stride, 1} : Matrix{panel, 1, stride}, rest);
        const Pieces updated = {rest, static_cast<double>(width * rest) / 2, true};
        updated.run([&](int64_t i, int64_t count) {
          T* const to = behind + i * stride;
          if (is_lower) {
            subtract_product(rest - i, count, width, panel + i, stride, panel + i, stride, to + i,
                             stride, true);
          } else {
            gemm(DTypeOf<T>::value, i + count, count, width, {panel, stride, 1},
                 {panel + i * stride, 1, stride}, {to, 1, stride}, {-1.0, -1}, kOneFactor);
          }
        });
      }
      return 0;
    }
  }
  return factor_head(triangle, n, a, ld);
}

#define MT_INSTANTIATE(T)                                                           \
  template int factor_lu(int, int, T*, int, int*);                                  \
  template void solve_lu(lapack::Op, int, int, const T*, int, const int*, T*, int); \
  template void invert_lu(int, const T*, const int*, T*);                           \
  template int factor_cholesky(lapack::Triangle, int, T*, int);
MT_INSTANTIATE(float)
MT_INSTANTIATE(double)
MT_INSTANTIATE(std::complex<float>)
MT_INSTANTIATE(std::complex<double>)
#undef MT_INSTANTIATE

}  // namespace mindtorch::cpu::linalg
