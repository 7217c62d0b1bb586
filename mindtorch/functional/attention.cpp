// scaled_dot_product_attention: torch's rules around the op that computes it, and its formula for
// calls that no kernel takes.
#include "mindtorch/functional/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "mindtorch/dispatch/eager/layers.h"
#include "mindtorch/dispatch/execute/executor.h"
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/dropout.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/functional/has_kernel.h"
#include "mindtorch/ops/dtype_limits.h"

namespace mindtorch::functional {
namespace {

void check_inputs(const Tensor& query,
                  const Tensor& key,
                  const Tensor& value,
                  const Tensor& mask,
                  double dropout_p) {
  const auto type = [](const Tensor& tensor) { return ops::limits(tensor.dtype()).type_name; };
  MT_CHECK(query.dtype() == key.dtype() && query.dtype() == value.dtype(), RuntimeError,
           "Expected query, key, and value to have the same dtype, but got query.dtype: ",
           type(query), " key.dtype: ", type(key), " and value.dtype: ", type(value), " instead.");
  MT_CHECK(query.device() == key.device() && query.device() == value.device(), RuntimeError,
           "Expected query, key, and value to have the same device type, but got query.device: ",
           query.device().str(), " key.device: ", key.device().str(),
           " and value.device: ", value.device().str(), " instead.");
  MT_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2, RuntimeError,
           "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ",
           query.dim(), " key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
  MT_CHECK(is_floating_point(query.dtype()), RuntimeError, "expected scalar type Float but found ",
           legacy_name(query.dtype()));
  MT_CHECK(dropout_p >= 0 && dropout_p <= 1, RuntimeError,
           "dropout probability has to be between 0 and 1, but got ", dropout_p);
  if (!mask.defined()) return;
  MT_CHECK(mask.dtype() == DType::kBool || mask.dtype() == DType::kFloat32 ||
               mask.dtype() == query.dtype(),
           RuntimeError,
           "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
           "attn_mask.dtype: ",
           type(mask), " and  query.dtype: ", type(query), " instead.");
  wrap_dim(-2, mask.dim());  // refuses vectors and numbers
}

Tensor as_dtype(const Tensor& tensor, DType dtype) {
  return tensor.dtype() == dtype ? tensor : _to_copy(tensor, dtype);
}

Shape joined(IntList batch, int64_t rows, int64_t columns) {
  Shape sizes(batch);
  sizes.push_back(rows);
  sizes.push_back(columns);
  return sizes;
}
IntList batch_of(const Tensor& tensor) {
  return IntList(tensor.sizes()).first(tensor.sizes().size() - 2);
}

// The batch of a product of matrices, or torch's error.
Shape product_batch(IntList left, IntList right, int64_t m, int64_t k, int64_t other_k, int64_t n) {
  const Shape batch = broadcast_shapes(left, right);
  if (k == other_k) return batch;
  MT_CHECK(!batch.empty(), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (", m, "x", k,
           " and ", other_k, "x", n, ")");
  MT_THROW(RuntimeError, "Expected size for first two dimensions of batch2 tensor to be: [",
           numel(batch), ", ", k, "] but got: [", numel(batch), ", ", other_k, "].");
}

// Whether torch has a kernel of its own for such a call. It gives the result the layout of query.
bool is_fused(const Tensor& query,
              const Tensor& key,
              const Tensor& value,
              const Tensor& mask,
              double dropout_p) {
  for (const Tensor* each : {&query, &key, &value}) {
    if (each->dim() != 4 || each->size(3) != query.size(3) || each->numel() == 0) return false;
    if (each->size(0) != query.size(0) || each->strides()[3] != 1) return false;
  }
  if (key.size(1) != value.size(1) || dropout_p != 0) return false;
  return !mask.defined() || mask.dim() == 2 || mask.dim() == 4;
}

DType wide_dtype(const Tensor& query) {
  return query.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

// In float32, or float64, as far as the device multiplies matrices of it.
Tensor product(const Tensor& left, const Tensor& right, DType narrow) {
  static const ops::Op& op = ops::registry().at("bmm");
  const DType wide = wide_dtype(left);
  const DType dtype = has_kernel(op, left.device().type, wide) ? wide : narrow;
  return as_dtype(matmul(as_dtype(left, dtype), as_dtype(right, dtype)), wide);
}

Tensor mT(const Tensor& tensor) { return transpose(tensor, -2, -1); }

const Scalar kHidden(-std::numeric_limits<double>::infinity());

// Of a matrix of scores for each head, which may be as many in key as in query. In float32, or
// float64.
Tensor attention_scores(
    const Tensor& query, const Tensor& key, const Tensor& mask, bool is_causal, double scale) {
  const DType wide = wide_dtype(query);
  Tensor scores = mul(product(query, mT(key), query.dtype()), Scalar(scale));
  if (is_causal) {
    const Tensor seen = ones({query.size(-2), key.size(-2)}, DType::kBool, query.device());
    scores = masked_fill(scores, logical_not(tril(seen)), kHidden);
  }
  if (!mask.defined()) return scores;
  return mask.dtype() == DType::kBool ? masked_fill(scores, logical_not(mask), kHidden)
                                      : add(scores, as_dtype(mask, wide));
}

// How much each query takes of each value; 0 where a mask lets it see nothing.
Tensor attention_weights(
    const Tensor& query, const Tensor& key, const Tensor& mask, bool is_causal, double scale) {
  const Tensor scores = _attention_scores(query, key, mask, is_causal, scale);
  const Tensor weights = softmax(scores, -1);
  if (!mask.defined() || scores.size(-1) == 0) return weights;
  return masked_fill(weights, eq(amax(scores, IntList{-1}, true), kHidden), Scalar(0.0));
}

// Written out, for the weights that are dropped.
Tensor with_dropout(const Tensor& query,
                    const Tensor& key,
                    const Tensor& value,
                    const Tensor& mask,
                    bool is_causal,
                    double scale,
                    double dropout_p) {
  Tensor weights = _attention_weights(query, key, mask, is_causal, scale);
  if (dropout_p == 1) {
    weights = mul(weights, Scalar(0.0));
  } else {
    const Tensor kept = empty_like(weights);
    bernoulli_(kept, 1 - dropout_p);
    weights = mul(weights, div_(kept, Scalar(1 - dropout_p)));
  }
  return as_dtype(product(weights, value, query.dtype()), query.dtype());
}

struct Settings {
  bool is_causal;
  double scale;
  bool fused;
  double dropout_p;
  bool drops_inside;  // by the device's own kernel of attention, which is told what to drop
};

// Where `grouped`, each head of key and value may serve several heads of query.
Tensor attend(const Tensor& query,
              const Tensor& key,
              const Tensor& value,
              const Tensor& mask,
              const Settings& s,
              bool grouped) {
  const int64_t rows = query.size(-2);
  const int64_t columns = key.size(-2);
  const auto full_batch = [&](const Tensor& tensor) {
    Shape batch(batch_of(tensor));
    if (grouped) batch.back() = query.size(-3);
    return batch;
  };
  const Shape scored =
      product_batch(batch_of(query), full_batch(key), rows, query.size(-1), key.size(-1), columns);
  const Shape batch =
      product_batch(scored, full_batch(value), rows, columns, value.size(-2), value.size(-1));
  if (mask.defined()) {
    const Shape scores = joined(scored, rows, columns);
    const Shape both = broadcast_shapes(scores, mask.sizes());
    MT_CHECK(both == scores, RuntimeError, "output with shape ", to_string(scores),
             " doesn't match the broadcast shape ", to_string(both));
  }
  if (s.dropout_p > 0 && !s.drops_inside) {
    return with_dropout(query, key, value, mask, s.is_causal, s.scale, s.dropout_p);
  }
  const auto expanded = [&](const Tensor& tensor) {
    Shape wanted = batch;
    if (grouped) wanted.back() = tensor.size(-3);
    if (std::ranges::equal(batch_of(tensor), wanted)) return tensor;
    return expand(tensor, joined(wanted, tensor.size(-2), tensor.size(-1)));
  };
  const Tensor dropped =
      s.drops_inside ? _dropout_mask(query, joined(batch, rows, columns), s.dropout_p) : Tensor();
  return std::get<0>(_scaled_dot_product_flash_attention(expanded(query), expanded(key),
                                                         expanded(value), mask, s.is_causal,
                                                         s.scale, s.fused, dropped, s.dropout_p));
}

Tensor attend_in_groups(const Tensor& query,
                        const Tensor& key,
                        const Tensor& value,
                        const Tensor& mask,
                        const Settings& s) {
  const int64_t heads = query.size(-3);
  const auto divides = [&](int64_t count) { return count != 0 && heads % count == 0; };
  MT_CHECK(divides(key.size(-3)) && divides(value.size(-3)), RuntimeError,
           "Number of heads in key and value must divide the number of heads in ");
  const auto repeated = [&](const Tensor& tensor) {
    return repeat_interleave(tensor, heads / tensor.size(-3), -3);
  };
  const bool is_written_out = s.dropout_p > 0 && !s.drops_inside;
  if (is_written_out || value.size(-3) != key.size(-3)) {
    return attend(query, repeated(key), repeated(value), mask, s, false);
  }
  return attend(query, key, value, mask, s, true);
}

Tensor scaled_dot_product_attention(const Tensor& query,
                                    const Tensor& key,
                                    const Tensor& value,
                                    const Tensor& attn_mask,
                                    double dropout_p,
                                    bool is_causal,
                                    std::optional<double> scale,
                                    bool enable_gqa) {
  check_inputs(query, key, value, attn_mask, dropout_p);
  const bool same_heads = query.dim() == 4 && key.dim() == 4 && query.size(1) == key.size(1);
  const bool fused =
      is_fused(query, key, value, attn_mask, dropout_p) && (same_heads || enable_gqa);
  MT_CHECK(!is_causal || !attn_mask.defined() || fused, RuntimeError,
           "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
           "is_causal=True");
  // Without a size there is nothing to scale: all scores are 0.
  const auto size = static_cast<double>(std::max<int64_t>(query.size(-1), 1));
  const double factor = scale.value_or(1 / std::sqrt(size));
  const bool drops_inside =
      dropout_p > 0 && dropout_p < 1 && has_dropout_mask({&query, &key, &value, &attn_mask});
  const Settings settings = {is_causal, factor, fused, dropout_p, drops_inside};
  if (enable_gqa) return attend_in_groups(query, key, value, attn_mask, settings);
  return attend(query, key, value, attn_mask, settings, false);
}

// --- what kernels leave to other ops ---

// As many heads of key or value as query has.
struct SharedHeads {
  explicit SharedHeads(const AttentionCall& call)
      : count(call.query.dim() < 3 ? 1 : call.key.size(-3)),
        times(count == 0 || call.query.dim() < 3 ? 1 : call.query.size(-3) / count) {}

  Tensor repeated(const Tensor& tensor) const {
    return times == 1 ? tensor : repeat_interleave(tensor, times, -3);
  }
  // The gradient of what was repeated.
  Tensor summed(const Tensor& grad) const {
    return times == 1 ? grad : sum(unflatten(grad, -3, {count, times}), IntList{-3}, false);
  }

  int64_t count;
  int64_t times;
};

// What dropout leaves of weights, or of their gradient.
Tensor kept(const AttentionCall& call, const Tensor& weights) {
  return call.dropped.defined() ? _masked_dropout(weights, call.dropped, call.dropout_p) : weights;
}

// Ops of a kernel: they run now, and no layer sees them again.
struct InsideKernel {
  const dispatch::NoRecordGuard now;
  const dispatch::SkipLayer layers{dispatch::kLayersAboveBackend};
};

void flash_attention(ops::Launch&,
                     const Tensor& query,
                     const Tensor& key,
                     const Tensor& value,
                     const Tensor& attn_mask,
                     bool is_causal,
                     double scale,
                     bool,
                     const Tensor& dropped,
                     double dropout_p,
                     Tensor& out,
                     Tensor&,
                     Tensor&) {
  const InsideKernel inside;
  copy_(out, attention({query, key, value, attn_mask, is_causal, scale, dropped, dropout_p}));
}

void flash_attention_backward(ops::Launch&,
                              const Tensor& grad_out,
                              const Tensor& query,
                              const Tensor& key,
                              const Tensor& value,
                              const Tensor&,
                              const Tensor&,
                              const Tensor&,
                              const Tensor& attn_mask,
                              bool is_causal,
                              double scale,
                              const Tensor& dropped,
                              double dropout_p,
                              Tensor& grad_query,
                              Tensor& grad_key,
                              Tensor& grad_value) {
  const InsideKernel inside;
  AttentionGradients made;
  attention_backward(grad_out, {query, key, value, attn_mask, is_causal, scale, dropped, dropout_p},
                     made);
  copy_(grad_query, made.query);
  copy_(grad_key, made.key);
  copy_(grad_value, made.value);
}

}  // namespace

Tensor attention(const AttentionCall& call) {
  const SharedHeads heads(call);
  const Tensor weights = _attention_weights(call.query, heads.repeated(call.key), call.mask,
                                            call.is_causal, call.scale);
  return product(kept(call, weights), heads.repeated(call.value), call.query.dtype());
}

void attention_backward(const Tensor& grad_out,
                        const AttentionCall& call,
                        AttentionGradients& gradients) {
  const DType narrow = call.query.dtype();
  const SharedHeads heads(call);
  const Tensor key = heads.repeated(call.key);
  const Tensor weights = _attention_weights(call.query, key, call.mask, call.is_causal, call.scale);
  if (gradients.of_value) {
    gradients.value = heads.summed(product(mT(kept(call, weights)), grad_out, narrow));
  }
  if (!gradients.of_query && !gradients.of_key && !gradients.of_mask) return;
  const Tensor of_kept = product(grad_out, mT(heads.repeated(call.value)), narrow);
  const Tensor of_weights = mul(weights, kept(call, of_kept));
  const Tensor of_scores = sub(of_weights, mul(weights, sum(of_weights, IntList{-1}, true)));
  if (gradients.of_mask) gradients.mask = of_scores;
  const Tensor scaled = mul(of_scores, Scalar(call.scale));
  if (gradients.of_query) gradients.query = product(scaled, key, narrow);
  if (gradients.of_key) {
    gradients.key = heads.summed(product(mT(scaled), call.query, narrow));
  }
}

void compose_attention(ops::Registry& registry) {
  constexpr const char* kOp = "_scaled_dot_product_flash_attention";
  registry.fallback<flash_attention>(kOp);
  registry.fallback<flash_attention_backward>(std::string(kOp) + "_backward");
  registry.composite<attention_scores>("_attention_scores");
  registry.composite<attention_weights>("_attention_weights");
  registry.composite<scaled_dot_product_attention>("scaled_dot_product_attention");
}

}  // namespace mindtorch::functional
