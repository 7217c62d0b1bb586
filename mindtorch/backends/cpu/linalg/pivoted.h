#pragma once

#include <cstdint>

// QR factors with exchanged columns, and what they do to right-hand sides; chosen for this
// machine's instruction set. T is float or double, and its squares are in range.
namespace mindtorch::cpu::linalg {

// Reflectors that are applied at once: as Note [Blocks of reflectors], of a few, in registers.
inline constexpr int64_t kTurnedAtOnce = 4;

template <typename T>
struct PivotedFactors {
  // A P = Q R as LAPACK's geqp3, column-major, of m >= n. Column order[j], from 0 on, becomes
  // column j. `squares` has room for 2 * n numbers.
  void (*qr)(int64_t m, int64_t n, T* a, int64_t ld, int* order, T* tau, T* squares);
  // Blocks of kTurnedAtOnce reflectors side by side, m rows of each, and the triangle of each.
  void (*pack)(
      int64_t m, int64_t n, const T* a, int64_t ld, const T* tau, T* vectors, T* triangles);
  // Q' times a panel of `width` columns, one or two vectors: Note [Triangles].
  void (*turn)(int64_t m, int64_t n, const T* vectors, const T* triangles, T* panel, int64_t width);
};

template <typename T>
const PivotedFactors<T>& pivoted_factors();

}  // namespace mindtorch::cpu::linalg
