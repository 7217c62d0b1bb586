// Losses and their gradients. `reduction`: 0 none, 1 mean, 2 sum.
#include "simulator/ascend/ops/loss.h"

using namespace sim;

namespace {

// A loss of two tensors, element by element: f(x, target).
template <class F>
aclnnStatus pointwise_loss(const char* op,
                           const aclTensor* self,
                           const aclTensor* target,
                           int64_t reduction,
                           const aclTensor* out,
                           const char* out_name,
                           Types types,
                           F f,
                           uint64_t* workspace_size,
                           aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand x = p.input(self, "self", types);
    const Operand y = p.input(target, "target", types);
    const Operand result = p.output(out, out_name, types);
    const Shape shape = p.broadcast(x.shape(), y.shape(), "self and target");
    check_reduced(p, reduction, shape, result);
    if (result.numel() == 0) return;
    const uint64_t scratch = p.workspace(count(shape) * 4);
    p.run([=](Launch& launch) {
      auto* const each = reinterpret_cast<float*>(launch.workspace(scratch));
      const Values a = spread(launch, x, shape);
      const Values b = spread(launch, y, shape);
      for (size_t i = 0; i < a.size(); ++i) each[i] = f(a[i], b[i]);
      store_reduced(get(launch, result), reduction, Values(each, each + a.size()),
                    static_cast<float>(a.size()));
    });
  });
}

// Its gradient: slope(x, target) times the gradient of the result.
template <class F>
aclnnStatus pointwise_loss_backward(const char* op,
                                    const aclTensor* grad,
                                    const char* grad_name,
                                    const aclTensor* self,
                                    const aclTensor* target,
                                    int64_t reduction,
                                    const aclTensor* out,
                                    const char* out_name,
                                    F slope,
                                    uint64_t* workspace_size,
                                    aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand g = p.input(grad, grad_name, kF);
    const Operand x = p.input(self, "self", kF);
    const Operand y = p.input(target, "target", kF);
    const Operand result = p.output(out, out_name, kF);
    check_reduction(p, reduction);
    const Shape shape = p.broadcast(x.shape(), y.shape(), "self and target");
    p.check_shape(result, p.broadcast(g.shape(), shape, "gradOutput and self"));
    if (result.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values a = spread(launch, x, shape);
      const Values b = spread(launch, y, shape);
      const Values grads = spread(launch, g, shape);
      const float scale = reduction == 1 ? 1 / static_cast<float>(a.size()) : 1;
      Values each(a.size());
      for (size_t i = 0; i < a.size(); ++i) each[i] = slope(a[i], b[i]) * grads[i] * scale;
      store_all(get(launch, result), each);
    });
  });
}

float sign(float x) { return static_cast<float>((x > 0) - (x < 0)); }

struct SmoothL1 {
  float beta;
  float operator()(float x, float y) const {
    const float d = std::abs(x - y);
    return d < beta ? 0.5F * d * d / beta : d - 0.5F * beta;
  }
};
struct SmoothL1Slope {
  float beta;
  float operator()(float x, float y) const {
    const float d = x - y;
    return std::abs(d) < beta ? d / beta : sign(d);
  }
};
struct KlDiv {
  bool log_target;
  float operator()(float x, float y) const {
    if (log_target) return std::exp(y) * (y - x);
    return y > 0 ? y * (std::log(y) - x) : 0;
  }
};
struct KlDivSlope {
  bool log_target;
  float operator()(float, float y) const { return log_target ? -std::exp(y) : -y; }
};

// f(x, target, weight of the positive class)
using Entropy = float (*)(float, float, float);

float bce(float x, float y, float) {
  const float a = std::max(std::log(x), -100.0F);
  const float b = std::max(std::log1p(-x), -100.0F);
  return -(y * a + (1 - y) * b);
}
float bce_slope(float x, float y, float) { return (x - y) / std::max((1 - x) * x, 1e-12F); }
float softplus_of_minus(float x) { return std::log1p(std::exp(-std::abs(x))) + std::max(-x, 0.0F); }
float bce_logits(float x, float y, float positive) {
  return (1 - y) * x + (1 + (positive - 1) * y) * softplus_of_minus(x);
}
float bce_logits_slope(float x, float y, float positive) {
  const float s = 1 / (1 + std::exp(-x));
  return (positive * y + 1 - y) * s - positive * y;
}
float bce_logits_target_slope(float x, float, float positive) {
  return (positive - 1) * softplus_of_minus(x) - x;
}

