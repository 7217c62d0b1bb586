#pragma once

#include "mindtorch/ops/spec.h"

namespace mindtorch::ops {

// What shape rules share.

// Floats keep their dtype; integers and bool become the default dtype.
inline DType float_dtype(DType dtype) { return is_floating_point(dtype) ? dtype : default_dtype(); }

inline TensorSpec contiguous_spec(Shape sizes, DType dtype, Device device) {
  return {std::move(sizes), dtype, device, std::nullopt};
}

// A new tensor with the sizes of `self`, and its order of dimensions.
inline TensorSpec spec_like(const Tensor& self, DType dtype) {
  TensorSpec spec{self.sizes(), dtype, self.device(), std::nullopt};
  if (!self.is_contiguous()) spec.strides = strides_like(self.sizes(), self.strides());
  return spec;
}

// The rule of the op `expand`; refuses what does not broadcast to `size`.
ViewSpec expand(const Tensor& self, IntList size, bool implicit);

// Operands promoted, result of the same dtype.
inline PointwiseCall promoted(Pointwise function, const Tensor& a, const Tensor& b) {
  const DType dtype = result_type(a, b);
  return PointwiseCall(function, dtype, dtype).on(a).on(b);
}
// Operands promoted to a float dtype.
inline PointwiseCall promoted_to_float(Pointwise function, const Tensor& a, const Tensor& b) {
  const DType dtype = float_dtype(result_type(a, b));
  return PointwiseCall(function, dtype, dtype).on(a).on(b);
}

// The rules of pointwise ops that need nothing but their function.
template <Pointwise kFunction>
PointwiseCall same_dtype(const Tensor& self) {
  return PointwiseCall(kFunction, self.dtype(), self.dtype()).on(self);
}
template <Pointwise kFunction>
PointwiseCall to_float(const Tensor& self) {
  const DType dtype = float_dtype(self.dtype());
  return PointwiseCall(kFunction, dtype, dtype).on(self);
}
template <Pointwise kFunction>
PointwiseCall to_bool(const Tensor& self) {
  return PointwiseCall(kFunction, self.dtype(), DType::kBool).on(self);
}
template <Pointwise kFunction>
PointwiseCall binary_same(const Tensor& self, const Tensor& other) {
  return promoted(kFunction, self, other);
}
template <Pointwise kFunction>
PointwiseCall binary_float(const Tensor& self, const Tensor& other) {
  return promoted_to_float(kFunction, self, other);
}
template <Pointwise kFunction>
PointwiseCall binary_bool(const Tensor& self, const Tensor& other) {
  return PointwiseCall(kFunction, result_type(self, other), DType::kBool).on(self).on(other);
}

}  // namespace mindtorch::ops
