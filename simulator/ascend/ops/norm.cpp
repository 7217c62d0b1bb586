// Layer, RMS, group and batch normalisation with their gradients. All compute in float32.
#include "simulator/ascend/ops/rows.h"

using namespace sim;

namespace {

using Values = std::vector<float>;

Values values(const Launch& launch, const Operand& operand) {
  return operand ? load_all<float>(get(launch, operand)) : Values{};
}
void put(const Launch& launch, const Operand& operand, const Values& result) {
  if (operand) store_all(get(launch, operand), result);
}
size_t at(int64_t index) { return static_cast<size_t>(index); }

// Mean and 1 / sqrt(variance + eps) of lines of `width`.
void statistics(const Values& x, size_t width, double eps, Values* mean, Values* rstd) {
  for (size_t first = 0; first < x.size(); first += width) {
    double sum = 0;
    for (size_t i = 0; i < width; ++i) sum += x[first + i];
    const double m = sum / static_cast<double>(width);
    double squares = 0;
    for (size_t i = 0; i < width; ++i) squares += (x[first + i] - m) * (x[first + i] - m);
    mean->push_back(static_cast<float>(m));
    rstd->push_back(static_cast<float>(1 / std::sqrt(squares / static_cast<double>(width) + eps)));
  }
}

// Rows and their width: the last dims of `shape` must be `normalized`.
int64_t check_normalized(Planner& p, const Operand& in, const std::vector<int64_t>& normalized) {
  const Shape& shape = in.shape();
  p.check(!normalized.empty() && normalized.size() <= shape.size() &&
              std::equal(normalized.rbegin(), normalized.rend(), shape.rbegin()),
          "normalizedShape must be the last dims of input");
  return count(normalized);
}

void check_count(Planner& p, const Operand& operand, int64_t n) {
  if (operand) {
    p.check(operand.numel() == n, p.name(operand) + " must have " + std::to_string(n) +
                                      " elements, has " + std::to_string(operand.numel()));
  }
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
      statistics(x, at(width), eps, &means, &rstds);
      auto* const result = reinterpret_cast<float*>(launch.workspace(scratch));
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t row = i / at(width);
        const size_t column = i % at(width);
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

// Gradients of y = (x - mean) * rstd * weight + bias for lines of `width`; g is already multiplied
// by the weight.
void normal_backward(const Values& x,
                     const Values& g,
                     const Values& mean,
                     const Values& rstd,
                     size_t width,
                     Values* dx) {
  dx->resize(x.size());
  for (size_t row = 0; row < x.size() / width; ++row) {
    double sum = 0;
    double dot = 0;
    for (size_t i = row * width; i < (row + 1) * width; ++i) {
      sum += g[i];
      dot += static_cast<double>(g[i]) * (x[i] - mean[row]) * rstd[row];
    }
    const auto n = static_cast<double>(width);
    for (size_t i = row * width; i < (row + 1) * width; ++i) {
      const double normal = (x[i] - mean[row]) * rstd[row];
      (*dx)[i] = static_cast<float>(rstd[row] * (g[i] - sum / n - normal * dot / n));
    }
  }
}

struct RmsArguments {
  const aclTensor* x1;
  const aclTensor* x2;  // added first; null: there is none
  const char* x_name;
  const aclTensor* gamma;
  double epsilon;
  const aclTensor* y;
  const aclTensor* rstd;
  const aclTensor* x_out;
  float offset;  // on gamma
};

aclnnStatus rms_norm(const char* op,
                     const RmsArguments& a,
                     bool adds,
                     uint64_t* workspace_size,
                     aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand x = p.input(a.x1, a.x_name, kF);
    const Operand more = adds ? p.input(a.x2, "x2", kF) : Operand{};
    const Operand gamma = p.input(a.gamma, "gamma", kF);
    const Operand y = p.output(a.y, "yOut", kF);
    const Operand rstd = p.output(a.rstd, "rstdOut", kF32);
    const Operand sum = adds ? p.output(a.x_out, "xOut", kF) : Operand{};
    p.check(gamma.rank() >= 1 && gamma.rank() <= x.rank() &&
                std::equal(gamma.shape().rbegin(), gamma.shape().rend(), x.shape().rbegin()),
            "gamma must have the shape of the last dims of " + p.name(x));
    p.check_shape(y, x.shape());
    if (adds) {
      p.check_shape(more, x.shape());
      p.check_shape(sum, x.shape());
    }
    const int64_t width = gamma.numel();
    if (x.numel() == 0) return;
    check_count(p, rstd, x.numel() / width);
    const uint64_t scratch = p.workspace(x.numel() * 4);
    const float offset = a.offset;
    const double eps = a.epsilon;
    p.run([=](Launch& launch) {
      Values in = values(launch, x);
      const Values scale = values(launch, gamma);
      if (more) {
        const Values other = values(launch, more);
        for (size_t i = 0; i < in.size(); ++i) in[i] += other[i];
        put(launch, sum, in);
      }
      auto* const result = reinterpret_cast<float*>(launch.workspace(scratch));
      Values rstds;
      for (size_t first = 0; first < in.size(); first += at(width)) {
        double squares = 0;
        for (size_t i = 0; i < at(width); ++i) squares += double{in[first + i]} * in[first + i];
        rstds.push_back(
            static_cast<float>(1 / std::sqrt(squares / static_cast<double>(width) + eps)));
        for (size_t i = 0; i < at(width); ++i) {
          result[first + i] = in[first + i] * rstds.back() * (offset + scale[i]);
        }
      }
      store(get(launch, y), 0, x.numel(), result);
      put(launch, rstd, rstds);
    });
  });
}

