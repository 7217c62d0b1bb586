#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/gemm_impl.h"

namespace mindtorch::cpu {

// A matrix of float or double that many products in a row share: it is packed once, by panels of
// columns, for the tiles of product/tiles.h.
template <typename T>
class PackedMatrix {
 public:
  // k x n, of elements of T, or of 16-bit floats for float.
  PackedMatrix(DType dtype, ConstMatrix b, int64_t k, int64_t n);

  // c = a @ this, or c += a @ this. Of row-major a and c, the distance of rows. Runs on the calling
  // thread. A row's result does not depend on the other rows.
  void multiply(const T* a, int64_t a_stride, int64_t rows, T* c, int64_t c_stride, bool add) const;

 private:
  int64_t k_;
  int64_t n_;
  Scratch<T> panels_;
};

extern template class PackedMatrix<float>;
extern template class PackedMatrix<double>;

}  // namespace mindtorch::cpu
