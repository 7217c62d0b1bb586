// What gradient scaling and the optimisers of one tensor need.
#include "simulator/ascend/ops/values.h"

using namespace sim;

namespace {

Operand one(Planner& p, const aclTensor* tensor, const char* name, Types types) {
  const Operand operand = p.input(tensor, name, types);
  check_count(p, operand, 1);
  return operand;
}
float number(const Launch& launch, const Operand& operand) { return values(launch, operand)[0]; }

Operand changed_like(Planner& p, const aclTensor* tensor, const char* name, const Operand& like) {
  const Operand operand = p.inout(tensor, name, kF);
  p.check_shape(operand, like.shape());
  p.check(operand.dtype() == like.dtype(), std::string(name) + " has another dtype than var");
  return operand;
}

}  // namespace

extern "C" {

SIM_SIGNATURE(ForeachNonFiniteCheckAndUnscale,
              const aclTensorList* scaledGrads,
              const aclTensor* foundInf,
              const aclTensor* invScale) {
  return plan("aclnnForeachNonFiniteCheckAndUnscale", workspaceSize, executor, [&](Planner& p) {
    const auto grads = p.inouts(scaledGrads, "scaledGrads", kF);
    const Operand found = p.inout(foundInf, "foundInf", kF32);
    const Operand scale = one(p, invScale, "invScale", kF32);
    check_count(p, found, 1);
    p.check(!grads.empty() && grads.size() <= 256, "scaledGrads must have 1 to 256 members");
    for (const Operand& grad : grads) {
      p.check(grad.dtype() == grads[0].dtype(), "scaledGrads differ in dtype");
    }
    p.run([=](Launch& launch) {
      const float by = number(launch, scale);
      bool finite = true;
      for (const Operand& grad : grads) {
        Values scaled = values(launch, grad);
        for (float& value : scaled) {
          finite = finite && std::isfinite(value);
          value *= by;
        }
        put(launch, grad, scaled);
      }
      if (!finite) put(launch, found, {1});
    });
  });
}

SIM_SIGNATURE(AmpUpdateScale,
              const aclTensor* currentScale,
              const aclTensor* growthTracker,
              const aclTensor* foundInf,
              double growthFactor,
              double backoffFactor,
              int64_t growthInterval,
              const aclTensor* updatedScale,
              const aclTensor* updatedGrowthTracker) {
  return plan("aclnnAmpUpdateScale", workspaceSize, executor, [&](Planner& p) {
    const Operand scale = one(p, currentScale, "currentScale", kF32);
    const Operand tracker = one(p, growthTracker, "growthTracker", kI32);
    const Operand found = one(p, foundInf, "foundInf", kF32);
    const Operand new_scale = p.output(updatedScale, "updatedScale", kF32);
    const Operand new_tracker = p.output(updatedGrowthTracker, "updatedGrowthTracker", kI32);
    check_count(p, new_scale, 1);
    check_count(p, new_tracker, 1);
    p.check(growthInterval > 0, "growthInterval must be positive");
    p.run([=](Launch& launch) {
      const float now = number(launch, scale);
      const float steps = number(launch, tracker) + 1;
      float next = now;
      bool starts_again = true;
      if (number(launch, found) != 0) {
        next = now * static_cast<float>(backoffFactor);
      } else if (steps == static_cast<float>(growthInterval)) {
        const float grown = now * static_cast<float>(growthFactor);
        if (std::isfinite(grown)) next = grown;
      } else {
        starts_again = false;
      }
      put(launch, new_scale, {next});
      put(launch, new_tracker, {starts_again ? 0 : steps});
    });
  });
}

SIM_SIGNATURE(ApplyAdam,
              aclTensor* varRef,
              const aclTensor* m,
              const aclTensor* v,
              const aclTensor* beta1Power,
              const aclTensor* beta2Power,
              const aclTensor* lr,
              const aclTensor* beta1,
              const aclTensor* beta2,
              const aclTensor* epsilon,
              const aclTensor* grad,
              bool /*useLocking*/,
              bool useNesterov) {
  return plan("aclnnApplyAdam", workspaceSize, executor, [&](Planner& p) {
    const Operand var = p.inout(varRef, "varRef", kF);
    const Operand first = changed_like(p, m, "m", var);
    const Operand second = changed_like(p, v, "v", var);
    const Operand power1 = one(p, beta1Power, "beta1Power", kF);
    const Operand power2 = one(p, beta2Power, "beta2Power", kF);
    const Operand rate = one(p, lr, "lr", kF);
    const Operand b1 = one(p, beta1, "beta1", kF);
    const Operand b2 = one(p, beta2, "beta2", kF);
    const Operand eps = one(p, epsilon, "epsilon", kF);
    const Operand g = p.input(grad, "grad", kF);
    p.check_shape(g, var.shape());
    if (var.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values x = values(launch, var);
      Values mean = values(launch, first);
      Values square = values(launch, second);
      const Values gradient = values(launch, g);
      const float beta = number(launch, b1);
      const float beta_square = number(launch, b2);
      const float step = number(launch, rate) * std::sqrt(1 - number(launch, power2)) /
                         (1 - number(launch, power1));
      for (size_t i = 0; i < x.size(); ++i) {
        mean[i] = beta * mean[i] + (1 - beta) * gradient[i];
        square[i] = beta_square * square[i] + (1 - beta_square) * gradient[i] * gradient[i];
        const float towards = useNesterov ? beta * mean[i] + (1 - beta) * gradient[i] : mean[i];
        x[i] -= step * towards / (std::sqrt(square[i]) + number(launch, eps));
      }
      put(launch, var, x);
      put(launch, first, mean);
      put(launch, second, square);
    });
  });
}

