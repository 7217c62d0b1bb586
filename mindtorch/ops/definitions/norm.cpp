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

TensorSpec layer_norm(const Tensor& input,
                      IntList normalized_shape,
                      const Tensor& weight,
                      const Tensor& bias,
                      double,
                      bool) {
  check_params(weight, bias, normalized_shape);
  check_last_dims(input, normalized_shape, ", ");
  check_layer_norm_dtypes(input, weight, bias);
  return contiguous_spec(input.sizes(), input.dtype(), input.device());
}

TensorSpec rms_norm(const Tensor& input,
                    IntList normalized_shape,
                    const Tensor& weight,
                    std::optional<double>) {
  check_params(weight, {}, normalized_shape);
  MT_CHECK(input.sizes().size() >= normalized_shape.size(), ValueError,
           "Input tensor must have at least ", normalized_shape.size(), " dimensions, but got ",
           input.dim());
  check_last_dims(input, normalized_shape, "");
  check_floating("rms_norm", input);
  return contiguous_spec(input.sizes(), input.dtype(), input.device());
}

}  // namespace

void define_norm(Registry& ops) {
  ops.define<layer_norm>(
         "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, "
         "Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor")
      .place(kFunction | kNnFunction)
      .doc("The last dimensions, brought to mean 0 and variance 1, times weight plus bias.",
           ">>> torch.layer_norm(torch.tensor([1., 2., 3.]), [3])\n"
           "tensor([-1.2247,  0.0000,  1.2247])");
  ops.define<rms_norm>(
         "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) "
         "-> Tensor")
      .place(kFunction | kNnFunction)
      .doc("The last dimensions, divided by the root of their mean square, times weight.",
           ">>> torch.rms_norm(torch.tensor([3., 4., 0., 0.]), [4])\n"
           "tensor([1.2000, 1.6000, 0.0000, 0.0000])");
}

}  // namespace mindtorch::ops
