#include <algorithm>
#include <limits>

#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"

namespace mindtorch::ascend {
namespace {

void layer_norm(ops::Launch& on,
                const Tensor& input,
                IntList normalized_shape,
                const Tensor& weight,
                const Tensor& bias,
                double eps,
                Tensor& out,
                Tensor& mean,
                Tensor& rstd) {
  if (out.numel() == 0) return;
  call(on, MT_ACLNN(aclnnLayerNorm), input, normalized_shape, weight, bias, eps, out, mean, rstd);
}

void layer_norm_backward(ops::Launch& on,
                         const Tensor& grad_out,
                         const Tensor& input,
                         IntList normalized_shape,
                         const Tensor& mean,
                         const Tensor& rstd,
                         const Tensor& weight,
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
  call(on, MT_ACLNN(aclnnLayerNormBackward), grad_out, input, normalized_shape, mean, rstd, weight,
       none, Mask{needs_input, needs_weight, needs_bias}, of_input, of_weight, of_bias);
}

// CANN wants a weight, of the input's dtype or float32.
Tensor weight_of_rows(ops::Launch& on,
                      const Tensor& input,
                      IntList normalized_shape,
                      const Tensor& weight) {
  if (weight.defined()) {
    return weight.dtype() == input.dtype() ? weight : on_device(on, weight, DType::kFloat32);
  }
  const Tensor ones = make_like(on, normalized_shape, input.dtype());
  call(on, MT_ACLNN(aclnnInplaceOne), ones);
  return ones;
}

void rms_norm(ops::Launch& on,
              const Tensor& input,
              IntList normalized_shape,
              const Tensor& weight,
              std::optional<double> eps,
              Tensor& out,
              Tensor& rstd) {
  if (out.numel() == 0) return;
  const Tensor gamma = weight_of_rows(on, input, normalized_shape, weight);
  const double least = std::numeric_limits<float>::epsilon();
  call(on, MT_ACLNN(aclnnRmsNorm), input, gamma, eps.value_or(least), out, rstd);
}

// CANN gives both gradients always, that of the weight in float32.
void rms_norm_backward(ops::Launch& on,
                       const Tensor& grad_out,
                       const Tensor& input,
                       IntList normalized_shape,
                       const Tensor& rstd,
                       const Tensor& weight,
                       bool needs_input,
                       bool needs_weight,
                       Tensor& grad_input,
                       Tensor& grad_weight) {
  const Tensor none;
  if (input.numel() == 0) return fill_with_zeros(on, {needs_weight ? &grad_weight : &none});
  const Tensor gamma = weight_of_rows(on, input, normalized_shape, weight);
  const Tensor of_input = needs_input ? grad_input : make_like(on, input.sizes(), input.dtype());
  const bool in_place = needs_weight && grad_weight.dtype() == DType::kFloat32;
  const Tensor of_weight =
      in_place ? grad_weight : make_like(on, normalized_shape, DType::kFloat32);
  call(on, MT_ACLNN(aclnnRmsNormGrad), grad_out, input, rstd, gamma, of_input, of_weight);
  if (needs_weight && !in_place) call(on, MT_ACLNN(aclnnInplaceCopy), grad_weight, of_weight);
}

}  // namespace

void register_norm(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<layer_norm>(kNpu, "native_layer_norm").takes(kFloats);
  registry.kernel<layer_norm_backward>(kNpu, "native_layer_norm_backward").takes(kFloats);
  registry.kernel<rms_norm>(kNpu, "_fused_rms_norm").takes(kFloats);
  registry.kernel<rms_norm_backward>(kNpu, "_fused_rms_norm_backward").takes(kFloats);
}

}  // namespace mindtorch::ascend
