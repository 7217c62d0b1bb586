#include <limits>

#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

// The dims of a row, which are the last ones.
Shape last_dims(int64_t ndim, size_t count) {
  Shape dims;
  for (size_t i = 0; i < count; ++i) {
    dims.push_back(ndim - static_cast<int64_t>(count) + static_cast<int64_t>(i));
  }
  return dims;
}
// Sums over all rows.
Tensor sum_rows(const Tensor& x, size_t row_dims) {
  const size_t leading = x.sizes().size() - row_dims;
  if (leading == 0) return x;
  Shape dims;
  for (size_t i = 0; i < leading; ++i) dims.push_back(static_cast<int64_t>(i));
  return sum(x, IntList(dims), false);
}

// Ops of their own compute the gradients; those of the gradients are made of the steps below.
void layer_norm_rows(Backward& b,
                     const Tensor& input,
                     IntList normalized_shape,
                     const Tensor& weight,
                     const TensorMeta&,
                     double eps,
                     const TensorMeta&,
                     const Tensor& saved_mean,
                     const Tensor& saved_rstd) {
  if (!b.grad().defined()) return;
  if (!is_grad_enabled()) {
    const auto [grad_input, grad_weight, grad_bias] =
        native_layer_norm_backward(b.grad(), input, normalized_shape, saved_mean, saved_rstd,
                                   weight, b.needs(0), b.needs(2), b.needs(3));
    if (b.needs(0)) b.set(0, grad_input);
    if (b.needs(2)) b.set(2, grad_weight);
    if (b.needs(3)) b.set(3, grad_bias);
    return;
  }
  const size_t count = normalized_shape.size();
  const Shape dims = last_dims(input.dim(), count);
  const Tensor grad = widened(b.grad());
  const Tensor x = widened(input);
  const auto [variance, centre] = var_mean(x, IntList(dims), Scalar(0), true);
  const Tensor scale = rsqrt(add(variance, Scalar(eps)));
  const Tensor normal = mul(sub(x, centre), scale);
  if (b.needs(0)) {
    const Tensor weighted = weight.defined() ? mul(grad, widened(weight)) : grad;
    const Tensor part = add(mean(weighted, IntList(dims), true),
                            mul(normal, mean(mul(weighted, normal), IntList(dims), true)));
    b.set(0, mul(scale, sub(weighted, part)));
  }
  if (b.needs(2)) b.set(2, sum_rows(mul(grad, normal), count));
  if (b.needs(3)) b.set(3, sum_rows(grad, count));
}

void rms_norm_rows(Backward& b,
                   const Tensor& input,
                   IntList normalized_shape,
                   const Tensor& weight,
                   std::optional<double> eps,
                   const TensorMeta&,
                   const Tensor& saved_rstd) {
  if (!b.grad().defined()) return;
  if (!is_grad_enabled()) {
    const auto [grad_input, grad_weight] = _fused_rms_norm_backward(
        b.grad(), input, normalized_shape, saved_rstd, weight, b.needs(0), b.needs(2));
    if (b.needs(0)) b.set(0, grad_input);
    if (b.needs(2)) b.set(2, grad_weight);
    return;
  }
  const size_t count = normalized_shape.size();
  const Shape dims = last_dims(input.dim(), count);
  const Tensor grad = widened(b.grad());
  const Tensor x = widened(input);
  const double least = wide(input.dtype()) == DType::kFloat64
                           ? std::numeric_limits<double>::epsilon()
                           : double{std::numeric_limits<float>::epsilon()};
  const Tensor scale =
      rsqrt(add(mean(square(x), IntList(dims), true), Scalar(eps.value_or(least))));
  const Tensor normal = mul(x, scale);
  if (b.needs(0)) {
    const Tensor weighted = weight.defined() ? mul(grad, widened(weight)) : grad;
    const Tensor part = mul(normal, mean(mul(weighted, normal), IntList(dims), true));
    b.set(0, mul(scale, sub(weighted, part)));
  }
  if (b.needs(2)) b.set(2, sum_rows(mul(grad, normal), count));
}

}  // namespace

void define_norm(Derivatives& derivatives) {
  derivatives.define<layer_norm_rows>("native_layer_norm");
  derivatives.define<rms_norm_rows>("_fused_rms_norm").named("FusedRmsNormBackward0");
}

}  // namespace mindtorch::autograd
