// Normalisation of the last dimensions.
#include <algorithm>

#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

void check_param(const char* name, const Tensor& param, IntList normalized_shape) {
  MT_CHECK(!param.defined() || std::ranges::equal(param.sizes(), normalized_shape), RuntimeError,
           "Expected ", name, " to be of same shape as normalized_shape, but got ", name,
           " of shape ", to_string(param.sizes()),
           " and normalized_shape = ", to_string(normalized_shape));
}

void check_params(const Tensor& weight, const Tensor& bias, IntList normalized_shape) {
  MT_CHECK(!normalized_shape.empty(), RuntimeError,
           "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
           "element, but got normalized_shape = []");
  check_param("weight", weight, normalized_shape);
  check_param("bias", bias, normalized_shape);
}

// `separator` is what torch writes after the star in its text.
void check_last_dims(const Tensor& input, IntList normalized_shape, const char* separator) {
  const size_t n = normalized_shape.size();
  const IntList sizes = input.sizes();
  const bool fits = sizes.size() >= n && std::ranges::equal(sizes.last(n), normalized_shape);
  MT_CHECK(fits, RuntimeError, "Given normalized_shape=", to_string(normalized_shape),
           ", expected input with shape [*", separator, to_string(normalized_shape).substr(1),
           ", but got input of size", to_string(input.sizes()));
}

void check_floating(const char* name, const Tensor& input) {
  MT_CHECK(is_floating_point(input.dtype()), NotImplementedError, "\"", name,
           "\" not implemented for '", legacy_name(input.dtype()), "'");
}

// 16-bit floats may have parameters of float32; otherwise all are of one dtype.
void check_layer_norm_dtypes(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const Tensor& first = weight.defined() ? weight : bias;
  if (first.defined() && first.dtype() != input.dtype()) {
    const auto is_float = [](const Tensor& param) {
      return !param.defined() || param.dtype() == DType::kFloat32;
    };
    MT_CHECK(is_float(weight) && is_float(bias), RuntimeError,
             "mixed dtype (CPU): expect parameter to have scalar type of Float");
    MT_CHECK(input.dtype() == DType::kFloat16 || input.dtype() == DType::kBFloat16, RuntimeError,
             "mixed dtype (CPU): all inputs must share same datatype.");
    return;
  }
  check_floating("LayerNormKernelImpl", input);
  MT_CHECK(!bias.defined() || bias.dtype() == input.dtype(), RuntimeError, "expected scalar type ",
           legacy_name(input.dtype()), " but found ", legacy_name(bias.dtype()));
}

// What is computed over rows of the input, and has no place for the row's dims but 1.
TensorSpec statistic(const Tensor& input, IntList normalized_shape) {
  Shape sizes = input.sizes();
  std::fill(sizes.end() - static_cast<int64_t>(normalized_shape.size()), sizes.end(), 1);
  return contiguous_spec(std::move(sizes), number_dtype(input.dtype()), input.device());
}

SpecList native_layer_norm(const Tensor& input,
                           IntList normalized_shape,
                           const Tensor& weight,
                           const Tensor& bias,
                           double) {
  check_params(weight, bias, normalized_shape);
  check_last_dims(input, normalized_shape, ", ");
  check_layer_norm_dtypes(input, weight, bias);
  const TensorSpec per_row = statistic(input, normalized_shape);
  return {contiguous_spec(input.sizes(), input.dtype(), input.device()), per_row, per_row};
}

SpecList fused_rms_norm(const Tensor& input,
                        IntList normalized_shape,
                        const Tensor& weight,
                        std::optional<double>) {
  check_params(weight, {}, normalized_shape);
  MT_CHECK(input.sizes().size() >= normalized_shape.size(), ValueError,
           "Input tensor must have at least ", normalized_shape.size(), " dimensions, but got ",
           input.dim());
  check_last_dims(input, normalized_shape, "");
  check_floating("rms_norm", input);
  return {contiguous_spec(input.sizes(), input.dtype(), input.device()),
          statistic(input, normalized_shape)};
}

// The gradient of the input, and those of parameters of `sizes`. What is not wanted is empty.
SpecList gradients(const Tensor& input,
                   IntList sizes,
                   const Tensor& weight,
                   bool needs_input,
                   std::initializer_list<bool> needs_params) {
  const TensorSpec none = contiguous_spec({0}, input.dtype(), input.device());
  const DType dtype = weight.defined() ? weight.dtype() : input.dtype();
  SpecList specs;
  specs.push_back(needs_input ? contiguous_spec(input.sizes(), input.dtype(), input.device())
                              : none);
  for (const bool wanted : needs_params) {
    specs.push_back(wanted ? contiguous_spec(Shape(sizes), dtype, input.device()) : none);
  }
  return specs;
}

SpecList native_layer_norm_backward(const Tensor&,
                                    const Tensor& input,
                                    IntList normalized_shape,
                                    const Tensor&,
                                    const Tensor&,
                                    const Tensor& weight,
                                    bool needs_input,
                                    bool needs_weight,
                                    bool needs_bias) {
  return gradients(input, normalized_shape, weight, needs_input, {needs_weight, needs_bias});
}
SpecList fused_rms_norm_backward(const Tensor&,
                                 const Tensor& input,
                                 IntList normalized_shape,
                                 const Tensor&,
                                 const Tensor& weight,
                                 bool needs_input,
                                 bool needs_weight) {
  return gradients(input, normalized_shape, weight, needs_input, {needs_weight});
}

}  // namespace

void define_norm(Registry& ops) {
  ops.define(
         "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, "
         "Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .place(kFunction | kNnFunction)
      .doc("The last dimensions, brought to mean 0 and variance 1, times weight plus bias.",
           ">>> torch.layer_norm(torch.tensor([1., 2., 3.]), [3])\n"
           "tensor([-1.2247,  0.0000,  1.2247])");
  ops.define<native_layer_norm>(
         "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, "
         "float eps) -> (Tensor, Tensor, Tensor)")
      .device_example("F.layer_norm(image, (4,))")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .internal();
  ops.define<native_layer_norm_backward>(
         "native_layer_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, "
         "Tensor mean, Tensor rstd, Tensor? weight, bool needs_input, bool needs_weight, "
         "bool needs_bias) -> (Tensor, Tensor, Tensor)")
      .device_example("grad(F.layer_norm(image, (4,)).square().sum(), image)")
      .internal()
      .not_differentiable();
  ops.define(
         "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) "
         "-> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .place(kFunction | kNnFunction)
      .doc("The last dimensions, divided by the root of their mean square, times weight.",
           ">>> torch.rms_norm(torch.tensor([3., 4., 0., 0.]), [4])\n"
           "tensor([1.2000, 1.6000, 0.0000, 0.0000])");
  ops.define<fused_rms_norm>(
         "_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) "
         "-> (Tensor, Tensor)")
      .device_example("F.rms_norm(image, (4,))")
      .internal();
  ops.define<fused_rms_norm_backward>(
         "_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, "
         "Tensor rstd, Tensor? weight, bool needs_input, bool needs_weight) -> (Tensor, Tensor)")
      .device_example("grad(F.rms_norm(image, (4,)).square().sum(), image)")
      .internal()
      .not_differentiable();
}

}  // namespace mindtorch::ops
