// Attention: values, weighted by how well their keys fit a query.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

// The batch dims of all three are the same, save that the last of them, the heads, may be fewer in
// key and value: each of theirs serves several of query's. The mask broadcasts to the scores.
TensorSpec flash_attention(const Tensor& query,
                           const Tensor&,
                           const Tensor& value,
                           const Tensor&,
                           bool,
                           double,
                           bool like_query,
                           const Tensor&,
                           double) {
  if (like_query) return spec_like(query, query.dtype());
  Shape sizes = query.sizes();
  sizes.back() = value.size(-1);
  return contiguous_spec(std::move(sizes), query.dtype(), query.device());
}

SpecList flash_attention_backward(const Tensor&,
                                  const Tensor& query,
                                  const Tensor& key,
                                  const Tensor& value,
                                  const Tensor&,
                                  const Tensor&,
                                  const Tensor&,
                                  const Tensor&,
                                  bool,
                                  double,
                                  const Tensor&,
                                  double) {
  return {spec_like(query, query.dtype()), spec_like(key, key.dtype()),
          spec_like(value, value.dtype())};
}

}  // namespace

// The second and third result of attention, row_stats and more_stats, are what a device's backward
// pass wants to know of each row of scores: tensors that begin with the dims of query but the last,
// or nothing. `dropped` is what _dropout_mask says of the weights, [batch dims of query, queries,
// keys]; undefined: all of them stay.
void define_attention(Registry& ops) {
  ops.define<flash_attention>(
         "_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, "
         "Tensor? attn_mask, bool is_causal, float scale, bool like_query, Tensor? dropped=None, "
         "float dropout_p=0.0) -> (Tensor, Tensor, Tensor)")
      .auxiliary(2)
      .device_example("F.scaled_dot_product_attention(heads, heads, heads)")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .internal();
  // Not differentiable: where gradients of gradients are wanted, the first ones are made of other
  // ops.
  ops.define<flash_attention_backward>(
         "_scaled_dot_product_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, "
         "Tensor value, Tensor out, Tensor row_stats, Tensor more_stats, "
         "Tensor? attn_mask, bool is_causal, float scale, Tensor? dropped=None, "
         "float dropout_p=0.0) -> (Tensor, Tensor, Tensor)")
      .device_example(
          "grad(F.scaled_dot_product_attention(heads, heads, heads, is_causal=True).sum(), heads)")
      .internal()
      .not_differentiable();
  // The formula itself.
  ops.define(
         "_attention_scores(Tensor query, Tensor key, Tensor? attn_mask, bool is_causal, "
         "float scale) -> Tensor")
      .device_example("torch.ops.aten._scaled_dot_product_attention_math(heads, heads, heads)")
      .internal();
  ops.define(
         "_attention_weights(Tensor query, Tensor key, Tensor? attn_mask, bool is_causal, "
         "float scale) -> Tensor")
      .device_example("torch.ops.aten._scaled_dot_product_attention_math(heads, heads, heads)")
      .internal();
  ops.define(
         "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
         "Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, "
         "float? scale=None, bool enable_gqa=False) -> Tensor")
      .autocast(AutocastPolicy::kLowerPrecision)
      .nn_function()
      .doc("softmax(query @ key.T * scale + attn_mask) @ value.",
           ">>> torch.nn.functional.scaled_dot_product_attention(\n"
           "...     torch.zeros(1, 2), torch.zeros(2, 2), torch.tensor([[1., 2.], [3., 4.]]))\n"
           "tensor([[2., 3.]])");
}

}  // namespace mindtorch::ops
