// The forms of attention for the prompt and for the tokens that follow.
#include "simulator/ascend/ops/inference.h"

using namespace sim;

namespace {

// The numbers that all forms have.
struct Call {
  int64_t heads;
  double scale;
  int64_t before;
  int64_t after;
  const char* layout;
  int64_t key_heads;
};

Inference with(const char* op, const aclTensor* query, const Call& n, const aclTensor* out) {
  Inference a{op, query};
  a.heads = n.heads;
  a.scale = n.scale;
  a.before = n.before;
  a.after = n.after;
  a.layout = n.layout;
  a.key_heads = n.key_heads;
  a.out = out;
  return a;
}

Inference prompt(const char* op,
                 const aclTensor* query,
                 const aclTensor* key,
                 const aclTensor* value,
                 const aclTensor* shift,
                 const aclTensor* mask,
                 const Call& n,
                 const aclTensor* out) {
  Inference a = with(op, query, n, out);
  a.key = key;
  a.value = value;
  a.shift = shift;
  a.mask = mask;
  return a;
}

Inference step(const char* op,
               const aclTensor* query,
               const aclTensorList* keys,
               const aclTensorList* values,
               const aclTensor* shift,
               const aclTensor* mask,
               const aclIntArray* lengths,
               const Call& n,
               const aclTensor* out) {
  Inference a = with(op, query, n, out);
  a.keys = keys;
  a.values = values;
  a.shift = shift;
  a.mask = mask;
  a.key_lengths = lengths;
  a.one_query = true;
  return a;
}

}  // namespace

// Groups of parameters that the forms share.
#define SIM_PROMPT_QUANTISED                                                            \
  const aclTensor *deqScale1, const aclTensor *quantScale1, const aclTensor *deqScale2, \
      const aclTensor *quantScale2, const aclTensor *quantOffset2
#define SIM_STEP_QUANTISED                                                                      \
  const aclTensor *dequantScale1, const aclTensor *quantScale1, const aclTensor *dequantScale2, \
      const aclTensor *quantScale2, const aclTensor *quantOffset2
#define SIM_PROMPT                                                                                 \
  const aclTensor *query, const aclTensor *key, const aclTensor *value, const aclTensor *pseShift, \
      const aclTensor *attenMask
#define SIM_PROMPT_NUMBERS                                                                       \
  int64_t numHeads, double scaleValue, int64_t preTokens, int64_t nextTokens, char *inputLayout, \
      int64_t numKeyValueHeads
#define SIM_PROMPT_INFERENCE(Name)                           \
  Inference a = prompt(                                      \
      "aclnn" #Name, query, key, value, pseShift, attenMask, \
      {numHeads, scaleValue, preTokens, nextTokens, inputLayout, numKeyValueHeads}, attentionOut)
#define SIM_STEP                                                                \
  const aclTensor *query, const aclTensorList *key, const aclTensorList *value, \
      const aclTensor *pseShift, const aclTensor *attenMask, const aclIntArray *actualSeqLengths
#define SIM_STEP_NUMBERS \
  int64_t numHeads, double scaleValue, char *inputLayout, int64_t numKeyValueHeads
#define SIM_STEP_INFERENCE(Name)                                                    \
  Inference a =                                                                     \
      step("aclnn" #Name, query, key, value, pseShift, attenMask, actualSeqLengths, \
           {numHeads, scaleValue, kFar, kFar, inputLayout, numKeyValueHeads}, attentionOut)
#define SIM_NAMED(tensor) {tensor, #tensor}
#define SIM_FUSED(name)                                                                       \
  const aclTensor *query, const aclTensorList *key, const aclTensorList *value,               \
      const aclTensor *pseShift##name, const aclTensor *attenMask##name,                      \
      const aclIntArray *actualSeqLengths##name, const aclIntArray *actualSeqLengthsKv##name, \
      const aclTensor *deqScale1##name, const aclTensor *quantScale1##name,                   \
      const aclTensor *deqScale2##name, const aclTensor *quantScale2##name,                   \
      const aclTensor *quantOffset2##name, const aclTensor *antiquantScale##name,             \
      const aclTensor *antiquantOffset##name, const aclTensor *blockTable##name,              \
      const aclTensor *queryPaddingSize##name, const aclTensor *kvPaddingSize##name
#define SIM_FUSED_MORE                                                                             \
  const aclTensor *keyAntiquantScaleOptional, const aclTensor *keyAntiquantOffsetOptional,         \
      const aclTensor *valueAntiquantScaleOptional, const aclTensor *valueAntiquantOffsetOptional, \
      const aclTensor *keySharedPrefixOptional, const aclTensor *valueSharedPrefixOptional,        \
      const aclIntArray *actualSharedPrefixLenOptional
