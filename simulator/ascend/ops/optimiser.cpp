// Steps of optimisers.
#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

extern "C" {

SIM_SIGNATURE(ApplyAdamWV2,
              aclTensor* varRef,
              aclTensor* mRef,
              aclTensor* vRef,
              aclTensor* maxGradNormOptionalRef,
              const aclTensor* grad,
              const aclTensor* step,
              float lr,
              float beta1,
              float beta2,
              float weightDecay,
              float eps,
              bool amsgrad,
              bool maximize) {
  return plan("aclnnApplyAdamWV2", workspaceSize, executor, [&](Planner& p) {
    const Operand var = p.inout(varRef, "varRef", kF);
    const Operand m = p.inout(mRef, "mRef", kF);
    const Operand v = p.inout(vRef, "vRef", kF);
    const Operand top =
        amsgrad ? p.inout(maxGradNormOptionalRef, "maxGradNormOptionalRef", kF) : Operand{};
    const Operand g = p.input(grad, "grad", kF);
    const Operand at = p.input(step, "step", kF32 | kI64);
    for (const Operand& each : {m, v, g}) p.check_shape(each, var.shape());
    if (top) p.check_shape(top, var.shape());
    p.check(at.numel() == 1, "step must have one element");
    if (var.numel() == 0) return;
    p.run([=](Launch& launch) {
      auto values = load_all<float>(get(launch, var));
      auto means = load_all<float>(get(launch, m));
      auto squares = load_all<float>(get(launch, v));
      auto tops = top ? load_all<float>(get(launch, top)) : squares;
      const auto grads = load_all<float>(get(launch, g));
      const double t = load_all<double>(get(launch, at))[0];
      const double first = 1 - std::pow(double{beta1}, t);
      const double second = std::sqrt(1 - std::pow(double{beta2}, t));
      for (size_t i = 0; i < values.size(); ++i) {
        const float slope = maximize ? -grads[i] : grads[i];
        values[i] *= 1 - lr * weightDecay;
        means[i] = beta1 * means[i] + (1 - beta1) * slope;
        squares[i] = beta2 * squares[i] + (1 - beta2) * slope * slope;
        if (top) tops[i] = std::max(tops[i], squares[i]);
        const double root = std::sqrt(double{top ? tops[i] : squares[i]}) / second + eps;
        values[i] -= static_cast<float>(lr / first * means[i] / root);
      }
      store_all(get(launch, var), values);
      store_all(get(launch, m), means);
      store_all(get(launch, v), squares);
      if (top) store_all(get(launch, top), tops);
    });
  });
}

// The step of Adam, and a running mean of the variables. mode: 0 adds the decay to the gradient, 1
// to the step.
SIM_SIGNATURE(ApplyFusedEmaAdam,
              const aclTensor* grad,
              aclTensor* varRef,
              aclTensor* mRef,
              aclTensor* vRef,
              aclTensor* sRef,
              const aclTensor* step,
              double lr,
              double emaDecay,
              double beta1,
              double beta2,
              double eps,
              int64_t mode,
              bool biasCorrection,
              double weightDecay) {
  return plan("aclnnApplyFusedEmaAdam", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(grad, "grad", kF);
    const Operand var = p.inout(varRef, "varRef", kF);
    const Operand m = p.inout(mRef, "mRef", kF);
    const Operand v = p.inout(vRef, "vRef", kF);
    const Operand s = p.inout(sRef, "sRef", kF);
    const Operand at = p.input(step, "step", kI64);
    for (const Operand& each : {g, m, v, s}) p.check_shape(each, var.shape());
    p.check(at.numel() == 1, "step must have one element");
    p.check(mode == 0 || mode == 1, "mode must be 0 or 1");
    if (var.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto grads = load_all<double>(get(launch, g));
      auto values = load_all<double>(get(launch, var));
      auto means = load_all<double>(get(launch, m));
      auto squares = load_all<double>(get(launch, v));
      auto slow = load_all<double>(get(launch, s));
      const double t = load_all<double>(get(launch, at))[0];
      const double first = biasCorrection ? 1 - std::pow(beta1, t) : 1;
      const double second = biasCorrection ? 1 - std::pow(beta2, t) : 1;
      for (size_t i = 0; i < values.size(); ++i) {
        const double slope = grads[i] + (mode == 0 ? weightDecay * values[i] : 0);
        means[i] = beta1 * means[i] + (1 - beta1) * slope;
        squares[i] = beta2 * squares[i] + (1 - beta2) * slope * slope;
        double change = means[i] / first / (std::sqrt(squares[i] / second) + eps);
        if (mode == 1) change += weightDecay * values[i];
        values[i] -= lr * change;
        slow[i] = emaDecay * slow[i] + (1 - emaDecay) * values[i];
      }
      store_all(get(launch, var), values);
      store_all(get(launch, m), means);
      store_all(get(launch, v), squares);
      store_all(get(launch, s), slow);
    });
  });
}
}
