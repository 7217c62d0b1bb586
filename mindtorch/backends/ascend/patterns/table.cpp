#include <sstream>
#include <string>
#include <vector>

#include "mindtorch/backends/ascend/acl_api.h"
#include "mindtorch/backends/ascend/options.h"
#include "mindtorch/backends/ascend/patterns/patterns.h"

namespace mindtorch::ascend {
namespace {

// What transformers and others write for x / sqrt(mean(x * x) + eps).
#define MT_ROOT_MEAN_SQUARE(x) "rsqrt(add~(mean(square(" x "), dim=-1, keepdim=true), $eps))"

// Weights of attention, written out; then products with values, which may be copied to other
// layouts.
#define MT_ATTENTION_WEIGHTS(scaled)                                  \
  "query_used = alias(cast?(query)); key_used = alias(cast?(key)); "  \
  "value_used = alias(cast?(value)); weights = softmax(add~?(" scaled \
  "(view(bmm(query_used, "                                            \
  "key_used)), $scale), mask), dim=-1, dtype=*); "
#define MT_ATTENTION "bmm(view(cast?(weights)), value_used)"
#define MT_COPIED_ATTENTION "product = " MT_ATTENTION "; seen = alias(product); out = cast(seen)"

// For many queries, for one, and for masks of numbers and float32.
#define MT_ATTENTION_OPS \
  "aclnnPromptFlashAttentionV3 aclnnIncreFlashAttention aclnnFlashAttentionScoreV2"

struct Row {
  const char* name;
  const char* expression;
  const Fused& fused;
  const char* calls;  // CANN's ops, with spaces between
  const char* proof;  // in tests/npu/test_patterns.py
};

// In order of preference: where two want the same op, the first one gets it.
// clang-format off
const Row kTable[] = {
  {"add_rms_norm", "sum! = add~(a, b); squared = cast?(sum); out = mul~(weight, cast?(mul~(squared, " MT_ROOT_MEAN_SQUARE("squared") ")))", kAddRmsNorm, "aclnnAddRmsNorm", "test_add_rms_norm"},
  {"add_rms_norm_op", "sum! = add~(a, b); out = _fused_rms_norm(sum, weight, normalized_shape=*, eps=$eps)", kAddRmsNorm, "aclnnAddRmsNorm", "test_add_rms_norm_op"},
  {"gemma_rms_norm", "squared = cast(x); out = cast(mul~(mul~(squared, " MT_ROOT_MEAN_SQUARE("squared") "), add~(cast(weight), 1)))", kGemmaRmsNorm, "aclnnGemmaRmsNorm", "test_gemma_rms_norm"},
  {"gemma_rms_norm_float", "out = mul~(mul~(x, " MT_ROOT_MEAN_SQUARE("x") "), add~(weight, 1))", kGemmaRmsNorm, "aclnnGemmaRmsNorm", "test_gemma_rms_norm"},
  {"rms_norm", "squared = cast?(x); out = mul~(weight, cast?(mul~(squared, " MT_ROOT_MEAN_SQUARE("squared") ")))", kRmsNorm, "aclnnRmsNorm", "test_rms_norm"},
  {"rms_norm_mixed", "squared = cast(x); out = mul~(weight, cast?(mul~(x, " MT_ROOT_MEAN_SQUARE("squared") ")))", kRmsNorm, "aclnnRmsNorm", "test_rms_norm_of_t5"},
  {"add_layer_norm", "sum! = add~(a, b); out = native_layer_norm(sum, weight, bias, normalized_shape=*, eps=$eps)", kAddLayerNorm, "aclnnAddLayerNorm", "test_add_layer_norm"},
  {"rotary", "out = add~(mul~(x, cos), mul~(cat(neg(second), first, dim=-1), sin))", kRotary, "aclnnRotaryPositionEmbedding", "test_rotary"},
  {"attention_copied", MT_ATTENTION_WEIGHTS("mul~") MT_COPIED_ATTENTION, kAttentionInParts, MT_ATTENTION_OPS, "test_written_attention"},
  {"attention_written", MT_ATTENTION_WEIGHTS("mul~") "out = " MT_ATTENTION, kAttentionInParts, MT_ATTENTION_OPS, "test_written_attention"},
  {"attention_divided_copied", MT_ATTENTION_WEIGHTS("div") MT_COPIED_ATTENTION, kDividedAttentionInParts, MT_ATTENTION_OPS, "test_written_attention"},
  {"attention_divided", MT_ATTENTION_WEIGHTS("div") "out = " MT_ATTENTION, kDividedAttentionInParts, MT_ATTENTION_OPS, "test_written_attention"},
  {"attention_of_repeated_keys", "out = _scaled_dot_product_flash_attention(query, view(cast(key)), view(cast(value)), mask?, is_causal=$causal, scale=$scale, like_query=*)", kAttentionOfRepeatedKeys, MT_ATTENTION_OPS, "test_attention_of_repeated_keys"},
  {"attention", "out = _scaled_dot_product_flash_attention(query, key, value, mask?, is_causal=$causal, scale=$scale, like_query=*)", kAttention, MT_ATTENTION_OPS, "test_attention"},
  {"scaled_masked_softmax", "out = softmax(add~(mul~(x, $scale), mask), dim=-1)", kScaledMaskedSoftmax, "aclnnMaskedSoftmaxWithRelPosBias", "test_softmax_with_mask"},
  {"masked_softmax", "out = softmax(add~(x, mask), dim=-1)", kMaskedSoftmax, "aclnnMaskedSoftmaxWithRelPosBias", "test_softmax_with_mask"},
  {"cross_entropy", "log_probs! = log_softmax(x, dim=1); out = nll_loss_forward(log_probs, target, weight?, reduction=$reduction, ignore_index=$ignore_index)", kCrossEntropy, "aclnnCrossEntropyLoss", "test_cross_entropy"},
  {"swiglu_of_products", "out = mul~(silu(view(mm(x, weight_a))), view(mm(x, weight_b)))", kSwiGluOfProducts, "aclnnSwiGlu", "test_swiglu_of_products"},
  {"swiglu", "out = mul~(silu(a), b)", kSwiGlu, "aclnnSwiGlu", "test_gates"},
  {"geglu", "out = mul~(gelu(a), b)", kGeGlu, "aclnnGeGluV3", "test_gates"},
  {"geglu_tanh", "out = mul~(gelu_tanh(a), b)", kGeGluTanh, "aclnnGeGluV3", "test_gates"},
  {"addmm", "out = add~(view(mm(left, right)), more)", kAddmm, "aclnnAddmm", "test_product_and_sum"},
  {"baddbmm", "out = add~(view(bmm(left, right)), more)", kBaddbmm, "aclnnBaddbmm", "test_product_and_sum"},
};
// clang-format on

std::vector<ops::CallPattern> make_patterns() {
  std::vector<ops::CallPattern> patterns;
  for (const Row& row : kTable) {
    patterns.push_back(
        {row.name, row.expression, row.fused.accepts, row.fused.launch, row.calls, row.proof});
  }
  return patterns;
}

bool is_available(const ops::CallPattern& pattern) {
  std::istringstream calls{std::string(pattern.calls)};
  for (std::string op; calls >> op;) {
    if (op_symbol(op.c_str()) == nullptr ||
        op_symbol((op + "GetWorkspaceSize").c_str()) == nullptr) {
      return false;
    }
  }
  return true;
}

}  // namespace

ops::CallPatterns all_call_patterns() {
  static const auto& patterns = *new std::vector<ops::CallPattern>(make_patterns());
  return patterns;
}

ops::CallPatterns call_patterns() {
  static const auto& patterns = *new std::vector<ops::CallPattern>([] {
    std::vector<ops::CallPattern> available;
    if (!options::kPatterns.get()) return available;
    for (const ops::CallPattern& pattern : all_call_patterns()) {
      if (is_available(pattern)) available.push_back(pattern);
    }
    return available;
  }());
  return patterns;
}

}  // namespace mindtorch::ascend