#define SIM_FUSED_NUMBERS \
  SIM_PROMPT_NUMBERS, int64_t sparseMode, int64_t, int64_t blockSize, int64_t, bool softmaxLseFlag
#define SIM_FUSED_INFERENCE(Name, name)                                                            \
  Inference a = with("aclnn" #Name, query,                                                         \
                     {numHeads, scaleValue, preTokens, nextTokens, inputLayout, numKeyValueHeads}, \
                     attentionOut);                                                                \
  a.keys = key;                                                                                    \
  a.values = value;                                                                                \
  a.shift = pseShift##name;                                                                        \
  a.mask = attenMask##name;                                                                        \
  a.query_lengths = actualSeqLengths##name;                                                        \
  a.key_lengths = actualSeqLengthsKv##name;                                                        \
  a.refused = {SIM_NAMED(deqScale1##name),       SIM_NAMED(quantScale1##name),                     \
               SIM_NAMED(deqScale2##name),       SIM_NAMED(quantScale2##name),                     \
               SIM_NAMED(quantOffset2##name),    SIM_NAMED(antiquantScale##name),                  \
               SIM_NAMED(antiquantOffset##name), SIM_NAMED(queryPaddingSize##name),                \
               SIM_NAMED(kvPaddingSize##name)};                                                    \
  a.block_table = blockTable##name;                                                                \
  a.block_table_name = "blockTable" #name;                                                         \
  a.block_size = blockSize;                                                                        \
  a.sparse = sparseMode;                                                                           \
  a.wants_lse = softmaxLseFlag;                                                                    \
  a.lse = softmaxLse
#define SIM_REFUSE_MORE                                                                     \
  for (const auto& each : std::initializer_list<std::pair<const aclTensor*, const char*>>{  \
           SIM_NAMED(keyAntiquantScaleOptional), SIM_NAMED(keyAntiquantOffsetOptional),     \
           SIM_NAMED(valueAntiquantScaleOptional), SIM_NAMED(valueAntiquantOffsetOptional), \
           SIM_NAMED(keySharedPrefixOptional), SIM_NAMED(valueSharedPrefixOptional)}) {     \
    a.refused.push_back(each);                                                              \
  }                                                                                         \
  a.shared_prefix = actualSharedPrefixLenOptional

extern "C" {

SIM_SIGNATURE(PromptFlashAttention,
              SIM_PROMPT,
              const aclIntArray* actualSeqLengths,
              SIM_PROMPT_NUMBERS,
              const aclTensor* attentionOut) {
  SIM_PROMPT_INFERENCE(PromptFlashAttention);
  a.query_lengths = actualSeqLengths;
  a.key_lengths = actualSeqLengths;
  return infer(a, workspaceSize, executor);
}
SIM_SIGNATURE(PromptFlashAttentionV2,
              SIM_PROMPT,
              const aclIntArray* actualSeqLengths,
              const aclIntArray* actualSeqLengthsKv,
              SIM_PROMPT_QUANTISED,
              SIM_PROMPT_NUMBERS,
              int64_t sparseMode,
              const aclTensor* attentionOut) {
  SIM_PROMPT_INFERENCE(PromptFlashAttentionV2);
  a.query_lengths = actualSeqLengths;
  a.key_lengths = actualSeqLengthsKv;
  a.sparse = sparseMode;
  a.refused = {SIM_NAMED(deqScale1), SIM_NAMED(quantScale1), SIM_NAMED(deqScale2),
               SIM_NAMED(quantScale2), SIM_NAMED(quantOffset2)};
  return infer(a, workspaceSize, executor);
}
SIM_SIGNATURE(PromptFlashAttentionV3,
              SIM_PROMPT,
              const aclIntArray* actualSeqLengths,
              const aclIntArray* actualSeqLengthsKv,
              SIM_PROMPT_QUANTISED,
              SIM_PROMPT_NUMBERS,
              int64_t sparseMode,
              int64_t,
              const aclTensor* attentionOut) {
  SIM_PROMPT_INFERENCE(PromptFlashAttentionV3);
  a.query_lengths = actualSeqLengths;
  a.key_lengths = actualSeqLengthsKv;
  a.sparse = sparseMode;
  a.refused = {SIM_NAMED(deqScale1), SIM_NAMED(quantScale1), SIM_NAMED(deqScale2),
               SIM_NAMED(quantScale2), SIM_NAMED(quantOffset2)};
  return infer(a, workspaceSize, executor);
}
SIM_SIGNATURE(IncreFlashAttention, SIM_STEP, SIM_STEP_NUMBERS, const aclTensor* attentionOut) {
  SIM_STEP_INFERENCE(IncreFlashAttention);
  return infer(a, workspaceSize, executor);
}
SIM_SIGNATURE(IncreFlashAttentionV2,
              SIM_STEP,
              SIM_STEP_QUANTISED,
              SIM_STEP_NUMBERS,
              const aclTensor* attentionOut) {
  SIM_STEP_INFERENCE(IncreFlashAttentionV2);
  a.refused = {SIM_NAMED(dequantScale1), SIM_NAMED(quantScale1), SIM_NAMED(dequantScale2),
               SIM_NAMED(quantScale2), SIM_NAMED(quantOffset2)};
  return infer(a, workspaceSize, executor);
}
SIM_SIGNATURE(IncreFlashAttentionV3,
              SIM_STEP,
              SIM_STEP_QUANTISED,
              const aclTensor* antiquantScale,
              const aclTensor* antiquantOffset,
              const aclTensor* blocktable,
              SIM_STEP_NUMBERS,
              int64_t blockSize,
              int64_t,
              const aclTensor* attentionOut) {
  SIM_STEP_INFERENCE(IncreFlashAttentionV3);
  a.refused = {SIM_NAMED(dequantScale1),  SIM_NAMED(quantScale1),  SIM_NAMED(dequantScale2),
               SIM_NAMED(quantScale2),    SIM_NAMED(quantOffset2), SIM_NAMED(antiquantScale),
               SIM_NAMED(antiquantOffset)};
  a.block_table = blocktable;
  a.block_size = blockSize;
  return infer(a, workspaceSize, executor);
}
SIM_SIGNATURE(IncreFlashAttentionV4,
              SIM_STEP,
              SIM_STEP_QUANTISED,
              const aclTensor* antiquantScale,
              const aclTensor* antiquantOffset,
              const aclTensor* blocktable,
              const aclTensor* kvPaddingSize,
              SIM_STEP_NUMBERS,
              int64_t blockSize,
              int64_t,
              const aclTensor* attentionOut) {
  SIM_STEP_INFERENCE(IncreFlashAttentionV4);
  a.refused = {SIM_NAMED(dequantScale1),   SIM_NAMED(quantScale1),  SIM_NAMED(dequantScale2),
               SIM_NAMED(quantScale2),     SIM_NAMED(quantOffset2), SIM_NAMED(antiquantScale),
               SIM_NAMED(antiquantOffset), SIM_NAMED(kvPaddingSize)};
  a.block_table = blocktable;
  a.block_size = blockSize;
  return infer(a, workspaceSize, executor);
}
SIM_SIGNATURE(FusedInferAttentionScore,
              SIM_FUSED(),
              SIM_FUSED_NUMBERS,
              const aclTensor* attentionOut,
              const aclTensor* softmaxLse) {
  SIM_FUSED_INFERENCE(FusedInferAttentionScore, );
  return infer(a, workspaceSize, executor);
}
SIM_SIGNATURE(FusedInferAttentionScoreV2,
              SIM_FUSED(Optional),
              SIM_FUSED_MORE,
              SIM_FUSED_NUMBERS,
              int64_t,
              int64_t,
              const aclTensor* attentionOut,
              const aclTensor* softmaxLse) {
  SIM_FUSED_INFERENCE(FusedInferAttentionScoreV2, Optional);
  SIM_REFUSE_MORE;
  return infer(a, workspaceSize, executor);
}
SIM_SIGNATURE(FusedInferAttentionScoreV3,
              SIM_FUSED(Optional),
              SIM_FUSED_MORE,
              const aclTensor* queryRopeOptional,
              const aclTensor* keyRopeOptional,
              const aclTensor* keyRopeAntiquantScaleOptional,
              SIM_FUSED_NUMBERS,
              int64_t,
              int64_t,
              const aclTensor* attentionOut,
              const aclTensor* softmaxLse) {
  SIM_FUSED_INFERENCE(FusedInferAttentionScoreV3, Optional);
  SIM_REFUSE_MORE;
  a.query_rope = queryRopeOptional;
  a.key_rope = keyRopeOptional;
  a.refused.push_back(SIM_NAMED(keyRopeAntiquantScaleOptional));
  return infer(a, workspaceSize, executor);
}
}
