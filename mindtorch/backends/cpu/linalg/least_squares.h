#pragma once

#include "mindtorch/backends/cpu/linalg/reflectors.h"
#include "mindtorch/backends/cpu/linalg/triangle.h"

namespace mindtorch::cpu::linalg {

// Whether solve_independent() is worth trying.
inline bool has_fast_solution(int m, int n, int columns) {
  if (m < n || n == 0 || columns == 0) return false;
  return m <= kMostPanelRows || (has_blocks(n) && has_blocks(columns));
}

// Least squares as LAPACK's gelsy, of a matrix of m >= n whose columns are independent, with many
// right-hand sides, which are divided among threads. False, and `b` is as it was, if they are
// dependent, or numbers are too large or too small. `a` stays as it is; T is float or double.
template <typename T>
bool solve_independent(int m, int n, int columns, const T* a, T* b, int ldb, T rcond);

}  // namespace mindtorch::cpu::linalg
