// Normalisation of channels over a batch, whole and in the steps that several devices share, with
// the gradients. All compute in float32.
#include <tuple>

#include "simulator/ascend/ops/norm.h"

using namespace sim;

namespace {

// x[n, c, inner] for batch norm: [C] or [N, C, ...].
struct Channels {
  size_t batch;
  size_t channels;
  size_t inner;
};
Channels channels_of(const Operand& in) {
  Channels c{z(in.shape()[0]), z(in.shape()[1]), 1};
  for (size_t d = 2; d < in.shape().size(); ++d) c.inner *= z(in.shape()[d]);
  return c;
}
template <class F>
void for_channel(const Channels& c, size_t channel, F f) {
  for (size_t n = 0; n < c.batch; ++n) {
    for (size_t k = 0; k < c.inner; ++k) f((n * c.channels + channel) * c.inner + k);
  }
}

// The mean of a channel, and the sum of the squared distances to it.
std::pair<double, double> spread(const Channels& c, size_t channel, const Values& x) {
  double mean = 0;
  double squares = 0;
  for_channel(c, channel, [&](size_t i) { mean += x[i]; });
  mean /= static_cast<double>(c.batch * c.inner);
  for_channel(c, channel, [&](size_t i) { squares += (x[i] - mean) * (x[i] - mean); });
  return {mean, squares};
}

}  // namespace

