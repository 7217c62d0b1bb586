#include <limits>

#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

Tensor mT(const Tensor& x) { return transpose(x, -2, -1); }

// The weights are computed anew: keeping them would take rows times columns.
void attend(Backward& b,
            const Tensor& query,
            const Tensor& key,
            const Tensor& value,
            const Tensor& attn_mask,
            bool is_causal,
            double scale,
            bool) {
  const DType wide = query.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const auto widened = [&](const Tensor& x) {
    return x.dtype() == wide || x.dtype() == DType::kBool ? x : _to_copy(x, wide);
  };
  const Scalar hidden(-std::numeric_limits<double>::infinity());
  const Tensor q = widened(query);
  const Tensor k = widened(key);
  const Tensor v = widened(value);
  const Tensor grad = widened(b.grad());
  Tensor scores = mul(matmul(q, mT(k)), Scalar(scale));
  if (is_causal) {
    const Tensor seen = ones({query.size(-2), key.size(-2)}, DType::kBool, query.device());
    scores = masked_fill(scores, logical_not(tril(seen)), hidden);
  }
  if (attn_mask.defined()) {
    scores = attn_mask.dtype() == DType::kBool ? masked_fill(scores, logical_not(attn_mask), hidden)
                                               : add(scores, widened(attn_mask));
  }
  Tensor weights = softmax(scores, -1);
  if (attn_mask.defined() && scores.size(-1) != 0) {  // a row that sees nothing gives 0
    weights = masked_fill(weights, eq(amax(scores, IntList{-1}, true), hidden), Scalar(0.0));
  }
  if (b.needs(2)) b.set(2, matmul(mT(weights), grad));
  if (!b.needs(0) && !b.needs(1) && !b.needs(3)) return;
  const Tensor of_weights = mul(weights, matmul(grad, mT(v)));
  const Tensor of_scores = sub(of_weights, mul(weights, sum(of_weights, IntList{-1}, true)));
  if (b.needs(3)) b.set(3, of_scores);
  const Tensor scaled = mul(of_scores, Scalar(scale));
  if (b.needs(0)) b.set(0, matmul(scaled, k));
  if (b.needs(1)) b.set(1, matmul(mT(scaled), q));
}

}  // namespace

void define_attention(Derivatives& derivatives) {
  derivatives.define<attend>("_attention").named("ScaledDotProductFlashAttentionForCpuBackward0");
}

}  // namespace mindtorch::autograd
