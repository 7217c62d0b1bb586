// Losses that compare with classes, or with values.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/functions/declare.h"
#include "mindtorch/ops/reduction.h"
#include "mindtorch/tensor/accelerators.h"

namespace mindtorch::ops {
namespace {

void check_class_dtypes(const Tensor& self, const Tensor& target, const Tensor& weight) {
  const bool is_class =
      is_index_dtype(target.dtype(), self.device()) || target.dtype() == DType::kUInt8;
  MT_CHECK(is_class, RuntimeError, "expected target dtype to be Long or Byte, but got ",
           legacy_name(target.dtype()));
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

PointwiseCall squared_difference(const Tensor& self, const Tensor& target) {
  static const Pointwise function = function_named("squared_difference");
  const DType dtype = result_type(self, target);
  return PointwiseCall(function, dtype, dtype).on(self).on(target);
}

// Of probabilities: a certain mistake has torch's finite loss and gradient.
Pointwise binary_cross_entropy_function() {
  static const Pointwise function = [] {
    FunctionInfo info;
    info.name = "binary_cross_entropy";
    info.torch_kernel = "binary_cross_entropy";
    info.arity = 2;
    Declaration(info)
        .in(kFloatTypes)
        .is([](const Inputs& x) {
          const Expr hit = x.b * maximum(log(x.a), -100);
          const Expr miss = (1 - x.b) * maximum(log1p(-x.a), -100);
          return -(hit + miss);
        })
        .gradients(
            [](const GradientInputs& x) {
              return x.grad * (x.a - x.b) / maximum(x.a * (1 - x.a), 1e-12);
            },
            [](const GradientInputs& x) { return x.grad * (log1p(-x.a) - log(x.a)); });
    return register_function(std::move(info));
  }();
  return function;
}
PointwiseCall binary_cross_entropy(const Tensor& self, const Tensor& target) {
  const DType dtype = result_type(self, target);
  return PointwiseCall(binary_cross_entropy_function(), dtype, dtype).on(self).on(target);
}

PointwiseCall smooth_l1(const Tensor& self, const Tensor& target, double beta) {
  static const Pointwise function = function_named("smooth_l1");
  const DType dtype = result_type(self, target);
  return PointwiseCall(function, dtype, dtype)
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
      .autocast(AutocastPolicy::kFloat32)
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
  ops.define<binary_cross_entropy>("_binary_cross_entropy(Tensor self, Tensor target) -> Tensor")
      .device_example("F.binary_cross_entropy(x / 10, x / 10)")
      .internal();

  ops.define("mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor")
      .device_example("F.mse_loss(x, x + 1)")
      .internal()
      .autocast(AutocastPolicy::kFloat32);
  ops.define("l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor")
      .device_example("F.l1_loss(x, x * 2)")
      .internal()
      .autocast(AutocastPolicy::kFloat32);
  ops.define(
         "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0) -> Tensor")
      .device_example("F.smooth_l1_loss(x, x * 2)")
      .internal()
      .autocast(AutocastPolicy::kFloat32);
  ops.define("huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0) -> Tensor")
      .device_example("F.huber_loss(x, x * 2, delta=0.5)")
      .internal()
      .autocast(AutocastPolicy::kFloat32);
  ops.define(
         "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, "
         "int reduction) -> Tensor")
      .device_example("F.poisson_nll_loss(x, x)")
      .internal()
      .autocast(AutocastPolicy::kFloat32);
  ops.define(
         "kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor")
      .device_example("F.kl_div(x, x, reduction='batchmean')")
      .internal()
      .autocast(AutocastPolicy::kFloat32);
  ops.define(
         "hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=1) -> "
         "Tensor")
      .device_example("F.hinge_embedding_loss(x[0], x[0] - 2)")
      .internal()
      .autocast(AutocastPolicy::kFloat32);
  ops.define(
         "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, "
         "int reduction=1) -> Tensor")
      .device_example("F.margin_ranking_loss(x[0], x[1], x[0])")
      .internal()
      .autocast(AutocastPolicy::kFloat32);
  ops.define(
         "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, "
         "int reduction=1) -> Tensor")
      .device_example("F.cosine_embedding_loss(x, x + 1, rows)")
      .internal()
      .autocast(AutocastPolicy::kFloat32);
  ops.define(
         "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, "
         "float p=2.0, float eps=1e-06, bool swap=False, int reduction=1) -> Tensor")
      .device_example("F.triplet_margin_loss(x, x + 1, x * 2)")
      .internal()
      .autocast(AutocastPolicy::kFloat32);
  ops.define("soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor")
      .device_example("F.soft_margin_loss(x, -x)")
      .internal()
      .autocast(AutocastPolicy::kFloat32);
  ops.define(
         "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) "
         "-> Tensor")
      .device_example("F.binary_cross_entropy(x / 10, x / 10)")
      .internal()
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .autocast_on_accelerators(AutocastPolicy::kRefused);
  ops.define(
         "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, "
         "Tensor? pos_weight=None, int reduction=1) -> Tensor")
      .device_example("F.binary_cross_entropy_with_logits(x, x / 10)")
      .internal()
      .autocast(AutocastPolicy::kFloat32);
  ops.define(
         "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, "
         "Tensor? weight=None, int reduction=1) -> Tensor")
      .device_example("F.multi_margin_loss(x, rows)")
      .internal()
      .autocast(AutocastPolicy::kFloat32);
  ops.define("multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor")
      .device_example("F.multilabel_margin_loss(x, places)")
      .internal()
      .autocast(AutocastPolicy::kFloat32);
}

}  // namespace mindtorch::ops
