// Losses that compare with classes, or with values.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/functions/declare.h"
#include "mindtorch/ops/reduction.h"

namespace mindtorch::ops {
namespace {

void check_class_dtypes(const Tensor& self, const Tensor& target, const Tensor& weight) {
  MT_CHECK(target.dtype() == DType::kInt64 || target.dtype() == DType::kUInt8, RuntimeError,
           "expected target dtype to be Long or Byte, but got ", legacy_name(target.dtype()));
  MT_CHECK(is_floating_point(self.dtype()), NotImplementedError,
           "\"nll_loss_out_frame\" not implemented for '", legacy_name(self.dtype()), "'");
  MT_CHECK(!weight.defined() || weight.dtype() == self.dtype(), RuntimeError,
           "expected scalar type ", legacy_name(self.dtype()), " but found ",
           legacy_name(weight.dtype()));
}

// Classes, perhaps of a batch.
SpecList nll_loss(
    const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t) {
  MT_CHECK(self.dim() == 1 || self.dim() == 2, RuntimeError, "input tensor should be 1D or 2D");
  MT_CHECK(target.dim() <= 1, RuntimeError,
           "0D or 1D target tensor expected, multi-target not supported");
  const bool has_batch = self.dim() == 2;
  const bool fits =
      has_batch ? target.dim() == 1 && self.size(0) == target.size(0) : target.numel() == 1;
  MT_CHECK(fits, RuntimeError, "size mismatch (got input: ", to_string(self.sizes()),
           ", target: ", to_string(target.sizes()), ")");
  const int64_t classes = self.size(-1);
  MT_CHECK(!weight.defined() || (weight.dim() == 1 && weight.numel() == classes), RuntimeError,
           "weight tensor should be defined either for all ", classes,
           " classes or no classes but got weight tensor of shape: ", to_string(weight.sizes()));
  check_class_dtypes(self, target, weight);
  const bool is_none = reduction == static_cast<int64_t>(Reduction::kNone);
  const Shape sizes = is_none && has_batch ? Shape(target.sizes()) : Shape();
  return {contiguous_spec(sizes, self.dtype(), self.device()),
          contiguous_spec({}, self.dtype(), self.device())};
}

// A class for each place of an image: the classes are in dim 1.
SpecList nll_loss2d(
    const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t) {
  Shape sizes = self.sizes();
  sizes.erase(sizes.begin() + 1);
  MT_CHECK(equal(sizes, target.sizes()), RuntimeError,
           "size mismatch (got input: ", to_string(self.sizes()),
           " , target: ", to_string(target.sizes()));
  MT_CHECK(!weight.defined() || (weight.dim() == 1 && weight.numel() == self.size(1)), RuntimeError,
           "weight tensor should be defined either for all or no classes");
  check_class_dtypes(self, target, weight);
  if (reduction != static_cast<int64_t>(Reduction::kNone)) sizes.clear();
  return {contiguous_spec(std::move(sizes), self.dtype(), self.device()),
          contiguous_spec({}, self.dtype(), self.device())};
}

TensorSpec nll_loss_backward(const Tensor&,
                             const Tensor& self,
                             const Tensor&,
                             const Tensor&,
                             int64_t,
                             int64_t,
                             const Tensor&) {
  return contiguous_spec(self.sizes(), self.dtype(), self.device());
}

// The distance between two numbers; below p0 a parabola that meets it smoothly.
// p1 = 1 / p0
Pointwise smooth_l1_function() {
  static const Pointwise function = [] {
    FunctionInfo info;
    info.name = "smooth_l1";
    info.torch_kernel = "smooth_l1_cpu";
    info.arity = 2;
    Declaration(info)
        .in(kFloatTypes)
        .is([](const Inputs& x) {
          // gap * gap / 2 below p0, p0 * (gap - p0 / 2) above; both divided by p0
          const Expr gap = abs(x.a - x.b);
          const Expr curved = minimum(gap, x.p0);
          return curved * (gap - 0.5 * curved) * x.p1;
        })
        .gradients(
            [](const GradientInputs& x) {
              const Expr gap = x.a - x.b;
              return x.grad * minimum(maximum(gap * x.p1, -1), 1);
            },
            [](const GradientInputs& x) {
              const Expr gap = x.a - x.b;
              return -(x.grad * minimum(maximum(gap * x.p1, -1), 1));
            });
    return register_function(std::move(info));
  }();
  return function;
}
Pointwise squared_difference_function() {
  static const Pointwise function = [] {
    FunctionInfo info;
    info.name = "squared_difference";
    info.torch_kernel = "mse_cpu";
    info.arity = 2;
    Declaration(info)
        .in(kFloatTypes)
        .is([](const Inputs& x) {
          const Expr gap = x.a - x.b;
          return gap * gap;
        })
        .gradients([](const GradientInputs& x) { return x.grad * (2 * (x.a - x.b)); },
                   [](const GradientInputs& x) { return x.grad * (2 * (x.b - x.a)); });
    return register_function(std::move(info));
  }();
  return function;
}
PointwiseCall squared_difference(const Tensor& self, const Tensor& target) {
  const DType dtype = result_type(self, target);
  return PointwiseCall(squared_difference_function(), dtype, dtype).on(self).on(target);
}

PointwiseCall smooth_l1(const Tensor& self, const Tensor& target, double beta) {
  const DType dtype = result_type(self, target);
  return PointwiseCall(smooth_l1_function(), dtype, dtype)
      .on(self)
      .on(target)
      .param(0, beta)
      .param(1, 1 / beta);
}

}  // namespace

void define_loss(Registry& ops) {
  ops.define<nll_loss>(
         "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, "
         "int ignore_index) -> (Tensor, Tensor)")
      .device_example("F.nll_loss(x, rows)")
      .internal()
      .checks_values();
  ops.define<nll_loss_backward>(
         "nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, "
         "int reduction, int ignore_index, Tensor total_weight) -> Tensor")
      .device_example("grad(F.nll_loss(kernel.view(2, 2), rows), kernel)")
      .internal();
  ops.define<nll_loss2d>(
         "nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, "
         "int ignore_index) -> (Tensor, Tensor)")
      .device_example("F.nll_loss(volume[0], torch.zeros(2, 2, 4, dtype=torch.int64))")
      .internal()
      .checks_values();
  ops.define<nll_loss_backward>(
         "nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, "
         "int reduction, int ignore_index, Tensor total_weight) -> Tensor")
      .device_example("grad(F.nll_loss(volume[0], torch.zeros(2, 2, 4, dtype=torch.int64)), image)")
      .internal();
  ops.define(
         "nll_loss_nd(Tensor self, Tensor target, Tensor? weight, int reduction, "
         "int ignore_index) -> Tensor")
      .device_example("F.nll_loss(volume, torch.zeros(1, 2, 2, 4, dtype=torch.int64))")
      .internal();
  ops.define(
         "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight, int reduction, "
         "int ignore_index, float label_smoothing) -> Tensor")
      .device_example("F.cross_entropy(x, rows)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .internal();
  ops.define<squared_difference>("_squared_difference(Tensor self, Tensor target) -> Tensor")
      .device_example("F.mse_loss(x, x + 1)")
      .internal();
  ops.define<smooth_l1>("_smooth_l1(Tensor self, Tensor target, float beta) -> Tensor")
      .device_example("F.smooth_l1_loss(x, x + 1)")
      .internal();
}

}  // namespace mindtorch::ops
