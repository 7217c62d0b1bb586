// Activations. Those that torch keeps under nn.functional are marked so.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::ops {
namespace {

// Torch has these for floats only.
template <Pointwise kFunction>
PointwiseCall float_only(const Tensor& self) {
  return same_dtype<kFunction>(self).only_if(is_differentiable(self.dtype()));
}

PointwiseCall relu(const Tensor& self) {
  MT_CHECK(self.dtype() != DType::kBool, RuntimeError, "Boolean inputs not supported for relu");
  return same_dtype<Pointwise::kRelu>(self);
}

PointwiseCall clamp_to(const Tensor& self, const Scalar& low, const Scalar& high) {
  return same_dtype<Pointwise::kClampScalar>(self)
      .laid_out(Layout::kLikeFirst)
      .param(0, fitting(low, self.dtype()))
      .param(1, fitting(high, self.dtype()))
      .param(2, Scalar(1));  // no gradient at the limits
}

PointwiseCall relu6(const Tensor& self) {
  MT_CHECK(self.dtype() != DType::kBool, RuntimeError, "Boolean inputs not supported for relu6");
  return clamp_to(self, 0, 6);
}

PointwiseCall hardtanh(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  MT_CHECK(self.dtype() != DType::kBool, RuntimeError, "Bool inputs not supported for hardtanh");
  MT_CHECK(min_val.to_double() <= max_val.to_double(), ValueError,
           "min_val cannot be greater than max_val");
  MT_CHECK(self.dtype() != DType::kUInt8 || (min_val.to_double() >= 0 && max_val.to_double() >= 0),
           RuntimeError, "cannot do hardtanh on an unsigned type with negative limits");
  // Limits of integers are whole numbers, cut off before anything else.
  const auto limit = [&](const Scalar& value) {
    if (is_floating_point(self.dtype())) return value;
    return Scalar(fitting(value, DType::kInt64).to_int());
  };
  return clamp_to(self, limit(min_val), limit(max_val));
}

PointwiseCall gelu(const Tensor& self, std::string_view approximate) {
  if (approximate == "tanh") return float_only<Pointwise::kGeluTanh>(self);
  MT_CHECK(approximate == "none", RuntimeError,
           "approximate argument must be either none or tanh.");
  return float_only<Pointwise::kGelu>(self);
}

PointwiseCall elu(const Tensor& self,
                  const Scalar& alpha,
                  const Scalar& scale,
                  const Scalar& input_scale) {
  const DType numbers = number_dtype(self.dtype());
  return float_only<Pointwise::kElu>(self)
      .param(0, fitting(alpha, numbers))
      .param(1, fitting(scale, numbers))
      .param(2, fitting(input_scale, numbers));
}

PointwiseCall selu(const Tensor& self) {
  return elu(self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0);
}

PointwiseCall celu(const Tensor& self, const Scalar& alpha) {
  MT_CHECK(alpha.to_double() != 0, RuntimeError, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return elu(self, alpha, 1.0, 1.0 / alpha.to_double());
}

PointwiseCall leaky_relu(const Tensor& self, const Scalar& negative_slope) {
  return float_only<Pointwise::kLeakyRelu>(self).param(
      0, fitting(negative_slope, number_dtype(self.dtype())));
}

PointwiseCall softplus(const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  const DType numbers = number_dtype(self.dtype());
  return float_only<Pointwise::kSoftplus>(self)
      .param(0, fitting(beta, numbers))
      .param(1, fitting(threshold, numbers));
}

PointwiseCall log_sigmoid(const Tensor& self) {
  return float_only<Pointwise::kLogSigmoid>(self).laid_out(Layout::kContiguous);
}

template <Pointwise kFunction>
PointwiseCall shrink(const Tensor& self, const Scalar& lambd) {
  PointwiseCall call = float_only<kFunction>(self);
  if (kFunction == Pointwise::kHardshrink) {
    return call.param(0, round_to_half(fitting(lambd, self.dtype()), self.dtype()));
  }
  const double largest = limits(self.dtype()).largest;
  const bool is_in_range = lambd.to_double() >= 0 && lambd.to_double() <= largest;
  MT_CHECK(is_in_range || !is_floating_point(self.dtype()), RuntimeError,
           "lambda must be in range [0, ", largest, "] for input dtype ", legacy_name(self.dtype()),
           ", but found ", lambd.to_double());
  return call.param(0, lambd);
}

PointwiseCall threshold(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  return same_dtype<Pointwise::kThreshold>(self)
      .param(0, fitting(threshold, number_dtype(self.dtype())))
      .param(1, fitting(value, self.dtype()));
}

}  // namespace

void define_activation(Registry& ops) {
  ops.define<to_float<Pointwise::kSigmoid>>("sigmoid(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"special_expit"})
      .doc("1 / (1 + exp(-x)).", ">>> torch.sigmoid(torch.tensor([0.]))\ntensor([0.5000])");
  ops.define<relu>("relu(Tensor self) -> Tensor")
      .variants(kInplaceVariant)
      .place(kFunction | kMethod | kNnFunction)
      .doc("Replaces negative elements by 0.",
           ">>> torch.relu(torch.tensor([-1., 2.]))\ntensor([0., 2.])");
  ops.define<selu>("selu(Tensor self) -> Tensor")
      .node_name("EluBackward0")
      .variants(kInplaceVariant)
      .place(kFunction | kNnFunction)
      .doc("The scaled exponential linear unit.",
           ">>> torch.selu(torch.tensor([1.]))\ntensor([1.0507])");
  ops.define<celu>("celu(Tensor self, Scalar alpha=1.0) -> Tensor")
      .variants(kInplaceVariant)
      .place(kFunction | kNnFunction)
      .doc("The continuous exponential linear unit.",
           ">>> torch.celu(torch.tensor([1.]))\ntensor([1.])");
  ops.define<threshold>("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor")
      .variants(kInplaceAndOut)
      .place(kFunction | kNnFunction)
      .doc("Elements above `threshold`, and `value` for the others.",
           ">>> torch.threshold(torch.tensor([1., 3.]), 2, 0)\ntensor([0., 3.])");
  ops.define<shrink<Pointwise::kHardshrink>>("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .doc("0 where the magnitude is at most `lambd`.",
           ">>> torch.hardshrink(torch.tensor([0.2, 1.]))\ntensor([0., 1.])");
  ops.define<binary_same<Pointwise::kPrelu>>("_prelu_kernel(Tensor self, Tensor weight) -> Tensor")
      .autocast(AutocastPolicy::kLowerPrecision)
      .internal()
      .doc("The pointwise part of prelu.", ">>> torch._C._functions is not None\nTrue");
  ops.define("glu(Tensor self, int dim=-1) -> Tensor")
      .nn_function()
      .doc("The first half along `dim`, times the sigmoid of the second.",
           ">>> torch.nn.functional.glu(torch.tensor([2., 0.]))\ntensor([1.])");
  ops.define<relu6>("relu6(Tensor self) -> Tensor")
      .node_name("HardtanhBackward0")
      .variants(kInplaceVariant)
      .nn_function()
      .doc("Clamps to the range 0 to 6.",
           ">>> torch.nn.functional.relu6(torch.tensor([7.]))\ntensor([6.])");
  ops.define<hardtanh>("hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor")
      .variants(kInplaceAndOut)
      .nn_function()
      .doc("Clamps to the range `min_val` to `max_val`.",
           ">>> torch.nn.functional.hardtanh(torch.tensor([7.]))\ntensor([1.])");
  ops.define<gelu>("gelu(Tensor self, *, str approximate='none') -> Tensor")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .nn_function()
      .doc("The Gaussian error linear unit.",
           ">>> torch.nn.functional.gelu(torch.tensor([1.]))\ntensor([0.8413])");
  ops.define<float_only<Pointwise::kSilu>>("silu(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .nn_function()
      .doc("x * sigmoid(x).", ">>> torch.nn.functional.silu(torch.tensor([1.]))\ntensor([0.7311])");
  ops.define<float_only<Pointwise::kMish>>("mish(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .nn_function()
      .doc("x * tanh(softplus(x)).",
           ">>> torch.nn.functional.mish(torch.tensor([1.]))\ntensor([0.8651])");
  ops.define<elu>(
         "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor")
      .variants(kInplaceAndOut)
      .nn_function()
      .doc("The exponential linear unit.",
           ">>> torch.nn.functional.elu(torch.tensor([1.]))\ntensor([1.])");
  ops.define<leaky_relu>("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor")
      .variants(kInplaceAndOut)
      .nn_function()
      .doc("x above 0 and negative_slope * x below.",
           ">>> torch.nn.functional.leaky_relu(torch.tensor([-1.]))\ntensor([-0.0100])");
  ops.define<softplus>("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .nn_function()
      .doc("log(1 + exp(beta x)) / beta, and x where that is linear.",
           ">>> torch.nn.functional.softplus(torch.tensor([0.]))\ntensor([0.6931])");
  ops.define<float_only<Pointwise::kHardsigmoid>>("hardsigmoid(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .nn_function()
      .doc("clamp(x / 6 + 1 / 2, 0, 1).",
           ">>> torch.nn.functional.hardsigmoid(torch.tensor([0.]))\ntensor([0.5000])");
  ops.define<float_only<Pointwise::kHardswish>>("hardswish(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .nn_function()
      .doc("x * hardsigmoid(x).",
           ">>> torch.nn.functional.hardswish(torch.tensor([3.]))\ntensor([3.])");
  ops.define<log_sigmoid>("log_sigmoid(Tensor self) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "expected scalar type $R but found $O")
      .also({"logsigmoid"})
      .nn_function()
      .doc("log(sigmoid(x)), without overflow.",
           ">>> torch.nn.functional.logsigmoid(torch.tensor([0.]))\ntensor([-0.6931])");
  ops.define<shrink<Pointwise::kSoftshrink>>("softshrink(Tensor self, Scalar lambd=0.5) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .nn_function()
      .doc("Moves elements towards 0 by `lambd`.",
           ">>> torch.nn.functional.softshrink(torch.tensor([1.]))\ntensor([0.5000])");
}

}  // namespace mindtorch::ops
