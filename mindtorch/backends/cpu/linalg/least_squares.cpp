#include "mindtorch/backends/cpu/linalg/least_squares.h"

#include <cmath>
#include <vector>

#include "mindtorch/backends/cpu/lapack.h"
#include "mindtorch/backends/cpu/linalg/pieces.h"
#include "mindtorch/backends/cpu/linalg/reflectors.h"
#include "mindtorch/backends/cpu/linalg/spectral.h"
#include "mindtorch/backends/cpu/linalg/triangle.h"

namespace mindtorch::cpu::linalg {
namespace {

// Whether no column of the triangle R is taken for a sum of others: the condition of its first
// columns is estimated as columns are added, as gelsy does.
template <typename T>
bool has_full_rank(int n, const T* r, int64_t ld, T rcond) {
  std::vector<T> least(static_cast<size_t>(n));
  std::vector<T> most(static_cast<size_t>(n));
  least[0] = most[0] = T{1};
  T smallest = std::abs(r[0]);
  T largest = smallest;
  if (smallest == T{0}) return false;
  for (int rank = 1; rank < n; ++rank) {
    const T* const column = r + rank * ld;
    T next_smallest{}, next_largest{}, sine[2], cosine[2];
    lapack::laic1(true, rank, least.data(), smallest, column, column[rank], &next_smallest,
                  &sine[0], &cosine[0]);
    lapack::laic1(false, rank, most.data(), largest, column, column[rank], &next_largest, &sine[1],
                  &cosine[1]);
    if (!(next_largest * rcond <= next_smallest)) return false;
    for (size_t i = 0; i < static_cast<size_t>(rank); ++i) {
      least[i] *= sine[0];
      most[i] *= sine[1];
    }
    least[static_cast<size_t>(rank)] = cosine[0];
    most[static_cast<size_t>(rank)] = cosine[1];
    smallest = next_smallest;
    largest = next_largest;
  }
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
