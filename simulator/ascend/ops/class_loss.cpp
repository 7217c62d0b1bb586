// Losses of classes, and their gradients.
#include "simulator/ascend/ops/loss.h"

using namespace sim;

namespace {

// x[n, classes, inner], target[n, inner].
struct Classes {
  size_t batch = 1;
  size_t classes = 1;
  size_t inner = 1;

  // Where the element of class `own` and target number `i` is.
  size_t place(size_t i, size_t own) const {
    return (i / inner * classes + own) * inner + i % inner;
  }
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

// What the loss and its gradient share.
struct Samples {
  Operand x, y, w;
  Classes c;
};

Samples check_samples(Planner& p,
                      const aclTensor* self,
                      const aclTensor* target,
                      const aclTensor* weight,
                      bool image) {
  const Operand x = p.input(self, "self", kF);
  const Operand y = p.input(target, "target", kIndex | kU8);
  const Operand w = p.input(weight, "weight", kF);
  const Classes c = check_classes(p, x, y, image);
  p.check_shape(w, {static_cast<int64_t>(c.classes)});
  return {x, y, w, c};
}

// A class that does not exist stops the device.
size_t class_of(int64_t target, size_t classes) {
  if (target < 0 || target >= static_cast<int64_t>(classes)) {
    throw DeviceFault{507015, "target has the class " + std::to_string(target)};
  }
  return at(target);
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
    const Samples s = check_samples(p, self, target, weight, image);
    const Operand result = p.output(out, "out", kF);
    const Operand sum_out = p.output(total, "totalWeightOut", kF);
    p.check(sum_out.numel() == 1, "totalWeightOut must have one element");
    check_reduced(p, reduction, s.y.shape(), result);
    p.run([=](Launch& launch) {
      const auto xs = load_all<float>(get(launch, s.x));
      const auto ys = load_all<int64_t>(get(launch, s.y));
      const auto ws = load_all<float>(get(launch, s.w));
      Values each(ys.size());
      float weights = 0;
      for (size_t i = 0; i < ys.size(); ++i) {
        if (ys[i] == ignore) continue;
        const size_t own = class_of(ys[i], s.c.classes);
        each[i] = -ws[own] * xs[s.c.place(i, own)];
        weights += ws[own];
      }
      store(get(launch, sum_out), 0, 1, &weights);
      store_reduced(get(launch, result), reduction, each, weights);
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
    const Samples s = check_samples(p, self, target, weight, image);
    const Operand sum = p.input(total, "totalWeight", kF);
    const Operand result = p.output(out, "out", kF);
    check_reduction(p, reduction);
    p.check_shape(result, s.x.shape());
    p.check(g.numel() == (reduction == 0 ? s.y.numel() : 1), "gradOutput has a wrong size");
    p.check(sum.numel() == 1, "totalWeight must have one element");
    if (result.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto grads = load_all<float>(get(launch, g));
      const auto ys = load_all<int64_t>(get(launch, s.y));
      const auto ws = load_all<float>(get(launch, s.w));
      const float scale = reduction == 1 ? 1 / load_all<float>(get(launch, sum))[0] : 1;
      Values each(at(s.x.numel()));
      for (size_t i = 0; i < ys.size(); ++i) {
        if (ys[i] == ignore) continue;
        const size_t own = class_of(ys[i], s.c.classes);
        each[s.c.place(i, own)] = -ws[own] * scale * grads[reduction == 0 ? i : 0];
      }
      store_all(get(launch, result), each);
    });
  });
}

int64_t reduction_of(Planner& p, const char* text) {
  const std::string name = text == nullptr ? "mean" : text;
  p.check(name == "none" || name == "mean" || name == "sum",
          "reductionOptional is " + name + ", expected is none, mean or sum");
  return name == "none" ? 0 : name == "mean" ? 1 : 2;
}

void refuse_z_loss(Planner& p, double scale, bool asked) {
  p.check(scale == 0 && !asked, "the z-loss is not simulated");
}

// How much of a sample's loss each log-probability carries, negated.
void add_shares(float* shares, size_t classes, size_t own, const Values& weights, double smooth) {
  const auto each = static_cast<float>(smooth / static_cast<double>(classes));
  for (size_t c = 0; c < classes; ++c) shares[c] = each * weights[c];
  shares[own] += static_cast<float>(1 - smooth) * weights[own];
}

}  // namespace