// x[n, c, inner] for batch norm: [C] or [N, C, ...].
struct Channels {
  size_t batch;
  size_t channels;
  size_t inner;
};
Channels channels_of(const Operand& in) {
  Channels c{at(in.shape()[0]), at(in.shape()[1]), 1};
  for (size_t d = 2; d < in.shape().size(); ++d) c.inner *= at(in.shape()[d]);
  return c;
}
template <class F>
void for_channel(const Channels& c, size_t channel, F f) {
  for (size_t n = 0; n < c.batch; ++n) {
    for (size_t k = 0; k < c.inner; ++k) f((n * c.channels + channel) * c.inner + k);
  }
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
      const Values x = values(launch, in);
      Values grads = values(launch, g);
      const Values means = values(launch, m);
      const Values rstds = values(launch, r);
      const Values scale = values(launch, w);
      Values weight_sums(at(width));
      Values bias_sums(at(width));
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t row = i / at(width);
        const size_t column = i % at(width);
        weight_sums[column] += grads[i] * (x[i] - means[row]) * rstds[row];
        bias_sums[column] += grads[i];
        if (w) grads[i] *= scale[column];
      }
      put(launch, dw, weight_sums);
      put(launch, db, bias_sums);
      if (!dx) return;
      Values result;
      normal_backward(x, grads, means, rstds, at(width), &result);
      put(launch, dx, result);
    });
  });
}

