// Losses and their gradients. `reduction`: 0 none, 1 mean, 2 sum.
#include "simulator/ascend/ops/rows.h"

using namespace sim;

namespace {

using Values = std::vector<float>;

size_t at(int64_t index) { return static_cast<size_t>(index); }

void check_reduction(Planner& p, int64_t reduction) {
  p.check(reduction >= 0 && reduction <= 2,
          "reduction is " + std::to_string(reduction) + ", expected is 0, 1 or 2");
}

Values spread(const Launch& launch, const Operand& operand, const Shape& shape) {
  Values values(at(count(shape)));
  load(get(launch, operand).expand(shape), 0, count(shape), values.data());
  return values;
}

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
    check_reduction(p, reduction);
    const Shape shape = p.broadcast(x.shape(), y.shape(), "self and target");
    if (reduction == 0) p.check_shape(result, shape);
    p.check(reduction == 0 || result.numel() == 1, p.name(result) + " must have one element");
    if (result.numel() == 0) return;
    const uint64_t scratch = p.workspace(count(shape) * 4);
    p.run([=](Launch& launch) {
      auto* const each = reinterpret_cast<float*>(launch.workspace(scratch));
      const Values a = spread(launch, x, shape);
      const Values b = spread(launch, y, shape);
      for (size_t i = 0; i < a.size(); ++i) each[i] = f(a[i], b[i]);
      if (reduction == 0) return store(get(launch, result), 0, count(shape), each);
      float sum = sum_of(Values(each, each + a.size()));
      if (reduction == 1) sum /= static_cast<float>(a.size());
      store(get(launch, result), 0, 1, &sum);
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

float bce(float x, float y) {
  const float a = std::max(std::log(x), -100.0F);
  const float b = std::max(std::log1p(-x), -100.0F);
  return -(y * a + (1 - y) * b);
}
float bce_slope(float x, float y) { return (x - y) / std::max((1 - x) * x, 1e-12F); }
float bce_logits(float x, float y, float positive) {
  const float weight = 1 + (positive - 1) * y;
  const float softplus = std::log1p(std::exp(-std::abs(x))) + std::max(-x, 0.0F);
  return (1 - y) * x + weight * softplus;
}
float bce_logits_slope(float x, float y, float positive) {
  const float s = 1 / (1 + std::exp(-x));
  return (positive * y + 1 - y) * s - positive * y;
}

// Losses of probabilities or logits, with weights; `grad` null: the loss itself.
aclnnStatus cross_entropy(const char* op,
                          const aclTensor* grad,
                          bool backward,
                          const aclTensor* self,
                          const aclTensor* target,
                          const aclTensor* weight,
                          const char* weight_name,
                          const aclTensor* positive,
                          bool logits,
                          int64_t reduction,
                          const aclTensor* out,
                          uint64_t* workspace_size,
                          aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand g = backward ? p.input(grad, "gradOutput", kF) : Operand{};
    const Operand x = p.input(self, "self", kF);
    const Operand y = p.input(target, "target", kF);
    const Operand w = p.optional(weight, weight_name, kF);
    const Operand pos = p.optional(positive, "posWeightOptional", kF);
    const Operand result = p.output(out, "out", kF);
    check_reduction(p, reduction);
    const Shape shape = x.shape();
    p.check_shape(y, shape);
    if (w) p.check_shape(x, p.broadcast(shape, w.shape(), "self and weight"));
    if (pos) p.check_shape(x, p.broadcast(shape, pos.shape(), "self and posWeightOptional"));
    const bool whole = backward || reduction == 0;
    if (whole) p.check_shape(result, shape);
    p.check(whole || result.numel() == 1, "out must have one element");
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
        const float value = logits ? (backward ? bce_logits_slope(a[i], b[i], positives[i])
                                               : bce_logits(a[i], b[i], positives[i]))
                                   : (backward ? bce_slope(a[i], b[i]) : bce(a[i], b[i]));
        each[i] = value * weights[i] * grads[i] * scale;
      }
      if (whole) return store(get(launch, result), 0, count(shape), each);
      float sum = sum_of(Values(each, each + a.size()));
      if (reduction == 1) sum /= static_cast<float>(a.size());
      store(get(launch, result), 0, 1, &sum);
    });
  });
}

// x[n, classes, inner], target[n, inner].
struct Classes {
  size_t batch = 1;
  size_t classes = 1;
  size_t inner = 1;
};

Classes check_classes(Planner& p, const Operand& x, const Operand& target, bool image) {
  p.check_rank(x, image ? 4 : 1, image ? 4 : 2);
  Classes c;
  const size_t dim = x.rank() == 1 ? 0 : 1;
  c.classes = at(x.shape()[dim]);
  if (dim == 1) c.batch = at(x.shape()[0]);
  for (size_t d = 2; d < x.shape().size(); ++d) c.inner *= at(x.shape()[d]);
  p.check(target.numel() == static_cast<int64_t>(c.batch * c.inner),
          "target must have one class for each sample of self");
  return c;
}

