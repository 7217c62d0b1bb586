#pragma once

#include "mindtorch/autograd/backward_rule.h"
#include "mindtorch/autograd/grad_mode.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/functional/operators.h"

// What the derivatives share.
namespace mindtorch::autograd {

inline Tensor zeros_of(const TensorMeta& meta) {
  return zeros(meta.sizes, meta.dtype, meta.device);
}

inline Tensor mT(const Tensor& x) { return transpose(x, -2, -1); }

// What sums over many elements are made in.
inline DType wide(DType dtype) {
  return dtype == DType::kFloat64 || !is_floating_point(dtype) ? dtype : DType::kFloat32;
}
inline Tensor widened(const Tensor& x) {
  return !x.defined() || x.dtype() == wide(x.dtype()) ? x : _to_copy(x, wide(x.dtype()));
}

// The gradient of a tensor of which only `view(zeros)` was used.
template <typename View>
Tensor embed(const Tensor& grad, const TensorMeta& meta, View view) {
  // A batched gradient is written to a batched tensor.
  const bool is_batched = (grad.impl()->layers & dispatch::bit(dispatch::Layer::kBatching)) != 0;
  const Tensor whole =
      is_batched ? new_zeros(grad, meta.sizes) : zeros(meta.sizes, grad.dtype(), grad.device());
  copy_(view(whole), grad);
  return whole;
}

// Puts dims of size 1 where a reduction over `mask` has dropped them.
inline Tensor restore_dims(const Tensor& reduced, uint64_t mask, size_t ndim, bool keepdim) {
  if (keepdim || reduced.dim() == static_cast<int64_t>(ndim)) return reduced;
  Shape sizes;
  size_t at = 0;
  for (size_t i = 0; i < ndim; ++i) {
    sizes.push_back((mask >> i & 1) != 0 ? 1 : reduced.sizes()[at++]);
  }
  return reshape(reduced, sizes);
}

// A gradient of an index's sizes as large as the source, of which only the leading part was read.
inline Tensor put_back(const Tensor& grad, const TensorMeta& source) {
  if (grad.sizes() == source.sizes) return grad;
  return embed(grad, source, [&](const Tensor& whole) {
    Tensor part = whole;
    for (int64_t i = 0; i < grad.dim(); ++i) part = narrow(part, i, 0, grad.size(i));
    return part;
  });
}

inline int64_t count_of(IntList sizes, uint64_t mask) {
  int64_t count = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if ((mask >> i & 1) != 0) count *= sizes[i];
  }
  return count;
}

inline Shape dims_of(uint64_t mask, size_t ndim) {
  Shape dims;
  for (size_t i = 0; i < ndim; ++i) {
    if ((mask >> i & 1) != 0) dims.push_back(static_cast<int64_t>(i));
  }
  return dims;
}

}  // namespace mindtorch::autograd
