#pragma once

#include "mindtorch/autograd/derivatives/helpers.h"

// What the derivatives of linear algebra share.
namespace mindtorch::autograd {

inline Tensor conjugate(const Tensor& x) { return x; }
// The adjoint: transposed and conjugated.
inline Tensor mH(const Tensor& x) { return conjugate(mT(x)); }

// The dims before the last `count`.
inline Shape batch_of(const Tensor& x, size_t count) {
  return Shape(x.sizes().begin(), x.sizes().end() - static_cast<std::ptrdiff_t>(count));
}
inline Shape with_dim(Shape sizes, int64_t dim) {
  sizes.push_back(dim);
  return sizes;
}

}  // namespace mindtorch::autograd
