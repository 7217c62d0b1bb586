#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

// As many heads of key or value as query has.
Tensor repeated(const Tensor& tensor, int64_t times) {
  return times == 1 ? tensor : repeat_interleave(tensor, times, -3);
}
// The gradient of what was repeated.
Tensor summed(const Tensor& grad, int64_t heads, int64_t times) {
  return times == 1 ? grad : sum(unflatten(grad, -3, {heads, times}), IntList{-3}, false);
}

// Of other ops, for what the fused op does not give: gradients of gradients, and of the mask.
void attend_step_by_step(Backward& b,
                         const Tensor& query,
                         const Tensor& key,
                         const Tensor& value,
                         const Tensor& attn_mask,
                         bool is_causal,
                         double scale,
                         const Tensor& dropped,
                         double dropout_p) {
  const int64_t heads = query.dim() < 3 ? 1 : key.size(-3);
  const int64_t times = query.dim() < 3 || heads == 0 ? 1 : query.size(-3) / heads;
  const Tensor q = widened(query);
  const Tensor k = repeated(widened(key), times);
  const Tensor v = repeated(widened(value), times);
  const Tensor grad = widened(b.grad());
  const Tensor weights = _attention_weights(q, k, attn_mask, is_causal, scale);
  const auto kept = [&](const Tensor& tensor) {
    return dropped.defined() ? _masked_dropout(tensor, dropped, dropout_p) : tensor;
  };
  if (b.needs(2)) b.set(2, summed(matmul(mT(kept(weights)), grad), heads, times));
  if (!b.needs(0) && !b.needs(1) && !b.needs(3)) return;
  const Tensor of_weights = mul(weights, kept(matmul(grad, mT(v))));
  const Tensor of_scores = sub(of_weights, mul(weights, sum(of_weights, IntList{-1}, true)));
  if (b.needs(3)) b.set(3, of_scores);
  const Tensor scaled = mul(of_scores, Scalar(scale));
  if (b.needs(0)) b.set(0, matmul(scaled, k));
  if (b.needs(1)) b.set(1, summed(matmul(mT(scaled), q), heads, times));
}

void flash_attention(Backward& b,
                     const Tensor& query,
                     const Tensor& key,
                     const Tensor& value,
                     const Tensor& attn_mask,
                     bool is_causal,
                     double scale,
                     bool,
                     const Tensor& dropped,
                     double dropout_p,
                     const Tensor& output,
                     const Tensor& row_stats,
                     const Tensor& more_stats) {
  if (b.needs(3) || is_grad_enabled()) {
    return attend_step_by_step(b, query, key, value, attn_mask, is_causal, scale, dropped,
                               dropout_p);
  }
  const auto [grad_query, grad_key, grad_value] = _scaled_dot_product_flash_attention_backward(
      b.grad(), query, key, value, output, row_stats, more_stats, attn_mask, is_causal, scale,
      dropped, dropout_p);
  if (b.needs(0)) b.set(0, grad_query);
  if (b.needs(1)) b.set(1, grad_key);
  if (b.needs(2)) b.set(2, grad_value);
}

}  // namespace

void define_attention(Derivatives& derivatives) {
  derivatives.define<flash_attention>("_scaled_dot_product_flash_attention")
      .named("ScaledDotProductFlashAttentionForCpuBackward0");
}

}  // namespace mindtorch::autograd
