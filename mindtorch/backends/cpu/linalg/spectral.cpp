#include "mindtorch/backends/cpu/linalg/spectral.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "mindtorch/backends/cpu/copy_matrix.h"
#include "mindtorch/backends/cpu/lapack.h"
#include "mindtorch/backends/cpu/linalg/panel.h"
#include "mindtorch/backends/cpu/linalg/reflectors.h"
#include "mindtorch/backends/cpu/linalg/small_symmetric.h"

namespace mindtorch::cpu::linalg {

template <typename T>
bool is_in_range(const T* a, int64_t count) {
  const T largest = panel_factors<T>().largest(a, count);
  constexpr T kEps = std::numeric_limits<T>::epsilon();
  const T least = std::sqrt(std::numeric_limits<T>::min()) / kEps;
  return largest == 0 || (largest >= least && largest <= 1 / least);  // not NaN
}

template <typename T>
int decompose_symmetric(int n, T* a, T* values) {
  const int64_t size = n;
  if (size <= kMostTurned) {
    const Scratch<T> numbers(small_symmetric<T>().work_size(size));
    if (small_symmetric<T>().decompose(size, a, values, numbers.get())) return 0;
  }
  T length{};
  lapack::sytrd(n, nullptr, n, nullptr, nullptr, nullptr, &length, -1);
  const int64_t room = std::max<int64_t>(static_cast<int64_t>(length), 1 + 4 * size + size * size);
  const Scratch<T> work(room);
  const Scratch<int> int_work(3 + 5 * size);
  const Scratch<T> beside(size);
  const Scratch<T> tau(size);
  const int lwork = static_cast<int>(room);
  lapack::sytrd(n, a, n, values, beside.get(), tau.get(), work.get(), lwork);
  const Reflectors<T> turns(size - 1, size - 1, {a + 1, 1, size}, tau.get());
  const int info = lapack::stedc(n, values, beside.get(), a, n, work.get(), lwork, int_work.get(),
                                 static_cast<int>(3 + 5 * size));
  if (info == 0) turns.apply(false, {a + 1, 1, size}, size);
  return info;
}

namespace {

// The reflectors that make two diagonals of A, m >= n, and what makes the factors of those: U in
// the first n rows of `u`, zero elsewhere, and Vh. LAPACK's work array is released with the scope,
// for the sake of the peak of memory.
template <typename T>
int decompose_two_diagonals(int m, int n, T* a, T* s, T* tau_q, T* tau_p, T* u, T* vh) {
  const int64_t size = n;
  T length{};
  lapack::gebrd(m, n, nullptr, m, nullptr, nullptr, nullptr, nullptr, &length, -1);
  const int64_t room = std::max<int64_t>(static_cast<int64_t>(length), 3 * size * size + 4 * size);
  const Scratch<T> work(room);
  const Scratch<int> int_work(8 * size);
  const Scratch<T> beside(size);
  lapack::gebrd(m, n, a, m, s, beside.get(), tau_q, tau_p, work.get(), static_cast<int>(room));
  std::fill_n(u, int64_t{m} * size, T{0});
  return lapack::bdsdc(n, s, beside.get(), u, m, vh, n, work.get(), int_work.get());
}

// Of m >= n without a look at their ratio.
template <typename T>
int decompose_near_square(int m, int n, T* a, T* s, T* u, int u_columns, T* vh) {
  const int64_t rows = m;
  const int64_t size = n;
  const Scratch<T> tau_q(size);
  const Scratch<T> tau_p(size);
  const int info = decompose_two_diagonals(m, n, a, s, tau_q.get(), tau_p.get(), u, vh);
  if (info != 0) return info;
  for (int64_t j = size; j < u_columns; ++j) {
    std::fill_n(u + j * rows, rows, T{0});
    u[j * rows + j] = T{1};
  }
  Reflectors<T>(rows, size, {a, 1, rows}, tau_q.get()).apply(false, {u, 1, rows}, u_columns);
  if (n == 1) return 0;
  // Vh P' is the transpose of P Vh', and the vectors of P are rows.
  Reflectors<T>(size - 1, size - 1, {a + rows, rows, 1}, tau_p.get())
      .apply(false, {vh + size, size, 1}, size);
  return 0;
}

}  // namespace

template <typename T>
int decompose_singular(int m, int n, T* a, T* s, T* u, int u_columns, T* vh) {
  const int64_t rows = m;
  const int64_t size = n;
  if (6 * rows < 11 * size) return decompose_near_square(m, n, a, s, u, u_columns, vh);
  // A = Q R, and R is decomposed.
  const Scratch<T> tau(size);
  Reflectors<T>::factor(rows, size, a, rows, tau.get());
  const Scratch<T> r(size * size);
  const Scratch<T> of_r(size * size);
  for (int64_t j = 0; j < size; ++j) {
    std::copy_n(a + j * rows, j + 1, r.get() + j * size);
    std::fill_n(r.get() + j * size + j + 1, size - j - 1, T{0});
  }
  const int info = decompose_near_square(n, n, r.get(), s, of_r.get(), n, vh);
  if (info != 0) return info;
  for (int64_t j = 0; j < u_columns; ++j) {
    T* const column = u + j * rows;
    std::fill_n(column, rows, T{0});
    if (j < size) {
      std::copy_n(of_r.get() + j * size, size, column);
    } else {
      column[j] = T{1};
    }
  }
  Reflectors<T>(rows, size, {a, 1, rows}, tau.get()).apply(false, {u, 1, rows}, u_columns);
  return 0;
}

#define MT_INSTANTIATE(T)                                         \
  template int decompose_symmetric(int, T*, T*);                  \
  template int decompose_singular(int, int, T*, T*, T*, int, T*); \
  template bool is_in_range(const T*, int64_t);
MT_INSTANTIATE(float)
MT_INSTANTIATE(double)
#undef MT_INSTANTIATE

}  // namespace mindtorch::cpu::linalg
