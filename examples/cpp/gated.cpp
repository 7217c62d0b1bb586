// A library that adds an op to mindtorch. The formula is all that CPU, NPU, autograd and deferred
// execution need; nothing here knows a device.
//   Python: torch.ops.load_library("libgated.so"); torch.ops.gated.swiglu(x, gate)
#include "mindtorch/ops/extension.h"

namespace {

using namespace mindtorch;
using namespace mindtorch::ops;

// swiglu(a, b) = a * sigmoid(p0 * a) * b.
Expr gate_of(const Inputs& x) { return 1 / (1 + exp(-(x.p0 * x.a))); }

Pointwise swiglu_function() {
  static const Pointwise function = [] {
    FunctionInfo info;
    info.name = "swiglu";
    info.arity = 2;
    Declaration(info)
        .in(kFloatTypes)
        .is([](const Inputs& x) { return x.a * gate_of(x) * x.b; })
        .gradients(
            [](const GradientInputs& x) {
              const Expr gate = gate_of(x);
              return x.grad * x.b * gate * (1 + x.p0 * x.a * (1 - gate));
            },
            [](const GradientInputs& x) { return x.grad * (x.a * gate_of(x)); });
    return register_function(std::move(info));
  }();
  return function;
}

// The rule: which function, in which dtype, on what.
PointwiseCall swiglu(const Tensor& self, const Tensor& gate, const Scalar& beta) {
  const DType dtype = result_type(self, gate);
  return PointwiseCall(swiglu_function(), dtype, dtype).on(self).on(gate).param(0, beta);
}

}  // namespace

MINDTORCH_LIBRARY(gated, ops) {
  ops.define<swiglu>("swiglu(Tensor self, Tensor gate, *, Scalar beta=1) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("self * sigmoid(beta * self) * gate.");
}
