#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/lapack.h"

// Factors of one large matrix, computed by all threads, and what is solved by them. As LAPACK's
// functions of similar names, column-major; T is one of its four scalar types. Small matrices, and
// complex ones where LAPACK has to do it, are one thread's.
namespace mindtorch::cpu::linalg {

// getrf
template <typename T>
int factor_lu(int m, int n, T* a, int ld, int* pivots);

// getrs
template <typename T>
void solve_lu(
    lapack::Op op, int n, int columns, const T* lu, int ld, const int* pivots, T* b, int ldb);

// The inverse from factors, to other memory; leading dimensions are n.
template <typename T>
void invert_lu(int n, const T* lu, const int* pivots, T* inverse);

// potrf. The other triangle may be written, too.
template <typename T>
int factor_cholesky(lapack::Triangle triangle, int n, T* a, int ld);

}  // namespace mindtorch::cpu::linalg
