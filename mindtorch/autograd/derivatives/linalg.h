#pragma once

#include "mindtorch/autograd/derivatives/helpers.h"

// What the derivatives of linear algebra share.
namespace mindtorch::autograd {

inline Tensor conjugate(const Tensor& x) { return is_complex(x.dtype()) ? conj(x) : x; }
// The adjoint: transposed and conjugated.
inline Tensor mH(const Tensor& x) { return conjugate(mT(x)); }

// The dims before the last `count`.
inline Shape batch_of(const Tensor& x, size_t count) {
  return Shape(x.sizes().begin(), x.sizes().end() - static_cast<std::ptrdiff_t>(count));
}
// The gradient of a tensor that was repeated to the sizes of `x`.
inline Tensor sum_to(const Tensor& x, const Shape& sizes) {
  if (x.sizes() == sizes) return x;
  const auto added = static_cast<size_t>(x.dim()) - sizes.size();
  Shape dims;
  for (size_t i = 0; i < x.sizes().size(); ++i) {
    if (i < added || sizes[i - added] != x.sizes()[i]) dims.push_back(static_cast<int64_t>(i));
  }
  return reshape(sum(x, IntList(dims), true), sizes);
}
inline Shape with_dim(Shape sizes, int64_t dim) {
  sizes.push_back(dim);
  return sizes;
}

}  // namespace mindtorch::autograd
