// Normalisation of channels: over a batch, or in groups of each sample.
#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"

namespace mindtorch::ascend {
namespace {

// Running statistics that start at 0 and move all the way are those of the batch: so CANN tells the
// variance that torch's running one moves towards.
void batch_norm(ops::Launch& on,
                const Tensor& input,
                const Tensor& weight,
                const Tensor& bias,
                const Tensor& mean,
                const Tensor& var,
                double eps,
                bool needs_variance,
                Tensor& out,
                Tensor& save_mean,
                Tensor& save_invstd,
                Tensor& variance) {
  const Tensor none;
  if (out.numel() == 0) return fill_with_zeros(on, {&save_mean, &save_invstd, &variance});
  if (mean.defined()) {
    return call(on, MT_ACLNN(aclnnBatchNorm), input, weight, bias, mean, var, false, 0.0, eps, out,
                none, none);
  }
  if (!needs_variance) {
    return call(on, MT_ACLNN(aclnnBatchNorm), input, weight, bias, none, none, true, 0.0, eps, out,
                save_mean, save_invstd);
  }
  const Tensor average = make_like(on, variance.sizes(), variance.dtype());
  fill_with_zeros(on, {&average, &variance});
  call(on, MT_ACLNN(aclnnBatchNorm), input, weight, bias, average, variance, true, 1.0, eps, out,
       save_mean, save_invstd);
}

void batch_norm_backward(ops::Launch& on,
                         const Tensor& grad_out,
                         const Tensor& input,
                         const Tensor& weight,
                         const Tensor& mean,
                         const Tensor& var,
                         const Tensor& save_mean,
                         const Tensor& save_invstd,
                         double eps,
                         bool needs_input,
                         bool needs_weight,
                         bool needs_bias,
                         Tensor& grad_input,
                         Tensor& grad_weight,
                         Tensor& grad_bias) {
  const Tensor none;
  const bool is_training = !mean.defined();
  const Tensor& of_input = needs_input ? grad_input : none;
  const Tensor& of_weight = needs_weight ? grad_weight : none;
  const Tensor& of_bias = needs_bias ? grad_bias : none;
  if (input.numel() == 0) return fill_with_zeros(on, {&of_weight, &of_bias});
  call(on, MT_ACLNN(aclnnBatchNormBackward), grad_out, input, weight, mean, var,
       is_training ? save_mean : none, is_training ? save_invstd : none, is_training, eps,
       Mask{needs_input, needs_weight, needs_bias}, of_input, of_weight, of_bias);
}

void group_norm(ops::Launch& on,
                const Tensor& input,
                const Tensor& weight,
                const Tensor& bias,
                int64_t n,
                int64_t channels,
                int64_t inner,
                int64_t groups,
                double eps,
                Tensor& out,
                Tensor& mean,
                Tensor& rstd) {
  if (out.numel() == 0) return;
  call(on, MT_ACLNN(aclnnGroupNorm), input, weight, bias, n, channels, inner, groups, eps, out,
       mean, rstd);
}

void group_norm_backward(ops::Launch& on,
                         const Tensor& grad_out,
                         const Tensor& input,
                         const Tensor& mean,
                         const Tensor& rstd,
                         const Tensor& weight,
                         int64_t n,
                         int64_t channels,
                         int64_t inner,
                         int64_t groups,
                         bool needs_input,
                         bool needs_weight,
                         bool needs_bias,
                         Tensor& grad_input,
                         Tensor& grad_weight,
                         Tensor& grad_bias) {
  const Tensor none;
  const Tensor& of_input = needs_input ? grad_input : none;
  const Tensor& of_weight = needs_weight ? grad_weight : none;
  const Tensor& of_bias = needs_bias ? grad_bias : none;
  if (input.numel() == 0) return fill_with_zeros(on, {&of_weight, &of_bias});
  call(on, MT_ACLNN(aclnnGroupNormBackward), grad_out, input, mean, rstd, weight, n, channels,
       inner, groups, Mask{needs_input, needs_weight, needs_bias}, of_input, of_weight, of_bias);
}

}  // namespace

void register_channel_norm(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<batch_norm>(kNpu, "_batch_norm").takes(kFloats);
  registry.kernel<batch_norm_backward>(kNpu, "_batch_norm_backward").takes(kFloats);
  registry.kernel<group_norm>(kNpu, "native_group_norm").takes(kFloats);
  registry.kernel<group_norm_backward>(kNpu, "native_group_norm_backward").takes(kFloats);
}

}  // namespace mindtorch::ascend
