// Layer normalisation, alone and of a sum, with the gradients. All compute in float32.
#include "simulator/ascend/ops/norm.h"

using namespace sim;

namespace {

// Rows and their width: the last dims of `shape` must be `normalized`.
int64_t check_normalized(Planner& p, const Operand& in, const std::vector<int64_t>& normalized) {
  const Shape& shape = in.shape();
  p.check(!normalized.empty() && normalized.size() <= shape.size() &&
              std::equal(normalized.rbegin(), normalized.rend(), shape.rbegin()),
          "normalizedShape must be the last dims of input");
  return count(normalized);
}

aclnnStatus layer_norm(const char* op,
                       const aclTensor* input,
                       const aclIntArray* normalized_shape,
                       const aclTensor* weight,
                       const aclTensor* bias,
                       double eps,
                       const aclTensor* out,
                       const aclTensor* mean_out,
                       const aclTensor* rstd_out,
                       uint64_t* workspace_size,
                       aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(input, "input", kF);
    const int64_t width = check_normalized(p, in, p.array(normalized_shape, "normalizedShape"));
    const Operand w = p.optional(weight, "weightOptional", kF);
    const Operand b = p.optional(bias, "biasOptional", kF);
    const Operand target = p.output(out, "out", kF);
    const Operand mean = p.optional_output(mean_out, "meanOutOptional", kF);
    const Operand rstd = p.optional_output(rstd_out, "rstdOutOptional", kF);
    p.check_shape(target, in.shape());
    check_count(p, w, width);
    check_count(p, b, width);
    if (in.numel() == 0) return;
    check_count(p, mean, in.numel() / width);
    check_count(p, rstd, in.numel() / width);
    const uint64_t scratch = p.workspace(in.numel() * 4);
    p.run([=](Launch& launch) {
      const Values x = values(launch, in);
      const Values scale = values(launch, w);
      const Values shift = values(launch, b);
      Values means;
      Values rstds;
      statistics(x, z(width), eps, &means, &rstds);
      auto* const result = reinterpret_cast<float*>(launch.workspace(scratch));
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t row = i / z(width);
        const size_t column = i % z(width);
        float y = (x[i] - means[row]) * rstds[row];
        if (w) y *= scale[column];
        if (b) y += shift[column];
        result[i] = y;
      }
      store(get(launch, target), 0, in.numel(), result);
      put(launch, mean, means);
      put(launch, rstd, rstds);
    });
  });
}

// y = norm(left * x + right + bias) * gamma + beta over the last dim.
struct SumNorm {
  Operand x;
  Operand more;
  Operand bias;
  Operand gamma;
  Operand beta;
  double factor;  // of x
  double epsilon;
  Operand y;
  Operand mean;
  Operand rstd;
  Operand sum;
};

Values summed(const Launch& launch, const Operand& x, const Operand& more, double factor) {
  Values sum = values(launch, x);
  const Values other = values(launch, more);
  const auto by = static_cast<float>(factor);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = by * sum[i] + other[i];
  return sum;
}

void run_sum_norm(Planner& p, const SumNorm& s) {
  p.check_rank(s.x, 1, 8);
  p.check_shape(s.more, s.x.shape());
  p.check_shape(s.y, s.x.shape());
  if (s.sum) p.check_shape(s.sum, s.x.shape());
  const int64_t width = s.gamma.numel();
  p.check(!s.x.shape().empty() && width == s.x.shape().back(),
          "gamma must have one element for each of the last dim");
  check_count(p, s.beta, width);
  if (s.bias && s.bias.numel() != s.x.numel()) check_count(p, s.bias, width);
  if (s.x.numel() == 0) return;
  check_count(p, s.mean, s.x.numel() / width);
  check_count(p, s.rstd, s.x.numel() / width);
  p.run([=](Launch& launch) {
    Values x = summed(launch, s.x, s.more, s.factor);
    const Values bias = values(launch, s.bias);
    for (size_t i = 0; s.bias && i < x.size(); ++i) x[i] += bias[i % bias.size()];
    put(launch, s.sum, x);
    Values means;
    Values rstds;
    const size_t n = z(width);
    statistics(x, n, s.epsilon, &means, &rstds);
    normalize(means, rstds, n, &x);
    scale_and_shift(
        values(launch, s.gamma), values(launch, s.beta), [n](size_t i) { return i % n; }, &x);
    put(launch, s.y, x);
    put(launch, s.mean, means);
    put(launch, s.rstd, rstds);
  });
}

struct SumNormGrad {
  Operand dy;
  Operand x;
  Operand more;
  Operand mean;
  Operand rstd;
  Operand gamma;
  Operand direct;  // a gradient of the sum itself
  double factor;
  Operand dx;
  Operand dmore;
  Operand dgamma;
  Operand dbeta;
};

