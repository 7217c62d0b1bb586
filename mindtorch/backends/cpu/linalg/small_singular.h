#pragma once

#include <cstdint>

// Singular values and vectors of small matrices, chosen for this machine's instruction set.
namespace mindtorch::cpu::linalg {

inline constexpr int64_t kMostRotated = 24;  // columns
inline constexpr int64_t kMostRotatedRows = 64;

template <typename T>  // float, double
struct SmallSingular {
  // A = U diag(s) Vh, column-major, m >= n, U with n columns; `a` stays as it is, and its squares
  // are in range. False if values do not converge, or if some are so small beside others that their
  // columns of U would have to be made up. `work` has room for work_size(m, n) numbers.
  bool (*decompose)(int64_t m, int64_t n, const T* a, T* s, T* u, T* vh, T* work);
  int64_t (*work_size)(int64_t m, int64_t n);
};

template <typename T>
const SmallSingular<T>& small_singular();

}  // namespace mindtorch::cpu::linalg
