#include <cmath>

#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"
#include "mindtorch/ops/dtype_limits.h"

namespace mindtorch::autograd {
namespace {

using Dims = std::optional<IntList>;

// The gradient of a reduction, as large as what was reduced.
Tensor spread(const Tensor& grad, const TensorMeta& self, uint64_t mask, bool keepdim) {
  return expand(restore_dims(grad, mask, self.sizes.size(), keepdim), self.sizes);
}

void sum_over(Backward& b, const TensorMeta& self, Dims dim, bool keepdim, std::optional<DType>) {
  b.set(0, spread(b.grad(), self, dim_mask(dim, self.dim()), keepdim));
}
void nansum_over(Backward& b, const Tensor& self, Dims dim, bool keepdim, std::optional<DType>) {
  const Tensor grad = spread(b.grad(), TensorMeta(self), dim_mask(dim, self.dim()), keepdim);
  b.set(0, mul(grad, logical_not(isnan(self))));
}
void mean_over(Backward& b, const TensorMeta& self, Dims dim, bool keepdim, std::optional<DType>) {
  const uint64_t mask = dim_mask(dim, self.dim());
  const auto count = static_cast<double>(count_of(self.sizes, mask));
  b.set(0, div(spread(b.grad(), self, mask, keepdim), Scalar(count)));
}

// The product of all others along `dim`: those before it times those behind it.
Tensor product_of_others(const Tensor& x, int64_t dim) {
  const int64_t size = x.size(dim);
  const Tensor one = ones_like(narrow(x, dim, 0, 1));
  const Tensor before = cumprod(cat({one, narrow(x, dim, 0, size - 1)}, dim), dim);
  const Tensor from_end = flip(cat({narrow(x, dim, 1, size - 1), one}, dim), IntList{dim});
  return mul(before, flip(cumprod(from_end, dim), IntList{dim}));
}

void prod_over(Backward& b,
               const Tensor& self,
               std::optional<int64_t> dim,
               bool keepdim,
               std::optional<DType>,
               const Tensor& result) {
  if (self.dim() == 0) return b.set(0, b.grad());
  if (self.numel() == 0) return b.set(0, zeros_like(self));
  const uint64_t mask = dim ? dim_mask(IntList(&*dim, 1), self.dim()) : dim_mask({}, self.dim());
  const Tensor grad = restore_dims(b.grad(), mask, self.sizes().size(), keepdim);
  const bool has_zero = is_grad_enabled() || item(any(eq(self, Scalar(0)))).to_bool();
  if (!has_zero) {
    b.set(0, div(mul(grad, restore_dims(result, mask, self.sizes().size(), keepdim)), self));
  } else if (dim) {
    b.set(0, mul(grad, product_of_others(self, *dim)));
  } else {
    b.set(0, mul(grad, reshape(product_of_others(reshape(self, {-1}), 0), self.sizes())));
  }
}

// All elements equal to the result share the gradient.
Tensor share_evenly(
    const Tensor& grad, const Tensor& self, const Tensor& result, uint64_t mask, bool keepdim) {
  const size_t ndim = self.sizes().size();
  const Tensor chosen = restore_dims(result, mask, ndim, keepdim);
  const Tensor is_chosen = logical_or(eq(self, chosen), logical_and(isnan(self), isnan(chosen)));
  const Shape dims = dims_of(mask, ndim);
  const Tensor count = dims.empty() ? is_chosen : sum(is_chosen, IntList(dims), true);
  return mul(div(restore_dims(grad, mask, ndim, keepdim), count), is_chosen);
}

void extreme_over(Backward& b, const Tensor& self, Dims dim, bool keepdim, const Tensor& result) {
  b.set(0, share_evenly(b.grad(), self, result, dim_mask(dim, self.dim()), keepdim));
}
void extreme_of_all(Backward& b, const Tensor& self, const Tensor& result) {
  b.set(0, share_evenly(b.grad(), self, result, dim_mask({}, self.dim()), false));
}
void extremes(Backward& b,
              const Tensor& self,
              std::optional<int64_t> dim,
              bool keepdim,
              const Tensor& low,
              const Tensor& high) {
  const uint64_t mask = dim ? dim_mask(IntList(&*dim, 1), self.dim()) : dim_mask({}, self.dim());
  Tensor total;
  for (size_t i = 0; i < 2; ++i) {
    if (!b.grad(i).defined()) continue;
    const Tensor part = share_evenly(b.grad(i), self, i == 0 ? low : high, mask, keepdim);
    total = total.defined() ? add(total, part) : part;
  }
  b.set(0, total);
}

// The gradient goes to the elements that were picked.
Tensor put_at(const Tensor& grad, const TensorMeta& self, int64_t dim, const Tensor& indices) {
  if (self.dim() == 0) return grad;
  const Tensor whole = zeros(self.sizes, grad.dtype(), grad.device());
  return scatter(whole, dim, indices, grad);
}
Tensor put_reduced(
    const Tensor& grad, const TensorMeta& self, int64_t dim, const Tensor& indices, bool keepdim) {
  if (self.dim() == 0) return grad;
  if (keepdim) return put_at(grad, self, dim, indices);
  return put_at(unsqueeze(grad, dim), self, dim, unsqueeze(indices, dim));
}

void pick_over(Backward& b,
               const TensorMeta& self,
               int64_t dim,
               bool keepdim,
               const TensorMeta&,
               const Tensor& indices) {
  b.set(0, put_reduced(b.grad(), self, dim, indices, keepdim));
}
void kth_over(Backward& b,
              const TensorMeta& self,
              int64_t,
              int64_t dim,
              bool keepdim,
              const TensorMeta&,
              const Tensor& indices) {
  b.set(0, put_reduced(b.grad(), self, dim, indices, keepdim));
}
void topk_over(Backward& b,
               const TensorMeta& self,
               int64_t,
               int64_t dim,
               bool,
               bool,
               const TensorMeta&,
               const Tensor& indices) {
  b.set(0, put_at(b.grad(), self, dim, indices));
}
void sort_along(Backward& b,
                const TensorMeta& self,
                int64_t dim,
                bool,
                const TensorMeta&,
                const Tensor& indices) {
  b.set(0, put_at(b.grad(), self, dim, indices));
}
void sort_stable(Backward& b,
                 const TensorMeta& self,
                 std::optional<bool>,
                 int64_t dim,
                 bool,
                 const TensorMeta&,
                 const Tensor& indices) {
  b.set(0, put_at(b.grad(), self, dim, indices));
}

// --- variance ---
double free_count(const Tensor& self, uint64_t mask, const std::optional<Scalar>& correction) {
  const double taken = correction ? correction->to_double() : 1.0;
  return static_cast<double>(count_of(self.sizes(), mask)) - taken;
}
Tensor variance_gradient(const Tensor& grad,
                         const Tensor& self,
                         uint64_t mask,
                         const std::optional<Scalar>& correction,
                         bool keepdim) {
  const size_t ndim = self.sizes().size();
  const Shape dims = dims_of(mask, ndim);
  const Tensor centre = dims.empty() ? self : mean(self, IntList(dims), true);
  return mul(mul(restore_dims(grad, mask, ndim, keepdim),
                 Scalar(2.0 / free_count(self, mask, correction))),
             sub(self, centre));
}
Tensor deviation_gradient(const Tensor& grad,
                          const Tensor& self,
                          uint64_t mask,
                          const std::optional<Scalar>& correction,
                          bool keepdim,
                          const Tensor& result) {
  const Tensor of_variance =
      masked_fill(div(grad, mul(result, Scalar(2))), eq(result, Scalar(0)), Scalar(0));
  return variance_gradient(of_variance, self, mask, correction, keepdim);
}

void var_over(
    Backward& b, const Tensor& self, Dims dim, std::optional<Scalar> correction, bool keepdim) {
  b.set(0, variance_gradient(b.grad(), self, dim_mask(dim, self.dim()), correction, keepdim));
}
void std_over(Backward& b,
              const Tensor& self,
              Dims dim,
              std::optional<Scalar> correction,
              bool keepdim,
              const Tensor& result) {
  b.set(0,
        deviation_gradient(b.grad(), self, dim_mask(dim, self.dim()), correction, keepdim, result));
}
void add_mean(const Backward& b, const Tensor& self, uint64_t mask, bool keepdim, Tensor& total) {
  if (!b.grad(1).defined()) return;
  const auto count = static_cast<double>(count_of(self.sizes(), mask));
  const Tensor part = div(spread(b.grad(1), TensorMeta(self), mask, keepdim), Scalar(count));
  total = total.defined() ? add(total, part) : part;
}
void var_mean_over(
    Backward& b, const Tensor& self, Dims dim, std::optional<Scalar> correction, bool keepdim) {
  const uint64_t mask = dim_mask(dim, self.dim());
  Tensor total;
  if (b.grad(0).defined()) {
    total = variance_gradient(b.grad(0), self, mask, correction, keepdim);
  }
  add_mean(b, self, mask, keepdim, total);
  b.set(0, total);
}
void std_mean_over(Backward& b,
                   const Tensor& self,
                   Dims dim,
                   std::optional<Scalar> correction,
                   bool keepdim,
                   const Tensor& result) {
  const uint64_t mask = dim_mask(dim, self.dim());
  Tensor total;
  if (b.grad(0).defined()) {
    total = deviation_gradient(b.grad(0), self, mask, correction, keepdim, result);
  }
  add_mean(b, self, mask, keepdim, total);
  b.set(0, total);
}

// --- norms and exponentials ---
void vector_norm(Backward& b,
                 const Tensor& self,
                 const Scalar& ord,
                 Dims dim,
                 bool keepdim,
                 std::optional<DType>,
                 const Tensor& result) {
  const uint64_t mask = dim_mask(dim, self.dim());
  const size_t ndim = self.sizes().size();
  const Tensor grad = restore_dims(b.grad(), mask, ndim, keepdim);
  const Tensor norm = restore_dims(result, mask, ndim, keepdim);
  const double p = ord.to_double();
  const Tensor is_zero = eq(norm, Scalar(0));
  if (p == 0) return b.set(0, zeros_like(self));
  if (p == 1) return b.set(0, mul(sgn(self), grad));
  if (p == 2) {
    return b.set(0, mul(self, masked_fill(div(grad, norm), is_zero, Scalar(0))));
  }
  if (std::isinf(p)) {
    const Tensor size = abs(self);
    return b.set(0, mul(sgn(self), share_evenly(b.grad(), size, result, mask, keepdim)));
  }
  const Tensor size = abs(self);
  if (p < 1) {
    const Tensor part =
        masked_fill(mul(sgn(self), pow(size, Scalar(p - 1))), eq(self, Scalar(0)), Scalar(0));
    return b.set(0, mul(mul(part, grad), pow(norm, Scalar(1 - p))));
  }
  if (p < 2) {
    const Tensor part =
        masked_fill(mul(sgn(self), pow(size, Scalar(p - 1))), eq(self, Scalar(0)), Scalar(0));
    const Tensor scale = masked_fill(div(grad, pow(norm, Scalar(p - 1))), is_zero, Scalar(0));
    return b.set(0, mul(part, scale));
  }
  const Tensor scale = masked_fill(div(grad, pow(norm, Scalar(p - 1))), is_zero, Scalar(0));
  b.set(0, mul(mul(self, pow(size, Scalar(p - 2))), scale));
}

void logsumexp_over(
    Backward& b, const Tensor& self, IntList dim, bool keepdim, const Tensor& result) {
  const uint64_t mask = dim_mask(dim, self.dim());
  const size_t ndim = self.sizes().size();
  const Tensor share = exp(sub(self, restore_dims(result, mask, ndim, keepdim)));
  b.set(0, mul(restore_dims(b.grad(), mask, ndim, keepdim), share));
}
// Ops of their own compute the gradients; those of the gradients are made of the steps.
void softmax_along(
    Backward& b, const TensorMeta& self, int64_t dim, std::optional<DType>, const Tensor& result) {
  if (!is_grad_enabled()) {
    return b.set(0, _softmax_backward_data(b.grad(), result, dim, self.dtype));
  }
  const Tensor weighted = mul(b.grad(), result);
  b.set(0, sub(weighted, mul(result, sum(weighted, IntList(&dim, 1), true))));
}
void log_softmax_along(
    Backward& b, const TensorMeta& self, int64_t dim, std::optional<DType>, const Tensor& result) {
  if (!is_grad_enabled()) {
    return b.set(0, _log_softmax_backward_data(b.grad(), result, dim, self.dtype));
  }
  b.set(0, sub(b.grad(), mul(exp(result), sum(b.grad(), IntList(&dim, 1), true))));
}

// --- scans ---
Tensor sum_from_end(const Tensor& x, int64_t dim) {
  if (x.dim() == 0 || x.numel() == 0) return x;
  return flip(cumsum(flip(x, IntList{dim}), dim), IntList{dim});
}
void cumsum_along(Backward& b, const TensorMeta&, int64_t dim, std::optional<DType>) {
  b.set(0, sum_from_end(b.grad(), dim));
}
void cumprod_along(
    Backward& b, const Tensor& self, int64_t dim, std::optional<DType>, const Tensor& result) {
  if (self.dim() == 0 || self.numel() <= 1) return b.set(0, b.grad());
  const Tensor weighted = mul(b.grad(), result);
  if (!is_grad_enabled() && !item(any(eq(self, Scalar(0)))).to_bool()) {
    return b.set(0, div(sum_from_end(weighted, dim), self));
  }
  // Element k of the gradient: the sum over i >= k of grad[i] * prod(x[j], j <= i, j != k).
  const int64_t size = self.size(dim);
  std::vector<Tensor> parts;
  for (int64_t k = 0; k < size; ++k) {
    const Tensor before =
        k == 0 ? ones_like(select(self, dim, 0)) : prod(narrow(self, dim, 0, k), dim, false);
    const Tensor behind =
        k + 1 == size ? Tensor() : cumprod(narrow(self, dim, k + 1, size - k - 1), dim);
    Tensor factor = unsqueeze(before, dim);
    if (behind.defined()) factor = mul(factor, cat({ones_like(factor), behind}, dim));
    parts.push_back(sum(mul(narrow(b.grad(), dim, k, size - k), factor), IntList(&dim, 1), false));
  }
  b.set(0, stack(parts, dim));
}
void cumulative_pick(
    Backward& b, const TensorMeta& self, int64_t dim, const TensorMeta&, const Tensor& indices) {
  if (self.dim() == 0) return b.set(0, b.grad());
  const Tensor whole = zeros(self.sizes, b.grad().dtype(), b.grad().device());
  b.set(0, scatter_add(whole, dim, indices, b.grad()));
}
void logcumsumexp_along(Backward& b, const Tensor& self, int64_t dim, const Tensor& result) {
  if (self.dim() == 0 || self.numel() == 0) return b.set(0, b.grad());
  const Tensor& grad = b.grad();
  const auto from_end = [&](const Tensor& x) {
    return flip(logcumsumexp(flip(x, IntList{dim}), dim), IntList{dim});
  };
  // Finite: the difference of two infinities has no gradient.
  const Tensor low = full_like(grad, Scalar(ops::limits(grad.dtype()).lowest));
  const Tensor of_positive = where(gt(grad, Scalar(0)), log(grad), low);
  const Tensor of_negative = where(lt(grad, Scalar(0)), log(neg(grad)), low);
  const Tensor positive = exp(add(from_end(sub(of_positive, result)), self));
  const Tensor negative = exp(add(from_end(sub(of_negative, result)), self));
  b.set(0, sub(positive, negative));
}

}  // namespace

void define_reduce(Derivatives& derivatives) {
  derivatives.define<sum_over>("sum.dim_IntList").numbered_by("dim");
  derivatives.define<nansum_over>("nansum");
  derivatives.define<mean_over>("mean.dim").numbered_by("dim");
  derivatives.define<prod_over>("prod.dim_int").numbered_by("dim");
  derivatives.define<extreme_over>("amax");
  derivatives.define<extreme_over>("amin");
  derivatives.define<extremes>("aminmax");
  derivatives.define<extreme_of_all>("max").named("MaxBackward1");
  derivatives.define<extreme_of_all>("min").named("MinBackward1");
  derivatives.define<pick_over>("max.dim");
  derivatives.define<pick_over>("min.dim");
  derivatives.define<extreme_of_all>("median");
  derivatives.define<extreme_of_all>("nanmedian");
  derivatives.define<pick_over>("median.dim").named("MedianBackward1");
  derivatives.define<pick_over>("nanmedian.dim").named("NanmedianBackward1");
  derivatives.define<pick_over>("mode");
  derivatives.define<kth_over>("kthvalue");
  derivatives.define<topk_over>("topk");
  derivatives.define<sort_along>("sort");
  derivatives.define<sort_stable>("sort.stable").named("SortBackward1");
  derivatives.define<var_over>("var.correction");
  derivatives.define<std_over>("std.correction");
  derivatives.define<var_mean_over>("var_mean.correction");
  derivatives.define<std_mean_over>("std_mean.correction");
  derivatives.define<vector_norm>("linalg_vector_norm");
  derivatives.define<logsumexp_over>("logsumexp");
  derivatives.define<softmax_along>("softmax.int");
  derivatives.define<log_softmax_along>("log_softmax.int");
  derivatives.define<cumsum_along>("cumsum");
  derivatives.define<cumprod_along>("cumprod");
  derivatives.define<cumulative_pick>("cummax");
  derivatives.define<cumulative_pick>("cummin");
  derivatives.define<logcumsumexp_along>("logcumsumexp");
}

}  // namespace mindtorch::autograd