aclnnStatus nll_loss(const char* op,
                     const aclTensor* self,
                     const aclTensor* target,
                     const aclTensor* weight,
                     int64_t reduction,
                     int64_t ignore,
                     const aclTensor* out,
                     const aclTensor* total,
                     bool image,
                     uint64_t* workspace_size,
                     aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand x = p.input(self, "self", kF);
    const Operand y = p.input(target, "target", kIndex | kU8);
    const Operand w = p.input(weight, "weight", kF);
    const Operand result = p.output(out, "out", kF);
    const Operand sum_out = p.output(total, "totalWeightOut", kF);
    check_reduction(p, reduction);
    const Classes c = check_classes(p, x, y, image);
    p.check_shape(w, {static_cast<int64_t>(c.classes)});
    p.check(sum_out.numel() == 1, "totalWeightOut must have one element");
    if (reduction == 0) p.check_shape(result, y.shape());
    p.check(reduction == 0 || result.numel() == 1, "out must have one element");
    const uint64_t scratch = p.workspace(static_cast<int64_t>(c.batch * c.inner) * 4);
    p.run([=](Launch& launch) {
      const auto xs = load_all<float>(get(launch, x));
      const auto ys = load_all<int64_t>(get(launch, y));
      const auto ws = load_all<float>(get(launch, w));
      auto* const each = reinterpret_cast<float*>(launch.workspace(scratch));
      float weights = 0;
      float sum = 0;
      for (size_t i = 0; i < ys.size(); ++i) {
        each[i] = 0;
        if (ys[i] == ignore) continue;
        if (ys[i] < 0 || ys[i] >= static_cast<int64_t>(c.classes)) {
          throw DeviceFault{507015, "target has the class " + std::to_string(ys[i])};
        }
        const size_t n = i / c.inner;
        const float own = ws[at(ys[i])];
        each[i] = -own * xs[(n * c.classes + at(ys[i])) * c.inner + i % c.inner];
        weights += own;
        sum += each[i];
      }
      store(get(launch, sum_out), 0, 1, &weights);
      if (reduction == 0) return store(get(launch, result), 0, y.numel(), each);
      if (reduction == 1) sum /= weights;
      store(get(launch, result), 0, 1, &sum);
    });
  });
}

aclnnStatus nll_loss_backward(const char* op,
                              const aclTensor* grad,
                              const aclTensor* self,
                              const aclTensor* target,
                              const aclTensor* weight,
                              int64_t reduction,
                              int64_t ignore,
                              const aclTensor* total,
                              const aclTensor* out,
                              bool image,
                              uint64_t* workspace_size,
                              aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand g = p.input(grad, "gradOutput", kF);
    const Operand x = p.input(self, "self", kF);
    const Operand y = p.input(target, "target", kIndex | kU8);
    const Operand w = p.input(weight, "weight", kF);
    const Operand sum = p.input(total, "totalWeight", kF);
    const Operand result = p.output(out, "out", kF);
    check_reduction(p, reduction);
    const Classes c = check_classes(p, x, y, image);
    p.check_shape(w, {static_cast<int64_t>(c.classes)});
    p.check_shape(result, x.shape());
    p.check(g.numel() == (reduction == 0 ? y.numel() : 1), "gradOutput has a wrong size");
    if (result.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto grads = load_all<float>(get(launch, g));
      const auto ys = load_all<int64_t>(get(launch, y));
      const auto ws = load_all<float>(get(launch, w));
      const float weights = load_all<float>(get(launch, sum))[0];
      Values each(at(x.numel()));
      for (size_t i = 0; i < ys.size(); ++i) {
        if (ys[i] == ignore) continue;
        const size_t n = i / c.inner;
        const float scale = reduction == 1 ? 1 / weights : 1;
        each[(n * c.classes + at(ys[i])) * c.inner + i % c.inner] =
            -ws[at(ys[i])] * scale * grads[reduction == 0 ? i : 0];
      }
      store_all(get(launch, result), each);
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
                       nullptr, false, reduction, out, workspaceSize, executor);
}
SIM_SIGNATURE(BinaryCrossEntropyBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* target,
              const aclTensor* weightOptional,
              int64_t reduction,
              aclTensor* out) {
  return cross_entropy("aclnnBinaryCrossEntropyBackward", gradOutput, true, self, target,
                       weightOptional, "weightOptional", nullptr, false, reduction, out,
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
                       weightOptional, "weightOptional", posWeightOptional, true, reduction, out,
                       workspaceSize, executor);
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
                       weightOptional, "weightOptional", posWeightOptional, true, reduction, out,
                       workspaceSize, executor);
}
SIM_SIGNATURE(NLLLoss,
              const aclTensor* self,
              const aclTensor* target,
              const aclTensor* weight,
              int64_t reduction,
              int64_t ignoreIndex,
              aclTensor* out,
              aclTensor* totalWeightOut) {
  return nll_loss("aclnnNLLLoss", self, target, weight, reduction, ignoreIndex, out, totalWeightOut,
                  false, workspaceSize, executor);
}
SIM_SIGNATURE(NLLLoss2d,
              const aclTensor* self,
              const aclTensor* target,
              const aclTensor* weight,
              int64_t reduction,
              int64_t ignoreIndex,
              aclTensor* out,
              aclTensor* totalWeightOut) {
  return nll_loss("aclnnNLLLoss2d", self, target, weight, reduction, ignoreIndex, out,
                  totalWeightOut, true, workspaceSize, executor);
}
SIM_SIGNATURE(NLLLossBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* target,
              const aclTensor* weight,
              int64_t reduction,
              int64_t ignoreIndex,
              const aclTensor* totalWeight,
              aclTensor* out) {
  return nll_loss_backward("aclnnNLLLossBackward", gradOutput, self, target, weight, reduction,
                           ignoreIndex, totalWeight, out, false, workspaceSize, executor);
}
SIM_SIGNATURE(NLLLoss2dBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* target,
              const aclTensor* weight,
              int64_t reduction,
              int64_t ignoreIndex,
              aclTensor* totalWeight,
              aclTensor* out) {
  return nll_loss_backward("aclnnNLLLoss2dBackward", gradOutput, self, target, weight, reduction,
                           ignoreIndex, totalWeight, out, true, workspaceSize, executor);
}
}
