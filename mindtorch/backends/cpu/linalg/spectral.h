#pragma once

#include <cstdint>

// Eigenvalues and singular values with their vectors, of one matrix of float or double. LAPACK
// reduces the matrix to two diagonals and decomposes these; reflectors turn the vectors back, by
// all threads: Note [Blocks of reflectors].
namespace mindtorch::cpu::linalg {

// The lower triangle of `a` counts; its columns become eigenvectors. LAPACK's info.
template <typename T>
int decompose_symmetric(int n, T* a, T* values);

// A = U diag(s) Vh, column-major, m >= n. `a` is used up. U has n columns, or m.
template <typename T>
int decompose_singular(int m, int n, T* a, T* s, T* u, int u_columns, T* vh);

// Whether numbers are of a size that needs no scaling, and finite.
template <typename T>
bool is_in_range(const T* a, int64_t count);

}  // namespace mindtorch::cpu::linalg