SIM_SIGNATURE(ApplyAdamW,
              aclTensor* varRef,
              aclTensor* mRef,
              aclTensor* vRef,
              const aclTensor* beta1Power,
              const aclTensor* beta2Power,
              const aclTensor* lr,
              const aclTensor* weightDecay,
              const aclTensor* beta1,
              const aclTensor* beta2,
              const aclTensor* eps,
              const aclTensor* grad,
              const aclTensor* maxGradNormOptional,
              bool amsgrad,
              bool maximize) {
  return plan("aclnnApplyAdamW", workspaceSize, executor, [&](Planner& p) {
    const Operand var = p.inout(varRef, "varRef", kF);
    const Operand first = changed_like(p, mRef, "mRef", var);
    const Operand second = changed_like(p, vRef, "vRef", var);
    const Operand power1 = one(p, beta1Power, "beta1Power", kF);
    const Operand power2 = one(p, beta2Power, "beta2Power", kF);
    const Operand rate = one(p, lr, "lr", kF);
    const Operand decay = one(p, weightDecay, "weightDecay", kF);
    const Operand b1 = one(p, beta1, "beta1", kF);
    const Operand b2 = one(p, beta2, "beta2", kF);
    const Operand epsilon = one(p, eps, "eps", kF);
    const Operand g = p.input(grad, "grad", kF);
    const Operand most = p.optional(maxGradNormOptional, "maxGradNormOptional", kF);
    p.check_shape(g, var.shape());
    p.check(!amsgrad || most, "maxGradNormOptional must be given where amsgrad is true");
    check_count(p, most, var.numel());
    if (var.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values x = values(launch, var);
      Values mean = values(launch, first);
      Values square = values(launch, second);
      const Values gradient = values(launch, g);
      const Values largest = values(launch, most);
      const float beta = number(launch, b1);
      const float beta_square = number(launch, b2);
      const float step = number(launch, rate);
      const float left1 = 1 - number(launch, power1) * beta;
      const float left2 = 1 - number(launch, power2) * beta_square;
      for (size_t i = 0; i < x.size(); ++i) {
        const float towards = maximize ? -gradient[i] : gradient[i];
        mean[i] = beta * mean[i] + (1 - beta) * towards;
        square[i] = beta_square * square[i] + (1 - beta_square) * towards * towards;
        const float spread = amsgrad ? larger(largest[i], square[i]) : square[i];
        x[i] *= 1 - step * number(launch, decay);
        x[i] -= step * (mean[i] / left1) / (std::sqrt(spread / left2) + number(launch, epsilon));
      }
      put(launch, var, x);
      put(launch, first, mean);
      put(launch, second, square);
    });
  });
}
}
