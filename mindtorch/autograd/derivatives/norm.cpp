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
DType wide(DType dtype) { return dtype == DType::kFloat64 ? dtype : DType::kFloat32; }
Tensor widened(const Tensor& x) {
  return !x.defined() || x.dtype() == wide(x.dtype()) ? x : _to_copy(x, wide(x.dtype()));
}

void layer_norm_rows(Backward& b,
                     const Tensor& input,
                     IntList normalized_shape,
                     const Tensor& weight,
                     const TensorMeta&,
                     double eps,
                     bool) {
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
                   std::optional<double> eps) {
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
  derivatives.define<layer_norm_rows>("layer_norm").named("NativeLayerNormBackward0");
  derivatives.define<rms_norm_rows>("rms_norm").named("FusedRmsNormBackward0");
}

}  // namespace mindtorch::autograd
