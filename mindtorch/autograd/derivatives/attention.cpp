#include "mindtorch/functional/attention.h"
#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

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
  // The kernel gives neither gradients of gradients nor those of the mask.
  if (b.needs(3) || is_grad_enabled()) {
    functional::AttentionGradients made = {b.needs(0), b.needs(1), b.needs(2), b.needs(3)};
    functional::attention_backward(
        b.grad(), {query, key, value, attn_mask, is_causal, scale, dropped, dropout_p}, made);
    const Tensor* const gradients[] = {&made.query, &made.key, &made.value, &made.mask};
    for (int i = 0; i < 4; ++i) {
      if (gradients[i]->defined()) b.set(static_cast<size_t>(i), *gradients[i]);
    }
    return;
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
