#pragma once

#include <optional>

#include "mindtorch/base/small_vector.h"
#include "mindtorch/ops/pointwise.h"
#include "mindtorch/tensor/tensor.h"

namespace mindtorch::ops {

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

// A pointwise op, resolved: which function, on which operands, computed and stored as what.
struct PointwiseCall {
  Pointwise function;
  DType compute;  // operands are converted to this
  DType result;
  PointwiseParams params{};
  const Tensor* operands[3] = {};
  int count = 0;

  PointwiseCall(Pointwise function, DType compute, DType result) noexcept
      : function(function), compute(compute), result(result) {}
  PointwiseCall& on(const Tensor& operand) {
    operands[count++] = &operand;
    return *this;
  }
  PointwiseCall& param(int index, const Scalar& value) {
    params.f[index] = value.to_double();
    params.i[index] = value.to_int();
    return *this;
  }
};

// The one shape rule of all pointwise ops: broadcast, and keep the operands' order of dimensions.
MT_API TensorSpec infer_pointwise(const PointwiseCall& call);

}  // namespace mindtorch::ops