SIM_SIGNATURE(RmsNorm,
              const aclTensor* x,
              const aclTensor* gamma,
              double epsilon,
              const aclTensor* yOut,
              const aclTensor* rstdOut) {
  return rms_norm("aclnnRmsNorm", {x, nullptr, "x", gamma, epsilon, yOut, rstdOut, nullptr, 0},
                  false, workspaceSize, executor);
}
SIM_SIGNATURE(GemmaRmsNorm,
              const aclTensor* x,
              const aclTensor* gamma,
              double epsilon,
              const aclTensor* yOut,
              const aclTensor* rstdOut) {
  return rms_norm("aclnnGemmaRmsNorm", {x, nullptr, "x", gamma, epsilon, yOut, rstdOut, nullptr, 1},
                  false, workspaceSize, executor);
}
SIM_SIGNATURE(AddRmsNorm,
              const aclTensor* x1,
              const aclTensor* x2,
              const aclTensor* gamma,
              double epsilon,
              const aclTensor* yOut,
              const aclTensor* rstdOut,
              const aclTensor* xOut) {
  return rms_norm("aclnnAddRmsNorm", {x1, x2, "x1", gamma, epsilon, yOut, rstdOut, xOut, 0}, true,
                  workspaceSize, executor);
}
SIM_SIGNATURE(RmsNormGrad,
              const aclTensor* dy,
              const aclTensor* x,
              const aclTensor* rstd,
              const aclTensor* gamma,
              const aclTensor* dxOut,
              const aclTensor* dgammaOut) {
  return plan("aclnnRmsNormGrad", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(dy, "dy", kF);
    const Operand in = p.input(x, "x", kF);
    const Operand r = p.input(rstd, "rstd", kF32);
    const Operand w = p.input(gamma, "gamma", kF);
    const Operand dx = p.output(dxOut, "dxOut", kF);
    const Operand dw = p.output(dgammaOut, "dgammaOut", kF);
    p.check_shape(g, in.shape());
    p.check_shape(dx, in.shape());
    p.check_shape(dw, w.shape());
    if (in.numel() == 0) return;
    const size_t width = at(w.numel());
    check_count(p, r, in.numel() / w.numel());
    p.run([=](Launch& launch) {
      const Values xs = values(launch, in);
      const Values grads = values(launch, g);
      const Values rstds = values(launch, r);
      const Values scale = values(launch, w);
      Values sums(width);
      Values result(xs.size());
      for (size_t row = 0; row < rstds.size(); ++row) {
        double dot = 0;
        for (size_t i = 0; i < width; ++i) {
          const size_t k = row * width + i;
          sums[i] += grads[k] * xs[k] * rstds[row];
          dot += double{grads[k]} * scale[i] * xs[k] * rstds[row];
        }
        const double mean = dot / static_cast<double>(width);
        for (size_t i = 0; i < width; ++i) {
          const size_t k = row * width + i;
          result[k] =
              static_cast<float>(rstds[row] * (grads[k] * scale[i] - xs[k] * rstds[row] * mean));
        }
      }
      put(launch, dx, result);
      put(launch, dw, sums);
    });
  });
}

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
    const Operand in = p.input(self, "self", kF);
    const Operand w = p.optional(gamma, "gamma", kF);
    const Operand b = p.optional(beta, "beta", kF);
    const Operand target = p.output(out, "out", kF);
    const Operand mean = p.output(meanOut, "meanOut", kF);
    const Operand rstd = p.output(rstdOut, "rstdOut", kF);
    p.check(in.numel() == N * C * HxW, "self must have N * C * HxW elements");
    p.check(group > 0 && C % group == 0, "group must divide C");
    p.check_shape(target, in.shape());
    check_count(p, w, C);
    check_count(p, b, C);
    check_count(p, mean, N * group);
    check_count(p, rstd, N * group);
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values x = values(launch, in);
      const Values scale = values(launch, w);
      const Values shift = values(launch, b);
      Values means;
      Values rstds;
      const size_t width = at(C / group * HxW);
      statistics(x, width, eps, &means, &rstds);
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t channel = i / at(HxW) % at(C);
        x[i] = (x[i] - means[i / width]) * rstds[i / width];
        if (w) x[i] *= scale[channel];
        if (b) x[i] += shift[channel];
      }
      put(launch, target, x);
      put(launch, mean, means);
      put(launch, rstd, rstds);
    });
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
    p.check(in.numel() == N * C * HxW, "input must have N * C * HxW elements");
    p.check(group > 0 && C % group == 0, "group must divide C");
    p.check_shape(g, in.shape());
    if (dx) p.check_shape(dx, in.shape());
    check_count(p, dw, C);
    check_count(p, db, C);
    check_count(p, m, N * group);
    check_count(p, r, N * group);
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values x = values(launch, in);
      Values grads = values(launch, g);
      const Values means = values(launch, m);
      const Values rstds = values(launch, r);
      const Values scale = values(launch, w);
      const size_t width = at(C / group * HxW);
      Values weight_sums(at(C));
      Values bias_sums(at(C));
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t channel = i / at(HxW) % at(C);
        weight_sums[channel] += grads[i] * (x[i] - means[i / width]) * rstds[i / width];
        bias_sums[channel] += grads[i];
        if (w) grads[i] *= scale[channel];
      }
      put(launch, dw, weight_sums);
      put(launch, db, bias_sums);
      if (!dx) return;
      Values result;
      normal_backward(x, grads, means, rstds, width, &result);
      put(launch, dx, result);
    });
  });
}

