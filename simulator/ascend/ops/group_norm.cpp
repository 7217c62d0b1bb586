// Normalisation of groups of channels, with an activation after it, and the gradients. All compute
// in float32.
#include "simulator/ascend/ops/norm.h"

using namespace sim;

namespace {

auto channel_of(int64_t channels, int64_t inner) {
  return [channels, inner](size_t i) { return i / z(inner) % z(channels); };
}

void check_sizes(Planner& p, const Operand& in, int64_t n, int64_t channels, int64_t inner) {
  p.check(n >= 0 && channels >= 0 && inner >= 0 && in.numel() == count({n, channels, inner}),
          p.name(in) + " must have N * C * HxW elements");
}

struct GroupNorm {
  Operand in;
  Operand weight;
  Operand bias;
  int64_t groups;
  double eps;
  Operand out;
  Operand mean;
  Operand rstd;
  bool swish = false;  // y * sigmoid(scale * y) of the result
  double swish_scale = 1;
};

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

void run_group_norm(
    Planner& p, const GroupNorm& g, int64_t batch, int64_t channels, int64_t inner) {
  p.check(g.groups > 0 && channels % g.groups == 0, "group must divide C");
  p.check_shape(g.out, g.in.shape());
  check_count(p, g.weight, channels);
  check_count(p, g.bias, channels);
  check_count(p, g.mean, count({batch, g.groups}));
  check_count(p, g.rstd, count({batch, g.groups}));
  if (g.in.numel() == 0) return;
  p.run([=](Launch& launch) {
    Values x = values(launch, g.in);
    Values means;
    Values rstds;
    const size_t width = z(channels / g.groups * inner);
    statistics(x, width, g.eps, &means, &rstds);
    normalize(means, rstds, width, &x);
    scale_and_shift(values(launch, g.weight), values(launch, g.bias), channel_of(channels, inner),
                    &x);
    const auto scale = static_cast<float>(g.swish_scale);
    for (size_t i = 0; g.swish && i < x.size(); ++i) x[i] *= sigmoid(scale * x[i]);
    put(launch, g.out, x);
    put(launch, g.mean, means);
    put(launch, g.rstd, rstds);
  });
}

// A tensor [batch, channels, ...].
void run_group_norm(Planner& p, const GroupNorm& g) {
  p.check_rank(g.in, 2, 8);
  const Shape& shape = g.in.shape();
  run_group_norm(p, g, shape[0], shape[1], count(Shape(shape.begin() + 2, shape.end())));
}

aclnnStatus group_norm_silu(const char* op,
                            const aclTensor* self,
                            const aclTensor* gamma,
                            const aclTensor* beta,
                            int64_t group,
                            double eps,
                            bool silu,
                            const aclTensor* out,
                            const aclTensor* mean,
                            const aclTensor* rstd,
                            uint64_t* workspace_size,
                            aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    GroupNorm g;
    g.in = p.input(self, "self", kF);
    g.weight = p.optional(gamma, "gamma", kF);
    g.bias = p.optional(beta, "beta", kF);
    g.groups = group;
    g.eps = eps;
    g.out = p.output(out, "out", kF);
    g.mean = p.output(mean, "meanOut", kF);
    g.rstd = p.output(rstd, "rstdOut", kF);
    g.swish = silu;
    run_group_norm(p, g);
  });
}

void check_format(Planner& p, const char* format) {
  const std::string name = format == nullptr ? "NCHW" : format;
  p.check(name == "NCHW", "dataFormatOptional is " + name + ", expected is NCHW");
}

}  // namespace

