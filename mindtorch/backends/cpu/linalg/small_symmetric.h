#pragma once

#include <cstdint>

// Eigenvalues and vectors of small symmetric matrices, chosen for this machine's instruction set.
namespace mindtorch::cpu::linalg {

// Above, dividing the two diagonals takes less than turning them.
inline constexpr int64_t kMostTurned = 80;

template <typename T>  // float, double
struct SmallSymmetric {
  // The lower triangle of the n x n matrix `a` counts, whose squares are in range; its columns
  // become eigenvectors, and values ascend. False if they do not converge. `work` has room for
  // work_size(n) numbers.
  bool (*decompose)(int64_t n, T* a, T* values, T* work);
  int64_t (*work_size)(int64_t n);
};

template <typename T>
const SmallSymmetric<T>& small_symmetric();

}  // namespace mindtorch::cpu::linalg
