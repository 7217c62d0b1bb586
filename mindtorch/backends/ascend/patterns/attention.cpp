// softmax(query @ key.T * scale + mask) @ value: as one op whose keys and values were repeated for
// several heads of query, and written out.
#include "mindtorch/backends/ascend/kernels/attention.h"

#include <limits>
#include <optional>

#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/patterns/contracts.h"
#include "mindtorch/backends/ascend/patterns/patterns.h"

namespace mindtorch::ascend {
namespace {

constexpr int64_t kFar = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostShared = 64;  // heads of query that share one of key
constexpr DTypes kHalfTypes = kHalves;

// [batch, heads, length, size]; keys and values may have fewer heads.
struct Attention {
  Tensor query;
  Tensor key;
  Tensor value;
  HiddenKeys hidden{};
  Tensor shift{};  // added to the scores
  double scale = 1;
  Tensor out{};
};

bool fits(const Attention& a) {
  const Tensor& q = a.query;
  const Tensor& k = a.key;
  if (q.dim() != 4 || k.dim() != 4 || a.value.dim() != 4 ||
      !have_one_float_dtype({&q, &k, &a.value, &a.out})) {
    return false;
  }
  return fits_fused_attention(q, k, a.value) && have_sizes(k.sizes(), {&a.value}) &&
         have_sizes(q.sizes(), {&a.out}) && q.size(0) == k.size(0) && q.size(3) == k.size(3) &&
         q.size(1) % k.size(1) == 0 && q.size(1) / k.size(1) <= kMostShared;
}

// A mask of numbers that broadcasts to the scores.
bool is_shift(const Tensor& mask, const Attention& a) {
  if (mask.dtype() != a.query.dtype() || mask.dim() > 4) return false;
  const int64_t sizes[] = {a.query.size(0), a.query.size(1), a.query.size(2), a.key.size(2)};
  for (int64_t d = 0; d < mask.dim(); ++d) {
    const int64_t size = mask.size(mask.dim() - 1 - d);
    if (size != 1 && size != sizes[3 - d]) return false;
  }
  return true;
}

// Inference has ops of its own for float16 and bfloat16: for many queries, and for one.
void attend(ops::Launch& on, const Attention& a) {
  static char heads_first[] = "BNSD";
  const int64_t heads = a.query.size(1);
  const int64_t key_heads = a.key.size(1);
  const Tensor none;
  if ((bit(a.query.dtype()) & kHalfTypes) != 0 && !a.shift.defined()) {
    constexpr int64_t kEmptyRows = 2;  // innerPrecise: rows may be masked as a whole
    if (a.query.size(2) == 1 && a.hidden.sparse == 0) {
      const auto list = [](const Tensor& tensor) { return TensorList(std::span(&tensor, 1)); };
      return call(on, MT_ACLNN(aclnnIncreFlashAttention), a.query, list(a.key), list(a.value), none,
                  a.hidden.mask, nullptr, heads, a.scale, &heads_first[0], key_heads, a.out);
    }
    return call(on, MT_ACLNN(aclnnPromptFlashAttentionV3), a.query, a.key, a.value, none,
                a.hidden.mask, nullptr, nullptr, none, none, none, none, none, heads, a.scale, kFar,
                kFar, &heads_first[0], key_heads, a.hidden.sparse, kEmptyRows, a.out);
  }
  constexpr double kKeepAll = 1.0;
  constexpr int64_t kScaleFirst = 0;  // pseType: then the shift is added
  constexpr int64_t kHighPrecision = 0;
  const Tensor stats =
      make_like(on, {2, a.query.size(0), heads, a.query.size(2), 8}, DType::kFloat32);
  const auto part = [&](int64_t index) {
    return stats.alias(Shape(IntList(stats.sizes()).subspan(1)),
                       Shape(IntList(stats.strides()).subspan(1)), index * stats.stride(0));
  };
  call(on, MT_ACLNN(aclnnFlashAttentionScoreV2), a.query, a.key, a.value, a.shift, none, none,
       a.hidden.mask, nullptr, nullptr, nullptr, a.scale, kKeepAll, kFar, kFar, heads,
       &heads_first[0], kHighPrecision, a.hidden.sparse, kScaleFirst, part(0), part(1),
       make_like(on, {0}, a.query.dtype()), a.out);
}

Tensor shift_of(const Tensor& mask, const Attention& a) {
  return expanded(in_four_dims(mask),
                  {a.query.size(0), a.query.size(1), a.query.size(2), a.key.size(2)});
}

// --- scaled_dot_product_attention ---

// What was repeated: [batch, heads, times, length, size], whose third dim has no stride.
Tensor unrepeated(const Tensor& self) {
  Shape sizes = self.sizes();
  Shape strides = self.strides();
  sizes.erase(sizes.begin() + 2);
  strides.erase(strides.begin() + 2);
  return self.alias(std::move(sizes), std::move(strides), self.storage_offset());
}

bool is_repeated(const Tensor& self) { return self.dim() == 5 && self.stride(2) == 0; }

Attention of_op(const PatternCall& call) {
  Attention a{call["query"], call["key"], call["value"]};
  a.scale = call.number("scale");
  a.out = call["out"];
  return a;
}

Attention of_repeated(const PatternCall& call) {
  Attention a = of_op(call);
  a.key = unrepeated(a.key);
  a.value = unrepeated(a.value);
  return a;
}

bool accepts_mask(const PatternCall& call, const Attention& a) {
  const Tensor& mask = call["mask"];
  if (!mask.defined()) return true;
  if (call.number("causal") != 0) return false;
  return mask.dtype() == DType::kBool ? mask.dim() <= 4 : is_shift(mask, a);
}

// One launch already, without a mask of numbers in float32 and for gradients.
bool accepts_attention(PatternCall& call) {
  const Attention a = of_op(call);
  if (!fits(a) || !accepts_mask(call, a)) return false;
  const bool is_shifted = call["mask"].defined() && call["mask"].dtype() != DType::kBool;
  return is_shifted || (bit(a.query.dtype()) & kHalfTypes) != 0;
}

bool accepts_repeated(PatternCall& call) {
  if (!is_repeated(call["key"]) || !is_repeated(call["value"])) return false;
  const Attention a = of_repeated(call);
  return fits(a) && accepts_mask(call, a) &&
         call["key"].size(1) * call["key"].size(2) == a.query.size(1);
}

void launch_op(ops::Launch& on, const PatternCall& call, Attention a) {
  const Tensor& mask = call["mask"];
  if (call.number("causal") != 0) {
    a.hidden = hide_later_keys(on, a.query.size(2), a.key.size(2));
  } else if (mask.defined() && mask.dtype() == DType::kBool) {
    a.hidden = hide_unseen_keys(on, mask, a.query.size(2), a.key.size(2));
  } else if (mask.defined()) {
    a.shift = shift_of(mask, a);
  }
  attend(on, a);
}

void launch_attention(ops::Launch& on, const PatternCall& call) {
  launch_op(on, call, of_op(call));
}
void launch_repeated(ops::Launch& on, const PatternCall& call) {
  launch_op(on, call, of_repeated(call));
}

// --- written out ---

// Products take [batch * heads, rows, columns], of which `source` may have been copied. True: with
// rows and columns swapped.
std::optional<bool> is_swapped(const Tensor& source, const Tensor& used) {
  if (used.dim() != 3 || source.dtype() != used.dtype()) return {};
  if (source.storage() == used.storage()) return false;  // no copy
  if (source.dim() < 3) return {};
  const int64_t rows = source.size(-2);
  const int64_t columns = source.size(-1);
  const bool is_whole = used.storage_offset() == 0 && used.numel() == source.numel();
  const auto is_like = [&](int64_t a, int64_t b, int64_t stride_a, int64_t stride_b) {
    return is_whole && used.size(1) == a && used.size(2) == b && used.stride(0) == rows * columns &&
           used.stride(1) == stride_a && used.stride(2) == stride_b;
  };
  if (is_like(rows, columns, columns, 1)) return false;
  if (is_like(columns, rows, 1, columns)) return true;
  return {};
}

// [batch, heads, rows, columns] of what products take; undefined: it is no such tensor.
Tensor with_heads(const Tensor& source, int64_t batch, int64_t heads, bool swaps) {
  Tensor made;
  if (source.dim() == 3 && source.size(0) == batch * heads) {
    made = source.alias(
        {batch, heads, source.size(1), source.size(2)},
        {source.stride(0) * heads, source.stride(0), source.stride(1), source.stride(2)},
        source.storage_offset());
  } else if (source.dim() == 4 && source.size(0) == batch && source.size(1) == heads) {
    made = source;
  } else if (is_repeated(source) && source.size(0) == batch &&
             source.size(1) * source.size(2) == heads) {
    made = unrepeated(source);
  }
  return swaps && made.defined() ? swapped(made, 2, 3) : made;
}

// The result, or what it is copied to: [batch, length, heads, size] over [batch, heads, ...].
Tensor result_with_heads(const Tensor& out, int64_t batch, int64_t heads, bool is_copied) {
  if (is_copied) return out.dim() == 4 ? swapped(out, 1, 2) : Tensor();
  return with_heads(out, batch, heads, false);
}

Attention of_parts(const PatternCall& call) {
  const auto batch = static_cast<int64_t>(call.number("batch"));
  const auto heads = static_cast<int64_t>(call.number("heads"));
  Attention a{with_heads(call["query"], batch, heads, call.number("query_swapped") != 0),
              with_heads(call["key"], batch, heads, call.number("key_swapped") != 0),
              with_heads(call["value"], batch, heads, call.number("value_swapped") != 0)};
  if (a.key.defined()) a.key = swapped(a.key, 2, 3);
  a.scale = call.number("is_divided") != 0 ? 1 / call.number("scale") : call.number("scale");
  a.out = result_with_heads(call["out"], batch, heads, call.number("is_copied") != 0);
  return a;
}

// The copy reads what the last product wrote, with heads and length swapped.
bool is_copy_of_heads(const PatternCall& call, int64_t batch, int64_t heads) {
  const Tensor& product = call["product"];
  const Tensor& seen = call["seen"];
  const Tensor expected = with_heads(product, batch, heads, false);
  if (!expected.defined() || !product.is_contiguous() ||
      !have_sizes(seen.sizes(), {&call["out"]})) {
    return false;
  }
  const Tensor turned = swapped(expected, 1, 2);
  return std::ranges::equal(seen.sizes(), turned.sizes()) &&
         std::ranges::equal(seen.strides(), turned.strides()) &&
         seen.storage_offset() == product.storage_offset();
}

template <bool kIsDivided>
bool accepts_parts(PatternCall& call) {
  const Tensor& weights = call["weights"];
  if (weights.dim() != 3 && weights.dim() != 4) return false;
  const int64_t batch = weights.dim() == 4 ? weights.size(0) : 1;
  const int64_t heads = weights.size(weights.dim() - 3);
  const bool is_copied = call["seen"].defined();
  if (is_copied && !is_copy_of_heads(call, batch, heads)) return false;
  call.add("batch", static_cast<double>(batch));
  call.add("heads", static_cast<double>(heads));
  call.add("is_divided", kIsDivided);
  call.add("is_copied", is_copied);
  const std::optional<bool> query = is_swapped(call["query"], call["query_used"]);
  const std::optional<bool> key = is_swapped(call["key"], call["key_used"]);
  const std::optional<bool> value = is_swapped(call["value"], call["value_used"]);
  if (!query || !key || !value) return false;
  call.add("query_swapped", *query);
  call.add("key_swapped", *key);
  call.add("value_swapped", *value);
  const Attention a = of_parts(call);
  for (const Tensor* each : {&a.query, &a.key, &a.value, &a.out}) {
    if (!each->defined()) return false;
  }
  const Tensor& mask = call["mask"];
  return fits(a) && (!mask.defined() || is_shift(mask, a));
}

void launch_parts(ops::Launch& on, const PatternCall& call) {
  Attention a = of_parts(call);
  if (call["mask"].defined()) a.shift = shift_of(call["mask"], a);
  attend(on, a);
}

}  // namespace

const Fused kAttention = {&accepts_attention, &launch_attention};
const Fused kAttentionOfRepeatedKeys = {&accepts_repeated, &launch_repeated};
const Fused kAttentionInParts = {&accepts_parts<false>, &launch_parts};
const Fused kDividedAttentionInParts = {&accepts_parts<true>, &launch_parts};

}  // namespace mindtorch::ascend