extern "C" {

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

SIM_SIGNATURE(CrossEntropyLoss,
              const aclTensor* input,
              const aclTensor* target,
              const aclTensor* weightOptional,
              char* reductionOptional,
              int64_t ignoreIndex,
              double labelSmoothing,
              double lseSquareScaleForZloss,
              bool returnZloss,
              const aclTensor* lossOut,
              const aclTensor* logProbOut,
              const aclTensor*,
              const aclTensor*) {
  return plan("aclnnCrossEntropyLoss", workspaceSize, executor, [&](Planner& p) {
    const Operand x = p.input(input, "input", kF);
    const Operand y = p.input(target, "target", kIndex);
    const Operand w = p.optional(weightOptional, "weightOptional", kF32);
    const int64_t reduction = reduction_of(p, reductionOptional);
    const Operand loss = p.output(lossOut, "lossOut", kF);
    const Operand log_prob = p.output(logProbOut, "logProbOut", kF);
    p.check_rank(x, 2, 2);
    p.check_shape(y, {x.shape()[0]});
    if (w) p.check_shape(w, {x.shape()[1]});
    p.check(labelSmoothing >= 0 && labelSmoothing <= 1, "labelSmoothing must be in [0, 1]");
    refuse_z_loss(p, lseSquareScaleForZloss, returnZloss);
    check_reduced(p, reduction, y.shape(), loss);
    p.check_shape(log_prob, x.shape());
    p.run([=](Launch& launch) {
      const auto ys = load_all<int64_t>(get(launch, y));
      const size_t classes = at(x.shape()[1]);
      const Values weights = w ? load_all<float>(get(launch, w)) : Values(classes, 1);
      Values each(ys.size());
      Values shares(classes);
      float total = 0;
      for_rows<float>(get(launch, x), 1, [&](int64_t row, Values& line) {
        const float top = *std::max_element(line.begin(), line.end());
        float sum = 0;
        for (const float value : line) sum += std::exp(value - top);
        for (float& value : line) value -= top + std::log(sum);
        store_row(get(launch, log_prob), 1, row, line);
        if (ys[at(row)] == ignoreIndex) return;
        const size_t own = class_of(ys[at(row)], classes);
        add_shares(shares.data(), classes, own, weights, labelSmoothing);
        for (size_t c = 0; c < classes; ++c) each[at(row)] -= shares[c] * line[c];
        total += weights[own];
      });
      store_reduced(get(launch, loss), reduction, each, total);
    });
  });
}

SIM_SIGNATURE(CrossEntropyLossGrad,
              const aclTensor* gradLoss,
              const aclTensor* logProb,
              const aclTensor* target,
              const aclTensor* weightOptional,
              const aclTensor* gradZlossOptional,
              const aclTensor*,
              char* reductionOptional,
              int64_t ignoreIndex,
              double labelSmoothing,
              double lseSquareScaleForZloss,
              const aclTensor* out) {
  return plan("aclnnCrossEntropyLossGrad", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradLoss, "gradLoss", kF);
    const Operand log_prob = p.input(logProb, "logProb", kF);
    const Operand y = p.input(target, "target", kIndex);
    const Operand w = p.optional(weightOptional, "weightOptional", kF32);
    const int64_t reduction = reduction_of(p, reductionOptional);
    const Operand result = p.output(out, "out", kF);
    p.check_rank(log_prob, 2, 2);
    p.check_shape(y, {log_prob.shape()[0]});
    if (w) p.check_shape(w, {log_prob.shape()[1]});
    refuse_z_loss(p, lseSquareScaleForZloss, gradZlossOptional != nullptr);
    p.check(g.numel() == (reduction == 0 ? y.numel() : 1), "gradLoss has a wrong size");
    p.check_shape(result, log_prob.shape());
    if (result.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto ys = load_all<int64_t>(get(launch, y));
      const Values grads = load_all<float>(get(launch, g));
      const size_t classes = at(log_prob.shape()[1]);
      const Values weights = w ? load_all<float>(get(launch, w)) : Values(classes, 1);
      float total = 0;
      for (const int64_t own : ys) {
        if (own != ignoreIndex) total += weights[class_of(own, classes)];
      }
      Values shares(classes);
      for_rows<float>(get(launch, log_prob), 1, [&](int64_t row, Values& line) {
        const bool counts = ys[at(row)] != ignoreIndex;
        const float grad = grads[reduction == 0 ? at(row) : 0] / (reduction == 1 ? total : 1);
        if (counts) {
          add_shares(shares.data(), classes, at(ys[at(row)]), weights, labelSmoothing);
        }
        const float all = sum_of(shares);
        for (size_t c = 0; c < classes; ++c) {
          line[c] = counts ? grad * (std::exp(line[c]) * all - shares[c]) : 0;
        }
        store_row(get(launch, result), 1, row, line);
      });
    });
  });
}

SIM_SIGNATURE(MultilabelMarginLoss,
              const aclTensor* self,
              const aclTensor* target,
              int64_t reduction,
              aclTensor* out,
              aclTensor* isTarget) {
  return plan("aclnnMultilabelMarginLoss", workspaceSize, executor, [&](Planner& p) {
    const Operand x = p.input(self, "self", kF);
    const Operand y = p.input(target, "target", kIndex);
    const Operand result = p.output(out, "out", kF);
    const Operand marks = p.output(isTarget, "isTarget", kF | kI32);
    p.check_rank(x, 1, 2);
    p.check_shape(y, x.shape());
    p.check_shape(marks, x.shape());
    check_reduced(p, reduction, Shape(x.shape().begin(), x.shape().end() - 1), result);
    p.run([=](Launch& launch) {
      const auto labels = load_all<int64_t>(get(launch, y));
      Values each;
      for_rows<float>(get(launch, x), -1 + x.rank(), [&](int64_t row, const Values& line) {
        const size_t first = at(row) * line.size();
        std::vector<size_t> own;  // labels end at the first negative one
        for (size_t k = 0; k < line.size() && labels[first + k] >= 0; ++k) {
          own.push_back(class_of(labels[first + k], line.size()));
        }
        Values marked(line.size());
        for (const size_t k : own) marked[k] = 1;
        float sum = 0;
        for (const size_t k : own) {
          for (size_t c = 0; c < line.size(); ++c) {
            if (marked[c] == 0) sum += std::max(0.0F, 1 - line[k] + line[c]);
          }
        }
        each.push_back(sum / static_cast<float>(line.size()));
        store_row(get(launch, marks), -1 + x.rank(), row, marked);
      });
      store_reduced(get(launch, result), reduction, each, static_cast<float>(each.size()));
    });
  });
}
}
