#pragma once

#include "mindtorch/ops/call_pattern.h"

// Recorded calls that become one of CANN's fused ops: Note [Call patterns] in
// mindtorch/ops/call_pattern.h. table.cpp lists them; the other files hold the contract and the
// launch of each, by family.
namespace mindtorch::ascend {

// Those that the loaded CANN has. None with MINDTORCH_NPU_PATTERNS=0.
ops::CallPatterns call_patterns();
// All of them.
MT_API ops::CallPatterns all_call_patterns();

struct Fused {
  bool (*accepts)(ops::PatternCall& call);
  void (*launch)(ops::Launch& on, const ops::PatternCall& call);
};

extern const Fused kRmsNorm;
extern const Fused kGemmaRmsNorm;
extern const Fused kAddRmsNorm;
extern const Fused kAddLayerNorm;
extern const Fused kRotary;
extern const Fused kSwiGlu;
extern const Fused kSwiGluOfProducts;
extern const Fused kGeGlu;
extern const Fused kGeGluTanh;
extern const Fused kAddmm;
extern const Fused kBaddbmm;
extern const Fused kAttention;
extern const Fused kAttentionOfRepeatedKeys;
extern const Fused kAttentionInParts;
extern const Fused kDividedAttentionInParts;
extern const Fused kMaskedSoftmax;
extern const Fused kScaledMaskedSoftmax;
extern const Fused kCrossEntropy;

}  // namespace mindtorch::ascend
