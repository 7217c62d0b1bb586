#pragma once

#include "mindtorch/ops/dtype_limits.h"
#include "mindtorch/ops/layout.h"
#include "mindtorch/ops/spec.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::ops {

// What definitions share.

// torch's words for an out= of another dtype (TargetTrait).
inline constexpr const char* kFoundDtype = "Found dtype $O but expected $R";

// Floats and complex numbers keep their dtype; integers and bool become the default dtype.
inline DType float_dtype(DType dtype) { return is_differentiable(dtype) ? dtype : default_dtype(); }

// What functions of 16-bit floats keep their numbers in.
inline DType number_dtype(DType dtype) { return is_half(dtype) ? DType::kFloat32 : dtype; }

// A number of the caller's that must fit `dtype`, as in torch.
inline const Scalar& fitting(const Scalar& value, DType dtype) {
  check_in_range(value, dtype);
  return value;
}

// The Python number that a tensor stands for.
inline Scalar number_of(const Tensor& wrapped) {
  return read_element(wrapped.data_ptr(), wrapped.dtype());
}

// Refuses a 0-dim tensor whose number does not fit, where that is known.
inline void check_number_in(const Tensor& value, DType dtype) {
  if (!value.device().is_host() || value.dtype() == dtype ||
      value.storage()->pending() != nullptr) {
    return;
  }
  check_in_range(read_element(value.data_ptr(), value.dtype()), dtype);
}

inline TensorSpec contiguous_spec(Shape sizes, DType dtype, Device device) {
  return {std::move(sizes), dtype, device, std::nullopt};
}

// A new tensor with the sizes of `self`, and its order of dimensions.
inline TensorSpec spec_like(const Tensor& self, DType dtype) {
  TensorSpec spec{self.sizes(), dtype, self.device(), std::nullopt};
  if (!has_plain_strides(self.sizes(), self.strides())) {
    spec.strides = strides_like(self.sizes(), self.strides());
  }
  return spec;
}

// The rule of the op `expand`; refuses what does not broadcast to `size`.
ViewSpec expand(const Tensor& self, IntList size, bool implicit);

// Operands promoted, result of the same dtype.
inline PointwiseCall promoted(Pointwise function, const Tensor& a, const Tensor& b) {
  const DType dtype = result_type(a, b);
  return PointwiseCall(function, dtype, dtype, a, b);
}
// Operands promoted to a float dtype.
inline PointwiseCall promoted_to_float(Pointwise function, const Tensor& a, const Tensor& b) {
  const DType dtype = float_dtype(result_type(a, b));
  return PointwiseCall(function, dtype, dtype, a, b);
}

// Products and quotients in float16 and bfloat16 take a single second operand in float32, as
// torch's kernels do: x * 0.1 multiplies by 0.1 and not by its nearest float16.
inline void keep_single_factor(PointwiseCall& call) {
  const Tensor& second = *call.operands[1];
  if (MT_UNLIKELY(rounds_to_half(second.dtype(), call.compute)) && second.numel() == 1) {
    call.unrounded = 1;
  }
}
template <Pointwise kFunction>
PointwiseCall product(const Tensor& self, const Tensor& other) {
  PointwiseCall call = promoted(kFunction, self, other);
  keep_single_factor(call);
  return call;
}
inline PointwiseCall quotient(const Tensor& self, const Tensor& other) {
  PointwiseCall call = promoted_to_float(Pointwise::kDiv, self, other);
  keep_single_factor(call);
  return call;
}

// The rules of pointwise ops that need nothing but their function.
template <Pointwise kFunction>
PointwiseCall same_dtype(const Tensor& self) {
  return PointwiseCall(kFunction, self.dtype(), self.dtype(), self);
}
template <Pointwise kFunction>
PointwiseCall to_float(const Tensor& self) {
  const DType dtype = float_dtype(self.dtype());
  return PointwiseCall(kFunction, dtype, dtype, self);
}
template <Pointwise kFunction>
PointwiseCall to_bool(const Tensor& self) {
  return PointwiseCall(kFunction, self.dtype(), DType::kBool, self);
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
  return PointwiseCall(kFunction, result_type(self, other), DType::kBool, self, other);
}

}  // namespace mindtorch::ops