extern "C" {

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
          std::tie(average, variance) = spread(c, k, x);
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

SIM_SIGNATURE(
    BatchNormStats, const aclTensor* input, double eps, aclTensor* mean, aclTensor* invstd) {
  return plan("aclnnBatchNormStats", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(input, "input", kF);
    const Operand m = p.output(mean, "mean", kF32);
    const Operand r = p.output(invstd, "invstd", kF32);
    p.check_rank(in, 2, 8);
    p.check_shape(m, {in.shape()[1]});
    p.check_shape(r, {in.shape()[1]});
    if (in.numel() == 0) return;
    const Channels c = channels_of(in);
    p.run([=](Launch& launch) {
      const Values x = values(launch, in);
      const auto n = static_cast<double>(c.batch * c.inner);
      Values means;
      Values rstds;
      for (size_t k = 0; k < c.channels; ++k) {
        const auto [average, squares] = spread(c, k, x);
        means.push_back(static_cast<float>(average));
        rstds.push_back(static_cast<float>(1 / std::sqrt(squares / n + eps)));
      }
      put(launch, m, means);
      put(launch, r, rstds);
    });
  });
}
SIM_SIGNATURE(BatchNormElemt,
              const aclTensor* input,
              const aclTensor* weight,
              const aclTensor* bias,
              aclTensor* mean,
              aclTensor* invstd,
              double,
              aclTensor* output) {
  return plan("aclnnBatchNormElemt", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(input, "input", kF);
    const Operand w = p.optional(weight, "weight", kF);
    const Operand b = p.optional(bias, "bias", kF);
    const Operand m = p.input(mean, "mean", kF);
    const Operand r = p.input(invstd, "invstd", kF);
    const Operand out = p.output(output, "output", kF);
    p.check_rank(in, 2, 8);
    p.check_shape(out, in.shape());
    for (const Operand& each : {w, b, m, r}) check_count(p, each, in.shape()[1]);
    if (in.numel() == 0) return;
    const Channels c = channels_of(in);
    p.run([=](Launch& launch) {
      Values x = values(launch, in);
      const Values means = values(launch, m);
      const Values rstds = values(launch, r);
      const auto channel = [c](size_t i) { return i / c.inner % c.channels; };
      for (size_t i = 0; i < x.size(); ++i) x[i] = (x[i] - means[channel(i)]) * rstds[channel(i)];
      scale_and_shift(values(launch, w), values(launch, b), channel, &x);
      put(launch, out, x);
    });
  });
}
SIM_SIGNATURE(BatchNormGatherStatsWithCounts,
              const aclTensor* input,
              const aclTensor* mean,
              const aclTensor* invstd,
              aclTensor* runningMean,
              aclTensor* runningVar,
              double momentum,
              double eps,
              const aclTensor* counts,
              aclTensor* meanAll,
              aclTensor* invstdAll) {
  return plan("aclnnBatchNormGatherStatsWithCounts", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(input, "input", kF);
    const Operand m = p.input(mean, "mean", kF);
    const Operand r = p.input(invstd, "invstd", kF);
    const auto running = [&](const aclTensor* tensor, const char* name) {
      return tensor == nullptr ? Operand{} : p.inout(tensor, name, kF);
    };
    const Operand old_mean = running(runningMean, "runningMean");
    const Operand old_var = running(runningVar, "runningVar");
    const Operand sizes = p.input(counts, "counts", kF | kIndex);
    const Operand all_mean = p.output(meanAll, "meanAll", kF);
    const Operand all_rstd = p.output(invstdAll, "invstdAll", kF);
    p.check_rank(in, 2, 8);
    p.check_rank(m, 2, 2);
    const int64_t channels = in.shape()[1];
    const int64_t parts = m.shape()[0];
    p.check_shape(m, {parts, channels});
    p.check_shape(r, {parts, channels});
    check_count(p, sizes, parts);
    for (const Operand& each : {old_mean, old_var, all_mean, all_rstd}) {
      check_count(p, each, channels);
    }
    if (m.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values means = values(launch, m);
      const Values rstds = values(launch, r);
      const Values number = values(launch, sizes);
      Values kept_mean = values(launch, old_mean);
      Values kept_var = values(launch, old_var);
      Values joint_mean;
      Values joint_rstd;
      for (size_t k = 0; k < z(channels); ++k) {
        double total = 0;
        double average = 0;
        double squares = 0;  // of the distances to the average
        for (size_t part = 0; part < number.size(); ++part) {
          const size_t i = part * z(channels) + k;
          const double n = number[part];
          if (n == 0) continue;
          const double inside = 1 / (double{rstds[i]} * rstds[i]) - eps;
          const double distance = means[i] - average;
          squares += inside * n + distance * distance * total * n / (total + n);
          average += distance * n / (total + n);
          total += n;
        }
        joint_mean.push_back(static_cast<float>(average));
        joint_rstd.push_back(static_cast<float>(1 / std::sqrt(squares / total + eps)));
        const auto blend = [&](double old, double fresh) {
          return static_cast<float>((1 - momentum) * old + momentum * fresh);
        };
        if (old_mean) kept_mean[k] = blend(kept_mean[k], average);
        if (old_var) kept_var[k] = blend(kept_var[k], squares / (total - 1));
      }
      put(launch, old_mean, kept_mean);
      put(launch, old_var, kept_var);
      put(launch, all_mean, joint_mean);
      put(launch, all_rstd, joint_rstd);
    });
  });
}
SIM_SIGNATURE(BatchNormReduceBackward,
              const aclTensor* gradOut,
              const aclTensor* input,
              const aclTensor* mean,
              const aclTensor* invstd,
              const aclTensor* weight,
              const bool inputG,
              const bool weightG,
              const bool biasG,
              aclTensor* sumDy,
              aclTensor* sumDyXmu,
              aclTensor* gradWeight,
              aclTensor* gradBias) {
  return plan("aclnnBatchNormReduceBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradOut, "gradOut", kF);
    const Operand in = p.input(input, "input", kF);
    const Operand m = p.input(mean, "mean", kF);
    const Operand r = p.input(invstd, "invstd", kF);
    const Operand w = p.optional(weight, "weight", kF);
    const Operand sum = wanted_output(p, inputG, sumDy, "sumDy", kF);
    const Operand dot = wanted_output(p, inputG, sumDyXmu, "sumDyXmu", kF);
    const Operand dw = wanted_output(p, weightG, gradWeight, "gradWeight", kF);
    const Operand db = wanted_output(p, biasG, gradBias, "gradBias", kF);
    p.check_rank(in, 2, 8);
    p.check_shape(g, in.shape());
    for (const Operand& each : {m, r, w, sum, dot, dw, db}) check_count(p, each, in.shape()[1]);
    if (in.numel() == 0) return;
    const Channels c = channels_of(in);
    p.run([=](Launch& launch) {
      const Values x = values(launch, in);
      const Values grads = values(launch, g);
      const Values means = values(launch, m);
      const Values rstds = values(launch, r);
      Values sums(c.channels);
      Values dots(c.channels);
      Values weights(c.channels);
      for (size_t k = 0; k < c.channels; ++k) {
        double total = 0;
        double with_distance = 0;
        for_channel(c, k, [&](size_t i) {
          total += grads[i];
          with_distance += double{grads[i]} * (x[i] - means[k]);
        });
        sums[k] = static_cast<float>(total);
        dots[k] = static_cast<float>(with_distance);
        weights[k] = static_cast<float>(with_distance * rstds[k]);
      }
      put(launch, sum, sums);
      put(launch, dot, dots);
      put(launch, dw, weights);
      put(launch, db, sums);
    });
  });
}
SIM_SIGNATURE(BatchNormElemtBackward,
              const aclTensor* gradOut,
              const aclTensor* input,
              const aclTensor* mean,
              const aclTensor* invstd,
              const aclTensor* weight,
              const aclTensor* sumDy,
              const aclTensor* sumDyXmu,
              aclTensor* counter,
              aclTensor* gradInput) {
  return plan("aclnnBatchNormElemtBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradOut, "gradOut", kF);
    const Operand in = p.input(input, "input", kF);
    const Operand m = p.input(mean, "mean", kF);
    const Operand r = p.input(invstd, "invstd", kF);
    const Operand w = p.optional(weight, "weight", kF);
    const Operand sum = p.input(sumDy, "sumDy", kF);
    const Operand dot = p.input(sumDyXmu, "sumDyXmu", kF);
    const Operand sizes = p.input(counter, "counter", kF | kIndex);
    const Operand dx = p.output(gradInput, "gradInput", kF);
    p.check_rank(in, 2, 8);
    p.check_shape(g, in.shape());
    p.check_shape(dx, in.shape());
    for (const Operand& each : {m, r, w, sum, dot}) check_count(p, each, in.shape()[1]);
    if (in.numel() == 0) return;
    const Channels c = channels_of(in);
    p.run([=](Launch& launch) {
      const Values x = values(launch, in);
      const Values means = values(launch, m);
      const Values rstds = values(launch, r);
      const Values scale = values(launch, w);
      const Values sums = values(launch, sum);
      const Values dots = values(launch, dot);
      float n = 0;
      for (const float each : values(launch, sizes)) n += each;
      Values grads = values(launch, g);
      for (size_t k = 0; k < c.channels; ++k) {
        const float slope = dots[k] / n * rstds[k] * rstds[k];
        const float factor = rstds[k] * (w ? scale[k] : 1);
        for_channel(c, k, [&](size_t i) {
          grads[i] = (grads[i] - sums[k] / n - (x[i] - means[k]) * slope) * factor;
        });
      }
      put(launch, dx, grads);
    });
  });
}
}