extern "C" {

SIM_SIGNATURE(GroupNorm,
              const aclTensor* self,
              const aclTensor* gamma,
              const aclTensor* beta,
              int64_t N,
              int64_t C,
              int64_t HxW,
              int64_t group,
              double eps,
              aclTensor* out,
              aclTensor* meanOut,
              aclTensor* rstdOut) {
  return plan("aclnnGroupNorm", workspaceSize, executor, [&](Planner& p) {
    GroupNorm g;
    g.in = p.input(self, "self", kF);
    g.weight = p.optional(gamma, "gamma", kF);
    g.bias = p.optional(beta, "beta", kF);
    g.groups = group;
    g.eps = eps;
    g.out = p.output(out, "out", kF);
    g.mean = p.output(meanOut, "meanOut", kF);
    g.rstd = p.output(rstdOut, "rstdOut", kF);
    check_sizes(p, g.in, N, C, HxW);
    run_group_norm(p, g, N, C, HxW);
  });
}
SIM_SIGNATURE(GroupNormBackward,
              const aclTensor* gradOut,
              const aclTensor* input,
              const aclTensor* mean,
              const aclTensor* rstd,
              const aclTensor* gamma,
              int64_t N,
              int64_t C,
              int64_t HxW,
              int64_t group,
              const aclBoolArray* outputMask,
              aclTensor* gradInput,
              aclTensor* gradGammaOut,
              aclTensor* gradBetaOut) {
  return plan("aclnnGroupNormBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradOut, "gradOut", kF);
    const Operand in = p.input(input, "input", kF);
    const Operand m = p.input(mean, "mean", kF);
    const Operand r = p.input(rstd, "rstd", kF);
    const Operand w = p.optional(gamma, "gamma", kF);
    const std::vector<char> mask = p.array(outputMask, "outputMask");
    p.check(mask.size() == 3, "outputMask must have 3 values");
    const Operand dx = mask[0] ? p.output(gradInput, "gradInput", kF) : Operand{};
    const Operand dw = mask[1] ? p.output(gradGammaOut, "gradGammaOut", kF) : Operand{};
    const Operand db = mask[2] ? p.output(gradBetaOut, "gradBetaOut", kF) : Operand{};
    check_sizes(p, in, N, C, HxW);
    p.check(group > 0 && C % group == 0, "group must divide C");
    p.check_shape(g, in.shape());
    if (dx) p.check_shape(dx, in.shape());
    check_count(p, dw, C);
    check_count(p, db, C);
    check_count(p, m, count({N, group}));
    check_count(p, r, count({N, group}));
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const NormGradients result = norm_gradients(
          values(launch, in), values(launch, g), values(launch, m), values(launch, r),
          z(C / group * HxW), values(launch, w), z(C), channel_of(C, HxW));
      put(launch, dx, result.input);
      put(launch, dw, result.weight);
      put(launch, db, result.bias);
    });
  });
}

SIM_SIGNATURE(GroupNormSilu,
              const aclTensor* self,
              const aclTensor* gamma,
              const aclTensor* beta,
              int64_t group,
              double eps,
              aclTensor* out,
              aclTensor* meanOut,
              aclTensor* rstdOut) {
  return group_norm_silu("aclnnGroupNormSilu", self, gamma, beta, group, eps, true, out, meanOut,
                         rstdOut, workspaceSize, executor);
}
SIM_SIGNATURE(GroupNormSiluV2,
              const aclTensor* self,
              const aclTensor* gamma,
              const aclTensor* beta,
              int64_t group,
              double eps,
              bool activateSilu,
              aclTensor* out,
              aclTensor* meanOut,
              aclTensor* rstdOut) {
  return group_norm_silu("aclnnGroupNormSiluV2", self, gamma, beta, group, eps, activateSilu, out,
                         meanOut, rstdOut, workspaceSize, executor);
}
SIM_SIGNATURE(GroupNormSwish,
              const aclTensor* x,
              const aclTensor* gamma,
              const aclTensor* beta,
              int64_t numGroups,
              char* dataFormatOptional,
              double eps,
              bool activateSwish,
              double swishScale,
              const aclTensor* yOut,
              const aclTensor* meanOut,
              const aclTensor* rstdOut) {
  return plan("aclnnGroupNormSwish", workspaceSize, executor, [&](Planner& p) {
    GroupNorm g;
    g.in = p.input(x, "x", kF);
    g.weight = p.input(gamma, "gamma", kF);
    g.bias = p.input(beta, "beta", kF);
    g.groups = numGroups;
    g.eps = eps;
    check_format(p, dataFormatOptional);
    g.out = p.output(yOut, "yOut", kF);
    g.mean = p.output(meanOut, "meanOut", kF);
    g.rstd = p.output(rstdOut, "rstdOut", kF);
    g.swish = activateSwish;
    g.swish_scale = swishScale;
    run_group_norm(p, g);
  });
}
SIM_SIGNATURE(GroupNormSwishGrad,
              const aclTensor* dy,
              const aclTensor* mean,
              const aclTensor* rstd,
              const aclTensor* x,
              const aclTensor* gamma,
              const aclTensor* beta,
              int64_t numGroups,
              char* dataFormatOptional,
              double swishScale,
              bool dgammaIsRequire,
              bool dbetaIsRequire,
              const aclTensor* dxOut,
              const aclTensor* dgammaOut,
              const aclTensor* dbetaOut) {
  return plan("aclnnGroupNormSwishGrad", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(dy, "dy", kF);
    const Operand m = p.input(mean, "mean", kF);
    const Operand r = p.input(rstd, "rstd", kF);
    const Operand in = p.input(x, "x", kF);
    const Operand w = p.input(gamma, "gamma", kF);
    const Operand b = p.input(beta, "beta", kF);
    check_format(p, dataFormatOptional);
    const Operand dx = p.output(dxOut, "dxOut", kF);
    const Operand dw = wanted_output(p, dgammaIsRequire, dgammaOut, "dgammaOut", kF);
    const Operand db = wanted_output(p, dbetaIsRequire, dbetaOut, "dbetaOut", kF);
    p.check_rank(in, 2, 8);
    p.check_shape(g, in.shape());
    p.check_shape(dx, in.shape());
    const int64_t batch = in.shape()[0];
    const int64_t channels = in.shape()[1];
    p.check(numGroups > 0 && channels % numGroups == 0, "numGroups must divide the channels");
    for (const Operand& each : {w, b, dw, db}) check_count(p, each, channels);
    check_count(p, m, count({batch, numGroups}));
    check_count(p, r, count({batch, numGroups}));
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values input = values(launch, in);
      const Values means = values(launch, m);
      const Values rstds = values(launch, r);
      const Values scale = values(launch, w);
      const int64_t inner = in.numel() / batch / channels;
      const size_t width = z(channels / numGroups * inner);
      Values grads = values(launch, g);
      Values normal = input;
      normalize(means, rstds, width, &normal);
      scale_and_shift(scale, values(launch, b), channel_of(channels, inner), &normal);
      const auto factor = static_cast<float>(swishScale);
      for (size_t i = 0; i < grads.size(); ++i) {
        const float gate = sigmoid(factor * normal[i]);
        grads[i] *= gate + factor * normal[i] * gate * (1 - gate);
      }
      const NormGradients result = norm_gradients(input, grads, means, rstds, width, scale,
                                                  z(channels), channel_of(channels, inner));
      put(launch, dx, result.input);
      put(launch, dw, result.weight);
      put(launch, db, result.bias);
    });
  });
}

