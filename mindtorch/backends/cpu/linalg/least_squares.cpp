#include "mindtorch/backends/cpu/linalg/least_squares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mindtorch/backends/cpu/lapack.h"
#include "mindtorch/backends/cpu/linalg/pieces.h"
#include "mindtorch/backends/cpu/linalg/pivoted.h"
#include "mindtorch/backends/cpu/linalg/reflectors.h"
#include "mindtorch/backends/cpu/linalg/spectral.h"
#include "mindtorch/backends/cpu/linalg/triangle.h"

namespace mindtorch::cpu::linalg {
namespace {

// An estimate of the largest or smallest singular value of a triangle, with the vector that
// attains it.
template <typename T>
struct Estimate {
  bool is_smallest;
  std::vector<T> vector;
  T value;

  // Adds a column w with diagonal element gamma, as LAPACK's laic1.
  void add(int n, const T* w, T gamma) {
    T product{};
    for (int i = 0; i < n; ++i) product += vector[static_cast<size_t>(i)] * w[i];
    constexpr T kEps = std::numeric_limits<T>::epsilon();
    const T least = kEps * value;
    const bool is_usual = std::abs(gamma) > least && std::abs(product) > least && value > T(0) &&
                          value > kEps * std::abs(product) && value > kEps * std::abs(gamma);
    T sine{}, cosine{}, next{};
    if (is_usual) {
      turn(product / value, gamma / value, &sine, &cosine, &next);
    } else {
      lapack::laic1(is_smallest, n, vector.data(), value, w, gamma, &next, &sine, &cosine);
    }
    for (int i = 0; i < n; ++i) vector[static_cast<size_t>(i)] *= sine;
    vector[static_cast<size_t>(n)] = cosine;
    value = next;
  }

 private:
  // The extreme eigenvalue of diag(1, 0) + z z', z = (first, second), from its equation of the
  // second degree without cancellation, and its vector.
  void turn(T first, T second, T* sine, T* cosine, T* next) const {
    constexpr T kEps = std::numeric_limits<T>::epsilon();
    const T squares[] = {first * first, second * second};
    T root{};
    if (!is_smallest) {
      const T half = (T(1) - squares[0] - squares[1]) / 2;
      const T distance = std::sqrt(half * half + squares[0]);
      const T t = half > 0 ? squares[0] / (half + distance) : distance - half;
      *sine = -first / t;
      *cosine = -second / (1 + t);
      root = t + 1;
    } else {
      const T both = std::abs(first * second);
      const T size = std::max(1 + squares[0] + both, both + squares[1]);
      if (1 + 2 * (first - second) * (first + second) >= 0) {  // nearer to 0 than to 1
        const T half = (squares[0] + squares[1] + 1) / 2;
        const T t = squares[1] / (half + std::sqrt(std::abs(half * half - squares[1])));
        *sine = first / (1 - t);
        *cosine = -second / t;
        root = t + 4 * kEps * kEps * size;
      } else {
        const T half = (squares[1] + squares[0] - 1) / 2;
        const T distance = std::sqrt(half * half + squares[0]);
        const T t = half >= 0 ? -squares[0] / (half + distance) : half - distance;
        *sine = -first / t;
        *cosine = -second / (1 + t);
        root = 1 + t + 4 * kEps * kEps * size;
      }
    }
    *next = std::sqrt(root) * value;
    const T length = std::sqrt(*sine * *sine + *cosine * *cosine);
    *sine /= length;
    *cosine /= length;
  }
};

// Whether no column of the triangle R is taken for a sum of others: the condition of its first
// columns is estimated as columns are added, as gelsy does.
template <typename T>
bool has_full_rank(int n, const T* r, int64_t ld, T rcond) {
  const T first = std::abs(r[0]);
  if (first == T{0}) return false;
  const std::vector<T> start(static_cast<size_t>(n), T{1});
  Estimate<T> least = {true, start, first};
  Estimate<T> most = {false, start, first};
  for (int rank = 1; rank < n; ++rank) {
    const T* const column = r + rank * ld;
    least.add(rank, column, column[rank]);
    most.add(rank, column, column[rank]);
    if (!(most.value * rcond <= least.value)) return false;
  }
  return true;
}

// Of so few rows that all is done to some right-hand sides before the next.
template <typename T>
bool solve_by_panels(int m, int n, int columns, const T* a, T* b, int64_t ldb, T rcond) {
  const PivotedFactors<T>& factors = pivoted_factors<T>();
  const int64_t rows = m;
  const int64_t size = n;
  const int64_t blocks = ceil_div(size, kTurnedAtOnce);
  const Scratch<T> numbers(rows * size + 3 * size +
                           blocks * kTurnedAtOnce * (rows + kTurnedAtOnce));
  T* const factored = numbers.get();
  T* const tau = factored + rows * size;
  T* const squares = tau + size;
  T* const vectors = squares + 2 * size;
  T* const triangles = vectors + blocks * kTurnedAtOnce * rows;
  const Scratch<int> order(size);
  std::copy_n(a, rows * size, factored);
  factors.qr(rows, size, factored, rows, order.get(), tau, squares);
  if (!has_full_rank(n, factored, rows, rcond)) return false;
  factors.pack(rows, size, factored, rows, tau, vectors, triangles);
  const TriangularSolver<T> solver(size, {factored, 1, rows}, false, false);
  const double work = 2.0 * m * n + 0.5 * n * n;
  for_panels<T>(2 * rows, columns, work, [&](int64_t at, int64_t count, T* panel, int64_t width) {
    T* to[kMostPanelColumns];
    for (int64_t j = 0; j < count; ++j) to[j] = b + (at + j) * ldb;
    pack_columns(to[0], ldb, rows, count, panel, width);
    factors.turn(rows, size, vectors, triangles, panel, width);
    solver.solve_panel(panel, width);
    T* const moved = panel + rows * width;
    for (int64_t i = 0; i < size; ++i) {
      std::copy_n(panel + i * width, width, moved + order.get()[i] * width);
    }
    unpack_columns<T>(moved, width, size, to, count);
    // What is left of the right-hand sides of more rows than columns, as gelsy leaves it.
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t i = size; i < rows; ++i) to[j][i] = panel[i * width + j];
    }
  });
  return true;
}

}  // namespace

