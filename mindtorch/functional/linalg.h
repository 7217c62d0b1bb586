#pragma once

#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/ops/linalg_checks.h"

// What the composites of linear algebra share.
namespace mindtorch::functional {

// Whether a derivative may be asked for.
inline bool may_record(const Tensor& tensor) {
  return dispatch::thread_layers().grad_mode && tensor.impl()->autograd != nullptr;
}

// Shows a batch of matrices as another one; a tensor that has it already is left alone.
inline Tensor expand_batch(const Tensor& tensor, const Shape& batch) {
  const Shape sizes = ops::with_dims(batch, {tensor.size(-2), tensor.size(-1)});
  return tensor.sizes() == sizes ? tensor : expand(tensor, sizes);
}

inline Tensor mT(const Tensor& tensor) { return transpose(tensor, -2, -1); }
// The adjoint: transposed and conjugated.
inline Tensor mH(const Tensor& tensor) { return adjoint(tensor); }

}  // namespace mindtorch::functional
