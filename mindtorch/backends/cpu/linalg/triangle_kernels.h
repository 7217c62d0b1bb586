#pragma once

#include <cstdint>

// The inner loops of Note [Triangles], chosen for this machine's instruction set.
namespace mindtorch::cpu::linalg {

template <typename T>  // float, double
struct TriangleKernels {
  int64_t lanes;
  // Solves a lower triangle of n rows in rows of `vectors` vectors, 1 or 2, that lie `stride`
  // apart. Element (i, k) is at a[i * row + k * column]; `inverses` are those of the diagonal, or
  // nullptr if it is ones. Strides may be negative.
  void (*solve)(int64_t n,
                const T* a,
                int64_t row,
                int64_t column,
                const T* inverses,
                T* x,
                int64_t stride,
                int64_t vectors);
  // columns[j][i] = panel[i * width + j] for i < n, j < count.
  void (*unpack)(const T* panel, int64_t width, int64_t n, T* const* columns, int64_t count);
};

template <typename T>
const TriangleKernels<T>& triangle_kernels();

}  // namespace mindtorch::cpu::linalg
