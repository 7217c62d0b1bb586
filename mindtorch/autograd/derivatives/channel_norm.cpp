#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

// A number for each channel, as large as an input of so many dims.
Tensor along_channels(const Tensor& values, int64_t ndim) {
  Shape sizes(static_cast<size_t>(ndim), 1);
  sizes[1] = -1;
  return reshape(values, sizes);
}
Tensor weighted(const Tensor& grad, const Tensor& weight) {
  return weight.defined() ? mul(grad, along_channels(widened(weight), grad.dim())) : grad;
}

// Sums over all but the channels.
Tensor sum_to_channels(const Tensor& x) {
  Shape dims;
  for (int64_t i = 0; i < x.dim(); ++i) {
    if (i != 1) dims.push_back(i);
  }
  return sum(x, IntList(dims), false);
}

// Ops of their own compute the gradients; those of the gradients are made of these steps, where
// `dims` are what was normalised together. Gives (x - mean) / deviation.
Tensor steps(const Tensor& x, const Tensor& grad, IntList dims, double eps, Tensor& grad_input) {
  const auto [variance, centre] = var_mean(x, dims, Scalar(0), true);
  const Tensor scale = rsqrt(add(variance, Scalar(eps)));
  const Tensor normal = mul(sub(x, centre), scale);
  const Tensor part = add(mean(grad, dims, true), mul(normal, mean(mul(grad, normal), dims, true)));
  grad_input = mul(scale, sub(grad, part));
  return normal;
}

void batch_norm(Backward& b,
                const Tensor& input,
                const Tensor& weight,
                const TensorMeta&,
                const Tensor& running_mean,
                const Tensor& running_var,
                double eps,
                bool,
                const TensorMeta&,
                const Tensor& save_mean,
                const Tensor& save_invstd,
                const TensorMeta&) {
  if (!b.grad().defined()) return;
  if (input.numel() == 0) {  // the statistics of nothing are NaN; no element depends on them
    const Tensor none = sum_to_channels(widened(b.grad()));
    if (b.needs(0)) b.set(0, b.grad());
    if (b.needs(1)) b.set(1, none);
    if (b.needs(2)) b.set(2, none);
    return;
  }
  if (!is_grad_enabled()) {
    const auto [grad_input, grad_weight, grad_bias] =
        _batch_norm_backward(b.grad(), input, weight, running_mean, running_var, save_mean,
                             save_invstd, eps, b.needs(0), b.needs(1), b.needs(2));
    if (b.needs(0)) b.set(0, grad_input);
    if (b.needs(1)) b.set(1, grad_weight);
    if (b.needs(2)) b.set(2, grad_bias);
    return;
  }
  const Tensor grad = widened(b.grad());
  const Tensor x = widened(input);
  Tensor grad_input;
  Tensor normal;
  if (running_mean.defined()) {
    const Tensor scale = rsqrt(add(widened(running_var), Scalar(eps)));
    const Tensor factor = along_channels(scale, x.dim());
    normal = mul(sub(x, along_channels(widened(running_mean), x.dim())), factor);
    grad_input = mul(weighted(grad, weight), factor);
  } else {
    Shape dims;
    for (int64_t i = 0; i < x.dim(); ++i) {
      if (i != 1) dims.push_back(i);
    }
    normal = steps(x, weighted(grad, weight), dims, eps, grad_input);
  }
  if (b.needs(0)) b.set(0, grad_input);
  if (b.needs(1)) b.set(1, sum_to_channels(mul(grad, normal)));
  if (b.needs(2)) b.set(2, sum_to_channels(grad));
}

void group_norm(Backward& b,
                const Tensor& input,
                const Tensor& weight,
                const TensorMeta&,
                int64_t n,
                int64_t channels,
                int64_t inner,
                int64_t groups,
                double eps,
                const TensorMeta&,
                const Tensor& saved_mean,
                const Tensor& saved_rstd) {
  if (!b.grad().defined()) return;
  if (!is_grad_enabled()) {
    const auto [grad_input, grad_weight, grad_bias] =
        native_group_norm_backward(b.grad(), input, saved_mean, saved_rstd, weight, n, channels,
                                   inner, groups, b.needs(0), b.needs(1), b.needs(2));
    if (b.needs(0)) b.set(0, grad_input);
    if (b.needs(1)) b.set(1, grad_weight);
    if (b.needs(2)) b.set(2, grad_bias);
    return;
  }
  const Shape planes = {n, channels, inner};
  const Shape grouped = {n, groups, channels / groups * inner};
  const Tensor grad = reshape(widened(b.grad()), planes);
  Tensor grad_input;
  const Tensor normal = steps(reshape(widened(input), grouped),
                              reshape(weighted(grad, weight), grouped), {2}, eps, grad_input);
  if (b.needs(0)) b.set(0, reshape(grad_input, input.sizes()));
  if (b.needs(1)) b.set(1, sum_to_channels(mul(grad, reshape(normal, planes))));
  if (b.needs(2)) b.set(2, sum_to_channels(grad));
}

}  // namespace

void define_channel_norm(Derivatives& derivatives) {
  derivatives.define<batch_norm>("_batch_norm").named("NativeBatchNormBackward0");
  derivatives.define<group_norm>("native_group_norm");
}

}  // namespace mindtorch::autograd