void run_sum_norm_grad(Planner& p, const SumNormGrad& s) {
  const int64_t width = s.gamma.numel();
  p.check_shape(s.dy, s.x.shape());
  p.check_shape(s.more, s.x.shape());
  if (s.direct) p.check_shape(s.direct, s.x.shape());
  p.check_shape(s.dx, s.x.shape());
  if (s.dmore) p.check_shape(s.dmore, s.x.shape());
  p.check(!s.x.shape().empty() && width == s.x.shape().back(),
          "gamma must have one element for each of the last dim");
  check_count(p, s.dgamma, width);
  check_count(p, s.dbeta, width);
  if (s.x.numel() == 0) return;
  check_count(p, s.mean, s.x.numel() / width);
  check_count(p, s.rstd, s.x.numel() / width);
  p.run([=](Launch& launch) {
    const size_t n = z(width);
    NormGradients g = norm_gradients(summed(launch, s.x, s.more, s.factor), values(launch, s.dy),
                                     values(launch, s.mean), values(launch, s.rstd), n,
                                     values(launch, s.gamma), n, [n](size_t i) { return i % n; });
    const Values direct = values(launch, s.direct);
    for (size_t i = 0; s.direct && i < direct.size(); ++i) g.input[i] += direct[i];
    put(launch, s.dmore, g.input);
    for (float& value : g.input) value *= static_cast<float>(s.factor);
    put(launch, s.dx, g.input);
    put(launch, s.dgamma, g.weight);
    put(launch, s.dbeta, g.bias);
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(LayerNorm,
              const aclTensor* input,
              const aclIntArray* normalizedShape,
              const aclTensor* weightOptional,
              const aclTensor* biasOptional,
              double eps,
              aclTensor* out,
              aclTensor* meanOutOptional,
              aclTensor* rstdOutOptional) {
  return layer_norm("aclnnLayerNorm", input, normalizedShape, weightOptional, biasOptional, eps,
                    out, meanOutOptional, rstdOutOptional, workspaceSize, executor);
}
SIM_SIGNATURE(LayerNormWithImplMode,
              const aclTensor* input,
              const aclIntArray* normalizedShape,
              const aclTensor* weightOptional,
              const aclTensor* biasOptional,
              double eps,
              aclTensor* out,
              aclTensor* meanOutOptional,
              aclTensor* rstdOutOptional,
              int32_t) {
  return layer_norm("aclnnLayerNormWithImplMode", input, normalizedShape, weightOptional,
                    biasOptional, eps, out, meanOutOptional, rstdOutOptional, workspaceSize,
                    executor);
}
SIM_SIGNATURE(LayerNormBackward,
              const aclTensor* gradOut,
              const aclTensor* input,
              const aclIntArray* normalizedShape,
              const aclTensor* mean,
              const aclTensor* rstd,
              const aclTensor* weightOptional,
              const aclTensor* biasOptional,
              const aclBoolArray* outputMask,
              aclTensor* gradInputOut,
              aclTensor* gradWeightOut,
              aclTensor* gradBiasOut) {
  return plan("aclnnLayerNormBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradOut, "gradOut", kF);
    const Operand in = p.input(input, "input", kF);
    const int64_t width = check_normalized(p, in, p.array(normalizedShape, "normalizedShape"));
    const Operand m = p.input(mean, "mean", kF);
    const Operand r = p.input(rstd, "rstd", kF);
    const Operand w = p.optional(weightOptional, "weightOptional", kF);
    p.optional(biasOptional, "biasOptional", kF);
    const std::vector<char> mask = p.array(outputMask, "outputMask");
    p.check(mask.size() == 3, "outputMask must have 3 values");
    const Operand dx = mask[0] ? p.output(gradInputOut, "gradInputOut", kF) : Operand{};
    const Operand dw = mask[1] ? p.output(gradWeightOut, "gradWeightOut", kF) : Operand{};
    const Operand db = mask[2] ? p.output(gradBiasOut, "gradBiasOut", kF) : Operand{};
    p.check_shape(g, in.shape());
    if (dx) p.check_shape(dx, in.shape());
    check_count(p, w, width);
    check_count(p, dw, width);
    check_count(p, db, width);
    if (in.numel() == 0) return;
    check_count(p, m, in.numel() / width);
    check_count(p, r, in.numel() / width);
    p.run([=](Launch& launch) {
      const size_t n = z(width);
      const NormGradients result = norm_gradients(
          values(launch, in), values(launch, g), values(launch, m), values(launch, r), n,
          values(launch, w), n, [n](size_t i) { return i % n; });
      put(launch, dx, result.input);
      put(launch, dw, result.weight);
      put(launch, db, result.bias);
    });
  });
}

SIM_SIGNATURE(AddLayerNorm,
              const aclTensor* x1,
              const aclTensor* x2,
              const aclTensor* gamma,
              const aclTensor* beta,
              const aclTensor* biasOptional,
              double epsilon,
              bool additionalOutput,
              const aclTensor* yOut,
              const aclTensor* meanOut,
              const aclTensor* rstdOut,
              const aclTensor* xOut) {
  return plan("aclnnAddLayerNorm", workspaceSize, executor, [&](Planner& p) {
    SumNorm s;
    s.x = p.input(x1, "x1", kF);
    s.more = p.input(x2, "x2", kF);
    s.gamma = p.input(gamma, "gamma", kF);
    s.beta = p.input(beta, "beta", kF);
    s.bias = p.optional(biasOptional, "biasOptional", kF);
    s.factor = 1;
    s.epsilon = epsilon;
    s.y = p.output(yOut, "yOut", kF);
    s.mean = p.output(meanOut, "meanOut", kF32);
    s.rstd = p.output(rstdOut, "rstdOut", kF32);
    s.sum = wanted_output(p, additionalOutput, xOut, "xOut", kF);
    run_sum_norm(p, s);
  });
}
SIM_SIGNATURE(AddLayerNormGrad,
              const aclTensor* dy,
              const aclTensor* x1,
              const aclTensor* x2,
              const aclTensor* rstd,
              const aclTensor* mean,
              const aclTensor* gamma,
              const aclTensor* dsumOptional,
              const aclTensor* dxOut,
              const aclTensor* dgammaOut,
              const aclTensor* dbetaOut) {
  return plan("aclnnAddLayerNormGrad", workspaceSize, executor, [&](Planner& p) {
    SumNormGrad s;
    s.dy = p.input(dy, "dy", kF);
    s.x = p.input(x1, "x1", kF);
    s.more = p.input(x2, "x2", kF);
    s.rstd = p.input(rstd, "rstd", kF32);
    s.mean = p.input(mean, "mean", kF32);
    s.gamma = p.input(gamma, "gamma", kF);
    s.direct = p.optional(dsumOptional, "dsumOptional", kF);
    s.factor = 1;
    s.dx = p.output(dxOut, "dxOut", kF);
    s.dgamma = p.output(dgammaOut, "dgammaOut", kF32);
    s.dbeta = p.output(dbetaOut, "dbetaOut", kF32);
    run_sum_norm_grad(p, s);
  });
}
SIM_SIGNATURE(DeepNorm,
              const aclTensor* x,
              const aclTensor* gx,
              const aclTensor* beta,
              const aclTensor* gamma,
              double alpha,
              double epsilon,
              const aclTensor* meanOut,
              const aclTensor* rstdOut,
              const aclTensor* yOut) {
  return plan("aclnnDeepNorm", workspaceSize, executor, [&](Planner& p) {
    SumNorm s;
    s.x = p.input(x, "x", kF);
    s.more = p.input(gx, "gx", kF);
    s.beta = p.input(beta, "beta", kF);
    s.gamma = p.input(gamma, "gamma", kF);
    s.factor = alpha;
    s.epsilon = epsilon;
    s.mean = p.output(meanOut, "meanOut", kF32);
    s.rstd = p.output(rstdOut, "rstdOut", kF32);
    s.y = p.output(yOut, "yOut", kF);
    run_sum_norm(p, s);
  });
}
SIM_SIGNATURE(DeepNormGrad,
              const aclTensor* dy,
              const aclTensor* x,
              const aclTensor* gx,
              const aclTensor* gamma,
              const aclTensor* mean,
              const aclTensor* rstd,
              double alpha,
              const aclTensor* dxOut,
              const aclTensor* dgxOut,
              const aclTensor* dbetaOut,
              const aclTensor* dgammaOut) {
  return plan("aclnnDeepNormGrad", workspaceSize, executor, [&](Planner& p) {
    SumNormGrad s;
    s.dy = p.input(dy, "dy", kF);
    s.x = p.input(x, "x", kF);
    s.more = p.input(gx, "gx", kF);
    s.gamma = p.input(gamma, "gamma", kF);
    s.mean = p.input(mean, "mean", kF32);
    s.rstd = p.input(rstd, "rstd", kF32);
    s.factor = alpha;
    s.dx = p.output(dxOut, "dxOut", kF);
    s.dmore = p.output(dgxOut, "dgxOut", kF);
    s.dbeta = p.output(dbetaOut, "dbetaOut", kF32);
    s.dgamma = p.output(dgammaOut, "dgammaOut", kF32);
    run_sum_norm_grad(p, s);
  });
}
}
