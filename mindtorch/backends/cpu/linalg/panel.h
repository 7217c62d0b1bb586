#pragma once

#include <cstdint>

// Factors of a few columns, chosen for this machine's instruction set. T is float or double.
// Matrices are column-major: columns are contiguous, and `ld` elements apart.
namespace mindtorch::cpu::linalg {

// Columns of a panel: enough for what follows to be a product of matrices, few enough for the
// panel of a matrix of some hundred rows to stay in the first cache.
inline constexpr int64_t kPanelColumns = 32;

template <typename T>
struct PanelFactors {
  // P A = L U, as LAPACK's getrf, of m >= n. Pivots are rows of the panel, from 1 on. The number of
  // the first column, from 1 on, whose pivot is 0; 0 if there is none.
  int (*lu)(int64_t m, int64_t n, T* a, int64_t ld, int* pivots);
  // A = Q R, as LAPACK's geqrf, of m >= n.
  void (*qr)(int64_t m, int64_t n, T* a, int64_t ld, T* tau);
  // The largest magnitude of n numbers; NaN if they are not all finite.
  T (*largest)(const T* x, int64_t n);
};

template <typename T>
PanelFactors<T> panel_factors();

}  // namespace mindtorch::cpu::linalg
