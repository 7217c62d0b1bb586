#pragma once

namespace mindtorch::cpu::linalg {

// Least squares as LAPACK's gelsy, of a matrix of m >= n whose columns are independent, with many
// right-hand sides, which are divided among threads. False, and `b` is as it was, if they are
// dependent, or numbers are too large or too small. `a` stays as it is; T is float or double.
template <typename T>
bool solve_independent(int m, int n, int columns, const T* a, T* b, int ldb, T rcond);

}  // namespace mindtorch::cpu::linalg
