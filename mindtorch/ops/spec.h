#pragma once

#include <optional>

#include "mindtorch/base/small_vector.h"
#include "mindtorch/ops/functions.h"
#include "mindtorch/tensor/tensor.h"

namespace mindtorch::ops {

constexpr bool is_half(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}
// Values of `from` may change when they become float16 or bfloat16. Integers of one byte do not.
constexpr bool rounds_to_half(DType from, DType half) {
  return is_half(half) && from != half && size_bytes(from) > 1;
}

// A tensor that an op will make: what its shape rule answers.
struct TensorSpec {
  Shape sizes;
  DType dtype;
  Device device;
  std::optional<Shape> strides;  // absent: contiguous
};
using SpecList = SmallVector<TensorSpec, 2>;

// A view that an op will make of its first argument.
struct ViewSpec {
  Shape sizes;
  Shape strides;
  int64_t offset;                // elements, from the start of the storage
  std::optional<DType> dtype{};  // view(dtype): the bytes read as another type
};

// How the result of a pointwise op lies in memory.
enum class Layout : uint8_t {
  kAgreed,      // in the order of dims that the operands agree on
  kLikeFirst,   // as empty_like of the first operand
  kContiguous,  // whatever the operands
};

// A pointwise op, resolved: which function, on which operands, computed and stored as what.
struct PointwiseCall {
  Pointwise function;
  DType compute;  // operands are converted to this, also where a device computes in a wider dtype
  DType result;
  int8_t unrounded = -1;  // the operand that a device which computes wider takes as it is
  Layout layout = Layout::kAgreed;
  PointwiseParams params{};
  const Tensor* operands[kMaxOperands];
  int count;
  bool refused = false;  // no device computes this in that dtype

  // Operands given here need no copy of the call, which `return call.on(a)` makes.
  template <typename... Operands>
  PointwiseCall(Pointwise function,
                DType compute,
                DType result,
                const Operands&... operands) noexcept
      : function(function),
        compute(compute),
        result(result),
        operands{&operands...},
        count(sizeof...(operands)) {}
  PointwiseCall& on(const Tensor& operand) {
    operands[count++] = &operand;
    return *this;
  }
  // Whether an operand must become float16 or bfloat16 before it is widened.
  bool rounds(int index) const {
    return rounds_to_half(operands[index]->dtype(), compute) && index != unrounded;
  }
  PointwiseCall& laid_out(Layout how) {
    layout = how;
    return *this;
  }
  PointwiseCall& param(int index, const Scalar& value) {
    params.f[index] = value.to_double();
    params.i[index] = value.to_int();
    params.imag[index] = value.imag();
    return *this;
  }
  // Errors of dtype are raised after those of shape, so the rule only marks them. The meta device,
  // which computes nothing, takes such a call.
  PointwiseCall& only_if(bool supported) {
    refused |= !supported;
    return *this;
  }
};

// Throws torch's NotImplementedError: "elu_cpu" not implemented for 'Long'.
[[noreturn]] MT_API void refuse_dtype(Pointwise function, DType dtype);
// The same where the op's rule or the function itself excludes the call's dtype.
inline void check_dtype(const PointwiseCall& call) {
  if (MT_UNLIKELY(call.refused || !contains(function_dtypes(call.function), call.compute))) {
    refuse_dtype(call.function, call.compute);
  }
}

// The one shape rule of all pointwise ops: broadcast, and keep the operands' order of dimensions.
MT_API TensorSpec infer_pointwise(const PointwiseCall& call);

}  // namespace mindtorch::ops
