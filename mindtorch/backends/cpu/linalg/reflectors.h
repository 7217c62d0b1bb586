#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/gemm.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/linalg/panel.h"

namespace mindtorch::cpu::linalg {

// Fewer columns are not worth products of matrices.
inline bool has_blocks(int64_t columns) { return columns >= kPanelColumns; }

// Note [Blocks of reflectors]
// The reflections I - tau v v' of some columns, one after the other, are one I - V T V' with a
// small triangular T: what is applied to a matrix are three products instead of many passes. T
// belongs to a block of kPanelColumns reflectors, and blocks are computed apart from each other.
// The columns of what they are applied to are divided among threads, which meet only at the end.
//
// Q = H(0) H(1) ... H(k - 1), each H(i) = I - tau[i] v v' of m rows, where v is 0 before element i,
// 1 there, and then what column i of a matrix holds. T is float or double.
template <typename T>
class Reflectors {
 public:
  Reflectors(int64_t m, int64_t k, ConstMatrix vectors, const T* tau);

  // c = Q c, or Q' c, of `columns` columns.
  void apply(bool transposed, Matrix c, int64_t columns) const;
  // The first `columns` columns of Q.
  void make(Matrix q, int64_t columns) const;

  // A = Q R of m x n, as LAPACK's geqrf leaves it, column-major. `tau` has min(m, n) numbers.
  static void factor(int64_t m, int64_t n, T* a, int64_t ld, T* tau);

 private:
  void read_block(int64_t block, ConstMatrix vectors, const T* tau);
  void apply_block(int64_t block, bool transposed, Matrix c, int64_t columns, T* work) const;
  int64_t blocks() const;

  int64_t m_;
  int64_t k_;
  Scratch<T> vectors_;    // column by column, m numbers each
  Scratch<T> triangles_;  // of each block: kPanelColumns columns of as many numbers
};

}  // namespace mindtorch::cpu::linalg
