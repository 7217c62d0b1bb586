// Normalisation of channels: over a batch, or in groups of each sample.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/memory_format.h"

namespace mindtorch::ops {
namespace {

// Where channels come last in the input, they do in the result.
TensorSpec laid_out_like(const Tensor& input) {
  TensorSpec spec = contiguous_spec(input.sizes(), input.dtype(), input.device());
  const MemoryFormat format = suggested_format(input);
  if (format != MemoryFormat::kContiguous) spec.strides = strides_for(spec.sizes, format);
  return spec;
}
TensorSpec no_statistic(const Tensor& input) {
  return contiguous_spec({0}, number_dtype(input.dtype()), input.device());
}
TensorSpec statistic(const Tensor& input, Shape sizes) {
  return contiguous_spec(std::move(sizes), number_dtype(input.dtype()), input.device());
}

// 16-bit floats may have parameters of float32; otherwise all are of one dtype.
void check_param_dtypes(const char* kernel,
                        const Tensor& input,
                        std::initializer_list<const Tensor*> params) {
  bool is_mixed = false;
  for (const Tensor* each : params) is_mixed |= each->defined() && each->dtype() != input.dtype();
  if (!is_mixed) {
    MT_CHECK(is_floating_point(input.dtype()), NotImplementedError, "\"", kernel,
             "\" not implemented for '", legacy_name(input.dtype()), "'");
    return;
  }
  for (const Tensor* each : params) {
    MT_CHECK(!each->defined() || each->dtype() == DType::kFloat32, RuntimeError,
             "mixed dtype (CPU): expect parameter to have scalar type of Float");
  }
  MT_CHECK(is_half(input.dtype()), RuntimeError,
           "mixed dtype (CPU): all inputs must share same datatype.");
}

// Without `mean` the statistics are those of the batch, which are given back, and `variance` is
// what a running one moves towards.
SpecList batch_norm(const Tensor& input,
                    const Tensor& weight,
                    const Tensor& bias,
                    const Tensor& mean,
                    const Tensor& var,
                    double,
                    bool needs_variance) {
  check_param_dtypes("batch_norm", input, {&weight, &bias, &mean, &var});
  const TensorSpec none = no_statistic(input);
  const TensorSpec per_channel = statistic(input, {input.size(1)});
  if (mean.defined()) return {laid_out_like(input), none, none, none};
  return {laid_out_like(input), per_channel, per_channel, needs_variance ? per_channel : none};
}

SpecList native_group_norm(const Tensor& input,
                           const Tensor& weight,
                           const Tensor& bias,
                           int64_t n,
                           int64_t,
                           int64_t,
                           int64_t group,
                           double) {
  check_param_dtypes("GroupNormKernelImpl", input, {&weight, &bias});
  return {laid_out_like(input), statistic(input, {n, group}), statistic(input, {n, group})};
}

// What is not wanted is empty.
SpecList gradients(const Tensor& input,
                   const Tensor& weight,
                   bool needs_input,
                   bool needs_weight,
                   bool needs_bias) {
  const TensorSpec none = contiguous_spec({0}, input.dtype(), input.device());
  const DType dtype = weight.defined() ? weight.dtype() : input.dtype();
  const TensorSpec per_channel = contiguous_spec({input.size(1)}, dtype, input.device());
  return {needs_input ? laid_out_like(input) : none, needs_weight ? per_channel : none,
          needs_bias ? per_channel : none};
}

SpecList batch_norm_backward(const Tensor&,
                             const Tensor& input,
                             const Tensor& weight,
                             const Tensor&,
                             const Tensor&,
                             const Tensor&,
                             const Tensor&,
                             double,
                             bool needs_input,
                             bool needs_weight,
                             bool needs_bias) {
  return gradients(input, weight, needs_input, needs_weight, needs_bias);
}
SpecList native_group_norm_backward(const Tensor&,
                                    const Tensor& input,
                                    const Tensor&,
                                    const Tensor&,
                                    const Tensor& weight,
                                    int64_t,
                                    int64_t,
                                    int64_t,
                                    int64_t,
                                    bool needs_input,
                                    bool needs_weight,
                                    bool needs_bias) {
  return gradients(input, weight, needs_input, needs_weight, needs_bias);
}

}  // namespace

void define_channel_norm(Registry& ops) {
  ops.define<batch_norm>(
         "_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? mean, Tensor? var, "
         "float eps, bool needs_variance) -> (Tensor, Tensor, Tensor, Tensor)")
      .device_example("F.batch_norm(image, None, None, training=True)")
      .internal();
  ops.define<batch_norm_backward>(
         "_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? mean, "
         "Tensor? var, Tensor save_mean, Tensor save_invstd, float eps, bool needs_input, "
         "bool needs_weight, bool needs_bias) -> (Tensor, Tensor, Tensor)")
      .device_example("grad(F.batch_norm(image, None, None, training=True).square().sum(), image)")
      .internal()
      .not_differentiable();
  ops.define<native_group_norm>(
         "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, "
         "int group, float eps) -> (Tensor, Tensor, Tensor)")
      .device_example("F.group_norm(volume, 2)")
      .internal();
  ops.define<native_group_norm_backward>(
         "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, "
         "Tensor? weight, int N, int C, int HxW, int group, bool needs_input, bool needs_weight, "
         "bool needs_bias) -> (Tensor, Tensor, Tensor)")
      .device_example("grad(F.group_norm(volume, 2).square().sum(), image)")
      .internal()
      .not_differentiable();
  ops.define(
         "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
         "Tensor? running_var, bool training, float momentum, float eps) -> Tensor")
      .device_example("F.batch_norm(image, torch.zeros(1), torch.ones(1))")
      .internal();
  ops.define(
         "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
         "Tensor? running_var, bool use_input_stats, float momentum, float eps) -> Tensor")
      .device_example("F.instance_norm(image)")
      .internal();
  ops.define(
         "group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float eps) "
         "-> Tensor")
      .device_example("F.group_norm(volume, 1)")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .internal();
}

}  // namespace mindtorch::ops
