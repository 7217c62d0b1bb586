// The negative log likelihood of log_softmax(x).
#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"
#include "mindtorch/backends/ascend/patterns/contracts.h"
#include "mindtorch/backends/ascend/patterns/patterns.h"

namespace mindtorch::ascend {
namespace {

bool accepts_cross_entropy(PatternCall& call) {
  const Tensor& x = call["x"];
  const Tensor& target = call["target"];
  const Tensor& weight = call["weight"];
  return x.dim() == 2 && x.numel() != 0 && target.dim() == 1 &&
         (bit(target.dtype()) & (kI32 | kI64)) != 0 &&
         have_one_float_dtype({&x, &call["log_probs"], &call["out"]}) &&
         (!weight.defined() || weight.dtype() == DType::kFloat32);
}

void launch_cross_entropy(ops::Launch& on, const PatternCall& call) {
  static char reductions[][5] = {"none", "mean", "sum"};
  constexpr double kNoSmoothing = 0;
  constexpr double kNoZLoss = 0;
  const Tensor none;
  const auto reduction = static_cast<size_t>(call.number("reduction"));
  const auto ignored = static_cast<int64_t>(call.number("ignore_index"));
  const Tensor unused = make_like(on, {0}, call["x"].dtype());
  ascend::call(on, MT_ACLNN(aclnnCrossEntropyLoss), call["x"], call["target"], call["weight"],
               &reductions[reduction][0], ignored, kNoSmoothing, kNoZLoss, false, call["out"],
               call["log_probs"], unused, unused);
}

}  // namespace

const Fused kCrossEntropy = {&accepts_cross_entropy, &launch_cross_entropy};

}  // namespace mindtorch::ascend
