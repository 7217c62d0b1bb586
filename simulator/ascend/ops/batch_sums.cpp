// Sums of a batch over its channels, and what several devices' sums make together.
#include "simulator/ascend/ops/values.h"

using namespace sim;

extern "C" {

SIM_SIGNATURE(BatchNormReduce, const aclTensor* x, aclTensor* sum, aclTensor* squareSum) {
  return plan("aclnnBatchNormReduce", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF);
    const Operand total = p.output(sum, "sum", kF32);
    const Operand squares = p.output(squareSum, "squareSum", kF32);
    p.check_rank(in, 2, 8);
    const int64_t channels = in.shape()[1];
    p.check_shape(total, {channels});
    p.check_shape(squares, {channels});
    if (channels == 0) return;
    p.run([=](Launch& launch) {
      const Values from = values(launch, in);
      const size_t area = z(count(Shape(in.shape().begin() + 2, in.shape().end())));
      std::vector<double> sums(z(channels)), powers(z(channels));
      for (size_t i = 0; i < from.size(); ++i) {
        const size_t channel = i / area % z(channels);
        sums[channel] += double{from[i]};
        powers[channel] += double{from[i]} * double{from[i]};
      }
      store_all(get(launch, total), sums);
      store_all(get(launch, squares), powers);
    });
  });
}

SIM_SIGNATURE(SyncBatchNormGatherStats,
              const aclTensor* totalSum,
              const aclTensor* totalSquareSum,
              const aclTensor* sampleCount,
              aclTensor* mean,
              aclTensor* variance,
              float momentum,
              float eps,
              aclTensor* batchMean,
              aclTensor* batchInvstd) {
  return plan("aclnnSyncBatchNormGatherStats", workspaceSize, executor, [&](Planner& p) {
    const Operand sums = p.input(totalSum, "totalSum", kF);
    const Operand powers = p.input(totalSquareSum, "totalSquareSum", kF);
    const Operand counts = p.input(sampleCount, "sampleCount", kI32 | kF);
    const Operand running_mean = p.inout(mean, "mean", kF);
    const Operand running_var = p.inout(variance, "variance", kF);
    const Operand all_mean = p.output(batchMean, "batchMean", kF);
    const Operand all_rstd = p.output(batchInvstd, "batchInvstd", kF);
    p.check_rank(sums, 2, 2);
    p.check_shape(powers, sums.shape());
    const int64_t parts = sums.shape()[0];
    const int64_t channels = sums.shape()[1];
    check_count(p, counts, parts);
    for (const Operand& each : {running_mean, running_var, all_mean, all_rstd}) {
      check_count(p, each, channels);
    }
    if (sums.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values s = values(launch, sums);
      const Values q = values(launch, powers);
      double n = 0;
      for (const float count : values(launch, counts)) n += double{count};
      Values kept_mean = values(launch, running_mean);
      Values kept_var = values(launch, running_var);
      std::vector<double> means, rstds;
      for (size_t k = 0; k < z(channels); ++k) {
        double sum = 0;
        double square = 0;
        for (size_t part = 0; part < z(parts); ++part) {
          sum += double{s[part * z(channels) + k]};
          square += double{q[part * z(channels) + k]};
        }
        const double average = sum / n;
        const double spread = square / n - average * average;
        means.push_back(average);
        rstds.push_back(1 / std::sqrt(spread + double{eps}));
        const auto blend = [&](float old, double now) {
          return static_cast<float>(double{old} * (1 - double{momentum}) + double{momentum} * now);
        };
        kept_mean[k] = blend(kept_mean[k], average);
        kept_var[k] = blend(kept_var[k], spread * n / (n - 1));
      }
      store_all(get(launch, all_mean), means);
      store_all(get(launch, all_rstd), rstds);
      put(launch, running_mean, kept_mean);
      put(launch, running_var, kept_var);
    });
  });
}
}