template <typename T>
bool solve_independent(int m, int n, int columns, const T* a, T* b, int ldb, T rcond) {
  const int64_t rows = m;
  const int64_t size = n;
  const int64_t stride = ldb;
  if (!is_in_range(a, rows * size)) return false;
  for (int64_t j = 0; j < columns; ++j) {
    if (!is_in_range(b + j * stride, rows)) return false;
  }
  if (m <= kMostPanelRows) return solve_by_panels(m, n, columns, a, b, stride, rcond);
  const Scratch<T> factored(rows * size);
  const Scratch<T> tau(size);
  std::copy_n(a, rows * size, factored.get());
  std::vector<int> order(static_cast<size_t>(n), 0);  // 0: the column may move
  T length{};
  lapack::geqp3(m, n, nullptr, m, order.data(), nullptr, &length, -1);
  const Scratch<T> work(static_cast<int64_t>(length));
  lapack::geqp3(m, n, factored.get(), m, order.data(), tau.get(), work.get(),
                static_cast<int>(length));
  if (!has_full_rank(n, factored.get(), rows, rcond)) return false;
  Reflectors<T>(rows, size, {factored.get(), 1, rows}, tau.get())
      .apply(true, {b, 1, stride}, columns);
  const TriangularSolver<T> solver(size, {factored.get(), 1, rows}, false, false);
  const Pieces pieces = {columns, static_cast<double>(size * size) / 2};
  pieces.run([&](int64_t first, int64_t count) {
    T* const own = b + first * stride;
    solver.solve({own, 1, stride}, count);
    const Scratch<T> moved(size);
    for (int64_t j = 0; j < count; ++j) {
      T* const x = own + j * stride;
      for (int64_t i = 0; i < size; ++i) moved.get()[order[static_cast<size_t>(i)] - 1] = x[i];
      std::copy_n(moved.get(), size, x);
    }
  });
  return true;
}

template bool solve_independent(int, int, int, const float*, float*, int, float);
template bool solve_independent(int, int, int, const double*, double*, int, double);

}  // namespace mindtorch::cpu::linalg
