// Pointwise functions by their number.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/registry.h"

namespace mindtorch::ops {
namespace {

PointwiseCall pointwise(TensorList operands,
                        int64_t function,
                        std::span<const double> params,
                        DType compute,
                        DType result) {
  MT_CHECK(function >= 0 && function < function_count(), RuntimeError,
           "there is no pointwise function ", function);
  const auto called = static_cast<Pointwise>(function);
  MT_CHECK(operands.size() == function_info(called).arity, RuntimeError, function_info(called).name,
           " takes ", int{function_info(called).arity}, " operands");
  PointwiseCall call(called, compute, result);
  for (const Tensor& operand : operands) call.on(operand);
  for (size_t i = 0; i < std::min<size_t>(params.size(), 3); ++i) {
    call.params.f[i] = params[i];
  }
  // Behind the real parts of three complex parameters are their imaginary ones.
  for (size_t i = 3; i < std::min<size_t>(params.size(), 6); ++i) {
    call.params.imag[i - 3] = params[i];
  }
  return call;
}

}  // namespace

void define_functions(Registry& ops) {
  ops.define<pointwise>(
         "_pointwise(Tensor[] operands, int function, float[] params, ScalarType compute, "
         "ScalarType result) -> Tensor")
      .device_example(
          "torch._C._internal_functions['_pointwise']([x, x], 0, [], torch.float32, torch.float32)")
      .internal();
}

}  // namespace mindtorch::ops