// Losses of probabilities or logits, with weights, or slopes of them.
aclnnStatus cross_entropy(const char* op,
                          const aclTensor* grad,
                          bool backward,
                          const aclTensor* self,
                          const aclTensor* target,
                          const aclTensor* weight,
                          const char* weight_name,
                          const aclTensor* positive,
                          Entropy f,
                          int64_t reduction,
                          const aclTensor* out,
                          const char* out_name,
                          uint64_t* workspace_size,
                          aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand g = backward ? p.input(grad, "gradOutput", kF) : Operand{};
    const Operand x = p.input(self, "self", kF);
    const Operand y = p.input(target, "target", kF);
    const Operand w = p.optional(weight, weight_name, kF);
    const Operand pos = p.optional(positive, "posWeightOptional", kF);
    const Operand result = p.output(out, out_name, kF);
    check_reduction(p, reduction);
    const Shape shape = x.shape();
    p.check_shape(y, shape);
    if (w) p.check_shape(x, p.broadcast(shape, w.shape(), "self and weight"));
    if (pos) p.check_shape(x, p.broadcast(shape, pos.shape(), "self and posWeightOptional"));
    check_reduced(p, backward ? 0 : reduction, shape, result);
    if (result.numel() == 0) return;
    const uint64_t scratch = p.workspace(count(shape) * 4);
    p.run([=](Launch& launch) {
      auto* const each = reinterpret_cast<float*>(launch.workspace(scratch));
      const Values a = spread(launch, x, shape);
      const Values b = spread(launch, y, shape);
      const Values weights = w ? spread(launch, w, shape) : Values(a.size(), 1);
      const Values positives = pos ? spread(launch, pos, shape) : Values(a.size(), 1);
      const Values grads = g ? spread(launch, g, shape) : Values(a.size(), 1);
      const float scale = backward && reduction == 1 ? 1 / static_cast<float>(a.size()) : 1;
      for (size_t i = 0; i < a.size(); ++i) {
        const float value = f(a[i], b[i], positives[i]);
        each[i] = value * weights[i] * grads[i] * scale;
      }
      store_reduced(get(launch, result), backward ? 0 : reduction, Values(each, each + a.size()),
                    static_cast<float>(a.size()));
    });
  });
}

}  // namespace

#define SIM_LOSS(Name, types, f)                                                         \
  SIM_SIGNATURE(Name, const aclTensor* self, const aclTensor* target, int64_t reduction, \
                aclTensor* out) {                                                        \
    return pointwise_loss("aclnn" #Name, self, target, reduction, out, "out", types, f,  \
                          workspaceSize, executor);                                      \
  }