SIM_SIGNATURE(BatchNorm,
              const aclTensor* input,
              const aclTensor* weight,
              const aclTensor* bias,
              aclTensor* runningMean,
              aclTensor* runningVar,
              bool training,
              double momentum,
              double eps,
              aclTensor* output,
              aclTensor* saveMean,
              aclTensor* saveInvstd) {
  return plan("aclnnBatchNorm", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(input, "input", kF);
    const Operand w = p.optional(weight, "weight", kF);
    const Operand b = p.optional(bias, "bias", kF);
    const auto running = [&](const aclTensor* tensor, const char* name) {
      if (tensor == nullptr) return Operand{};
      return training ? p.inout(tensor, name, kF) : p.input(tensor, name, kF);
    };
    const Operand mean = running(runningMean, "runningMean");
    const Operand var = running(runningVar, "runningVar");
    const Operand target = p.output(output, "output", kF);
    const Operand saved_mean = p.optional_output(saveMean, "saveMean", kF);
    const Operand saved_rstd = p.optional_output(saveInvstd, "saveInvstd", kF);
    p.check_rank(in, 2, 8);
    p.check_shape(target, in.shape());
    p.check(training || (mean && var), "runningMean and runningVar are needed when not training");
    for (const Operand& each : {w, b, mean, var}) check_count(p, each, in.shape()[1]);
    if (training) check_count(p, saved_mean, in.shape()[1]);
    if (training) check_count(p, saved_rstd, in.shape()[1]);
    if (in.numel() == 0) return;
    const Channels c = channels_of(in);
    p.run([=](Launch& launch) {
      Values x = values(launch, in);
      const Values scale = values(launch, w);
      const Values shift = values(launch, b);
      Values means = values(launch, mean);
      Values vars = values(launch, var);
      Values used_mean(c.channels);
      Values used_rstd(c.channels);
      const auto n = static_cast<double>(c.batch * c.inner);
      for (size_t k = 0; k < c.channels; ++k) {
        double average = training ? 0 : means[k];
        double variance = training ? 0 : vars[k];
        if (training) {
          for_channel(c, k, [&](size_t i) { average += x[i]; });
          average /= n;
          for_channel(c, k, [&](size_t i) { variance += (x[i] - average) * (x[i] - average); });
          const double unbiased = n > 1 ? variance / (n - 1) : variance;
          variance /= n;
          if (mean) means[k] = static_cast<float>((1 - momentum) * means[k] + momentum * average);
          if (var) vars[k] = static_cast<float>((1 - momentum) * vars[k] + momentum * unbiased);
        }
        used_mean[k] = static_cast<float>(average);
        used_rstd[k] = static_cast<float>(1 / std::sqrt(variance + eps));
        for_channel(c, k, [&](size_t i) {
          x[i] = (x[i] - used_mean[k]) * used_rstd[k] * (w ? scale[k] : 1) + (b ? shift[k] : 0);
        });
      }
      put(launch, target, x);
      if (!training) return;
      put(launch, mean, means);
      put(launch, var, vars);
      put(launch, saved_mean, used_mean);
      put(launch, saved_rstd, used_rstd);
    });
  });
}
SIM_SIGNATURE(BatchNormBackward,
              const aclTensor* gradOut,
              const aclTensor* input,
              const aclTensor* weight,
              const aclTensor* runningMean,
              const aclTensor* runningVar,
              const aclTensor* saveMean,
              const aclTensor* saveInvstd,
              bool training,
              double eps,
              const aclBoolArray* outputMask,
              aclTensor* gradInput,
              aclTensor* gradWeight,
              aclTensor* gradBias) {
  return plan("aclnnBatchNormBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradOut, "gradOut", kF);
    const Operand in = p.input(input, "input", kF);
    const Operand w = p.optional(weight, "weight", kF);
    const Operand mean =
        training ? p.input(saveMean, "saveMean", kF) : p.input(runningMean, "runningMean", kF);
    const Operand var =
        training ? p.input(saveInvstd, "saveInvstd", kF) : p.input(runningVar, "runningVar", kF);
    const std::vector<char> mask = p.array(outputMask, "outputMask");
    p.check(mask.size() == 3, "outputMask must have 3 values");
    const Operand dx = mask[0] ? p.output(gradInput, "gradInput", kF) : Operand{};
    const Operand dw = mask[1] ? p.output(gradWeight, "gradWeight", kF) : Operand{};
    const Operand db = mask[2] ? p.output(gradBias, "gradBias", kF) : Operand{};
    p.check_rank(in, 2, 8);
    p.check_shape(g, in.shape());
    if (dx) p.check_shape(dx, in.shape());
    for (const Operand& each : {w, mean, var, dw, db}) check_count(p, each, in.shape()[1]);
    if (in.numel() == 0) return;
    const Channels c = channels_of(in);
    p.run([=](Launch& launch) {
      const Values x = values(launch, in);
      const Values grads = values(launch, g);
      const Values scale = values(launch, w);
      const Values means = values(launch, mean);
      Values rstds = values(launch, var);
      if (!training) {
        for (float& each : rstds) {
          each = static_cast<float>(1 / std::sqrt(static_cast<double>(each) + eps));
        }
      }
      Values result(x.size());
      Values weight_sums(c.channels);
      Values bias_sums(c.channels);
      const auto n = static_cast<double>(c.batch * c.inner);
      for (size_t k = 0; k < c.channels; ++k) {
        double sum = 0;
        double dot = 0;
        for_channel(c, k, [&](size_t i) {
          sum += grads[i];
          dot += double{grads[i]} * (x[i] - means[k]) * rstds[k];
        });
        weight_sums[k] = static_cast<float>(dot);
        bias_sums[k] = static_cast<float>(sum);
        const double factor = rstds[k] * (w ? scale[k] : 1);
        for_channel(c, k, [&](size_t i) {
          const double normal = (x[i] - means[k]) * rstds[k];
          const double centred = training ? grads[i] - sum / n - normal * dot / n : grads[i];
          result[i] = static_cast<float>(factor * centred);
        });
      }
      put(launch, dx, result);
      put(launch, dw, weight_sums);
      put(launch, db, bias_sums);
    });
  });
}
}