SIM_SIGNATURE(InstanceNorm,
              const aclTensor* x,
              const aclTensor* gamma,
              const aclTensor* beta,
              const char* dataFormat,
              double eps,
              aclTensor* y,
              aclTensor* mean,
              aclTensor* variance) {
  return plan("aclnnInstanceNorm", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF32 | kF16);
    const Operand w = p.input(gamma, "gamma", kF32 | kF16);
    const Operand b = p.input(beta, "beta", kF32 | kF16);
    const std::string format = p.text(dataFormat, "dataFormat");
    const Operand out = p.output(y, "y", kF32 | kF16);
    const Operand m = p.output(mean, "mean", kF32 | kF16);
    const Operand v = p.output(variance, "variance", kF32 | kF16);
    p.check(format == "NCHW" || format == "NHWC",
            "dataFormat is " + format + ", expected is NCHW or NHWC");
    p.check_rank(in, 4, 4);
    p.check_shape(out, in.shape());
    const bool last = format == "NHWC";
    const Shape& shape = in.shape();
    const int64_t channels = last ? shape[3] : shape[1];
    check_count(p, w, channels);
    check_count(p, b, channels);
    p.check_shape(m, last ? Shape{shape[0], 1, 1, channels} : Shape{shape[0], channels, 1, 1});
    p.check_shape(v, m.shape());
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const std::vector<int64_t> order =
          last ? std::vector<int64_t>{0, 3, 1, 2} : std::vector<int64_t>{0, 1, 2, 3};
      Values x_values = load_all<float>(get(launch, in).permute(order));
      const int64_t area = in.numel() / in.shape()[0] / channels;
      Values means;
      Values rstds;
      statistics(x_values, z(area), 0, &means, &rstds);
      Values variances;
      for (float& each : rstds) {
        const double spread = std::isinf(each) ? 0 : 1 / (double{each} * each);
        variances.push_back(static_cast<float>(spread));
        each = static_cast<float>(1 / std::sqrt(spread + eps));
      }
      normalize(means, rstds, z(area), &x_values);
      scale_and_shift(values(launch, w), values(launch, b), channel_of(channels, area), &x_values);
      store_all(get(launch, out).permute(order), x_values);
      put(launch, m, means);
      put(launch, v, variances);
    });
  });
}
}
