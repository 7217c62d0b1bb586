// Attention: values, weighted by how well their keys fit a query.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

// All three have the same batch; the mask broadcasts to the scores.
TensorSpec attention(const Tensor& query,
                     const Tensor&,
                     const Tensor& value,
                     const Tensor&,
                     bool,
                     double,
                     bool like_query) {
  if (like_query) return spec_like(query, query.dtype());
  Shape sizes = query.sizes();
  sizes.back() = value.size(-1);
  return contiguous_spec(std::move(sizes), query.dtype(), query.device());
}

}  // namespace

void define_attention(Registry& ops) {
  ops.define<attention>(
         "_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, bool is_causal, "
         "float scale, bool like_query) -> Tensor")
      .internal();
  ops.define(
         "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
         "Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, "
         "float? scale=None, bool enable_gqa=False) -> Tensor")
      .nn_function()
      .doc("softmax(query @ key.T * scale + attn_mask) @ value.",
           ">>> torch.nn.functional.scaled_dot_product_attention(\n"
           "...     torch.zeros(1, 2), torch.zeros(2, 2), torch.tensor([[1., 2.], [3., 4.]]))\n"
           "tensor([[2., 3.]])");
}

}  // namespace mindtorch::ops