#define SIM_LOSS_BACKWARD(Name, result, f)                                                         \
  SIM_SIGNATURE(Name, const aclTensor* gradOutput, const aclTensor* self, const aclTensor* target, \
                int64_t reduction, aclTensor* result) {                                            \
    return pointwise_loss_backward("aclnn" #Name, gradOutput, "gradOutput", self, target,          \
                                   reduction, result, #result, f, workspaceSize, executor);        \
  }

extern "C" {

SIM_LOSS(MseLoss, kF, ([](float x, float y) { return (x - y) * (x - y); }))
SIM_LOSS(MseLossOut, kF, ([](float x, float y) { return (x - y) * (x - y); }))
SIM_LOSS_BACKWARD(MseLossBackward, out, ([](float x, float y) { return 2 * (x - y); }))
SIM_LOSS(L1Loss, kF | kI64, ([](float x, float y) { return std::abs(x - y); }))
SIM_LOSS_BACKWARD(L1LossBackward, gradInput, ([](float x, float y) { return sign(x - y); }))
SIM_LOSS(SoftMarginLoss, kF, ([](float x, float y) { return std::log1p(std::exp(-y * x)); }))
SIM_LOSS_BACKWARD(SoftMarginLossBackward, out, ([](float x, float y) {
                    return -y / (1 + std::exp(y * x));
                  }))

SIM_SIGNATURE(SmoothL1Loss,
              const aclTensor* self,
              const aclTensor* target,
              int64_t reduction,
              float beta,
              aclTensor* result) {
  return pointwise_loss("aclnnSmoothL1Loss", self, target, reduction, result, "result", kF,
                        SmoothL1{beta}, workspaceSize, executor);
}
SIM_SIGNATURE(SmoothL1LossBackward,
              const aclTensor* gradOut,
              const aclTensor* self,
              const aclTensor* target,
              int64_t reduction,
              float beta,
              aclTensor* gradInput) {
  return pointwise_loss_backward("aclnnSmoothL1LossBackward", gradOut, "gradOut", self, target,
                                 reduction, gradInput, "gradInput", SmoothL1Slope{beta},
                                 workspaceSize, executor);
}
SIM_SIGNATURE(KlDiv,
              const aclTensor* self,
              const aclTensor* target,
              int64_t reduction,
              bool logTarget,
              aclTensor* out) {
  return pointwise_loss("aclnnKlDiv", self, target, reduction, out, "out", kF, KlDiv{logTarget},
                        workspaceSize, executor);
}
SIM_SIGNATURE(KlDivBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* target,
              int64_t reduction,
              bool logTarget,
              aclTensor* out) {
  return pointwise_loss_backward("aclnnKlDivBackward", gradOutput, "gradOutput", self, target,
                                 reduction, out, "out", KlDivSlope{logTarget}, workspaceSize,
                                 executor);
}
SIM_SIGNATURE(BinaryCrossEntropy,
              const aclTensor* self,
              const aclTensor* target,
              const aclTensor* weight,
              int64_t reduction,
              aclTensor* out) {
  return cross_entropy("aclnnBinaryCrossEntropy", nullptr, false, self, target, weight, "weight",
                       nullptr, bce, reduction, out, "out", workspaceSize, executor);
}
SIM_SIGNATURE(BinaryCrossEntropyBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* target,
              const aclTensor* weightOptional,
              int64_t reduction,
              aclTensor* out) {
  return cross_entropy("aclnnBinaryCrossEntropyBackward", gradOutput, true, self, target,
                       weightOptional, "weightOptional", nullptr, bce_slope, reduction, out, "out",
                       workspaceSize, executor);
}
SIM_SIGNATURE(BinaryCrossEntropyWithLogits,
              const aclTensor* self,
              const aclTensor* target,
              const aclTensor* weightOptional,
              const aclTensor* posWeightOptional,
              int64_t reduction,
              aclTensor* out) {
  return cross_entropy("aclnnBinaryCrossEntropyWithLogits", nullptr, false, self, target,
                       weightOptional, "weightOptional", posWeightOptional, bce_logits, reduction,
                       out, "out", workspaceSize, executor);
}
SIM_SIGNATURE(BinaryCrossEntropyWithLogitsBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* target,
              const aclTensor* weightOptional,
              const aclTensor* posWeightOptional,
              int64_t reduction,
              aclTensor* out) {
  return cross_entropy("aclnnBinaryCrossEntropyWithLogitsBackward", gradOutput, true, self, target,
                       weightOptional, "weightOptional", posWeightOptional, bce_logits_slope,
                       reduction, out, "out", workspaceSize, executor);
}
SIM_SIGNATURE(BinaryCrossEntropyWithLogitsTargetBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* target,
              const aclTensor* weightOptional,
              const aclTensor* posWeightOptional,
              int64_t reduction,
              aclTensor* gradTarget) {
  return cross_entropy("aclnnBinaryCrossEntropyWithLogitsTargetBackward", gradOutput, true, self,
                       target, weightOptional, "weightOptional", posWeightOptional,
                       bce_logits_target_slope, reduction, gradTarget, "gradTarget", workspaceSize,
                       executor);
}
}
