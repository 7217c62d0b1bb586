// Ops by name that leave out elements at random, a byte of mask for each.
#include "simulator/ascend/aclop/tables.h"
#include "simulator/ascend/ops/rows.h"
#include "simulator/ascend/ops/values.h"

using namespace sim;

namespace {

constexpr Types kHalves = kF32 | kF16;

// The chance to stay is a number of the host's.
double chance(Arguments& call, size_t i) {
  const std::vector<double> values = call.host_values(i);
  if (values.size() != 1 || values[0] < 0 || values[0] > 1) {
    throw Rejected{kInvalid, "keep_prob must be one number in [0, 1]"};
  }
  return values[0];
}

aclnnStatus make_mask(Arguments& call) {
  return aclnnInplaceBernoulliGetWorkspaceSize(
      call.output(0), call.scalar(chance(call, 1), ACL_FLOAT), call.integer("seed", 0),
      call.integer("seed2", 0), call.size(), call.executor());
}

float kept(float value, float mask, double keep) {
  return mask == 0 ? 0 : static_cast<float>(double{value} / keep);
}

aclnnStatus apply_mask(Arguments& call) {
  const double keep = chance(call, 2);
  return plan("DropOutDoMaskV3", call.size(), call.executor(), [&](Planner& p) {
    const Operand x = p.input(call.input(0), "x", kHalves);
    const Operand mask = p.input(call.input(1), "mask", kU8);
    const Operand y = p.output(call.output(0), "y", kHalves);
    p.check_shape(y, x.shape());
    check_count(p, mask, x.numel());
    if (x.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values result = values(launch, x);
      const Values stays = values(launch, mask);
      for (size_t i = 0; i < result.size(); ++i) result[i] = kept(result[i], stays[i], keep);
      put(launch, y, result);
    });
  });
}

// What the softmax of a sum is, and what stays of it.
aclnnStatus softmax_of_sum(Arguments& call) {
  const auto alpha = static_cast<float>(call.real("alpha", 1));
  const double keep = call.real("input_keep_prob", 1);
  const std::vector<int64_t> axes = call.integers("axis");
  return plan("AxpyWithSoftmaxAndDropOutDoMask", call.size(), call.executor(), [&](Planner& p) {
    const Operand a = p.input(call.input(0), "x1", kHalves);
    const Operand b = p.input(call.input(1), "x2", kHalves);
    const Operand mask = p.input(call.input(2), "mask", kU8);
    const Operand chances = p.output(call.output(0), "y1", kHalves);
    const Operand left = p.output(call.output(1), "y2", kHalves);
    for (const Operand& each : {b, chances, left}) p.check_shape(each, a.shape());
    check_count(p, mask, a.numel());
    const int64_t dim = p.dim(axes.empty() ? -1 : axes[0], a.rank(), "axis");
    if (a.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values sum = values(launch, a);
      const Values more = values(launch, b);
      const Values stays = values(launch, mask);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += alpha * more[i];
      const View whole = contiguous_view(sum.data(), ACL_FLOAT, a.shape());
      for_rows<float>(whole, dim, [&](int64_t row, std::vector<float>& line) {
        softmax(line);
        store_row(whole, dim, row, line);
      });
      put(launch, chances, sum);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] = kept(sum[i], stays[i], keep);
      put(launch, left, sum);
    });
  });
}

aclnnStatus softmax_of_sum_backward(Arguments& call) {
  const auto alpha = static_cast<float>(call.real("alpha", 1));
  const double keep = call.real("input_keep_prob", 1);
  const std::vector<int64_t> axes = call.integers("axes");
  return plan("DropoutWithMulsAndSoftmaxGrad", call.size(), call.executor(), [&](Planner& p) {
    const Operand grad = p.input(call.input(0), "y_grad", kHalves);
    const Operand mask = p.input(call.input(1), "mask", kU8);
    const Operand chances = p.input(call.input(2), "softmax_output", kHalves);
    const Operand out = p.output(call.output(0), "x_grad", kHalves);
    for (const Operand& each : {chances, out}) p.check_shape(each, grad.shape());
    check_count(p, mask, grad.numel());
    const int64_t dim = p.dim(axes.empty() ? -1 : axes[0], grad.rank(), "axes");
    if (grad.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values up = values(launch, grad);
      const Values stays = values(launch, mask);
      for (size_t i = 0; i < up.size(); ++i) up[i] = kept(up[i], stays[i], keep);
      Values soft = values(launch, chances);
      const View slopes = contiguous_view(up.data(), ACL_FLOAT, grad.shape());
      const View lines = contiguous_view(soft.data(), ACL_FLOAT, grad.shape()).with_last(dim);
      for_rows<float>(slopes, dim, [&](int64_t row, std::vector<float>& line) {
        const auto n = static_cast<int64_t>(line.size());
        std::vector<float> s(line.size());
        load(lines, row * n, n, s.data());
        double total = 0;
        for (size_t k = 0; k < s.size(); ++k) total += double{line[k]} * double{s[k]};
        for (size_t k = 0; k < s.size(); ++k) {
          line[k] = alpha * s[k] * (line[k] - static_cast<float>(total));
        }
        store_row(slopes, dim, row, line);
      });
      put(launch, out, up);
    });
  });
}

constexpr NamedOp kDropout[] = {
    {"AxpyWithSoftmaxAndDropOutDoMask", softmax_of_sum},
    {"DropOutDoMaskV3", apply_mask},
    {"DropOutGenMaskV3", make_mask},
    {"DropoutWithMulsAndSoftmaxGrad", softmax_of_sum_backward},
};

}  // namespace

std::span<const NamedOp> sim::named_dropout() { return kDropout; }
