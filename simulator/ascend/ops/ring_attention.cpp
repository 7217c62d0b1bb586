// Attention over keys that come in parts: the results so far and of the next part, as one.
#include "simulator/ascend/ops/attention.h"

using namespace sim;

namespace {

// A result, with the largest score and the sum of exponents of each row.
struct Part {
  Operand result, largest, sum;
};

Part check_part(Planner& p, const aclTensor* tensors[3], const char* names[3], bool output) {
  const auto take = [&](int i, Types types) {
    return output ? p.output(tensors[i], names[i], types) : p.input(tensors[i], names[i], types);
  };
  const Operand result = take(0, kF);
  const Operand largest = take(1, kF32);
  return {result, largest, take(2, kF32)};
}

void check_like(Planner& p, const Part& part, const Part& first) {
  p.check_shape(part.result, first.result.shape());
  p.check_shape(part.largest, first.largest.shape());
  p.check_shape(part.sum, first.largest.shape());
}

}  // namespace

extern "C" {

SIM_SIGNATURE(RingAttentionUpdate,
              const aclTensor* prevAttnOut,
              const aclTensor* prevSoftmaxMax,
              const aclTensor* prevSoftmaxSum,
              const aclTensor* curAttnOut,
              const aclTensor* curSoftmaxMax,
              const aclTensor* curSoftmaxSum,
              const aclTensor* actualSeqQlenOptional,
              char* inputLayoutOptional,
              const aclTensor* attnOutOut,
              const aclTensor* softmaxMaxOut,
              const aclTensor* softmaxSumOut) {
  return plan("aclnnRingAttentionUpdate", workspaceSize, executor, [&](Planner& p) {
    const aclTensor* before[] = {prevAttnOut, prevSoftmaxMax, prevSoftmaxSum};
    const char* before_names[] = {"prevAttnOut", "prevSoftmaxMax", "prevSoftmaxSum"};
    const aclTensor* next[] = {curAttnOut, curSoftmaxMax, curSoftmaxSum};
    const char* next_names[] = {"curAttnOut", "curSoftmaxMax", "curSoftmaxSum"};
    const aclTensor* both[] = {attnOutOut, softmaxMaxOut, softmaxSumOut};
    const char* both_names[] = {"attnOutOut", "softmaxMaxOut", "softmaxSumOut"};
    const Part a = check_part(p, before, before_names, false);
    const Part b = check_part(p, next, next_names, false);
    p.optional(actualSeqQlenOptional, "actualSeqQlenOptional", kI64);
    const std::string name = inputLayoutOptional == nullptr ? "SBH" : inputLayoutOptional;
    p.check(name == "SBH" || name == "TND",
            "inputLayoutOptional is " + name + ", expected is SBH or TND");
    const Part out = check_part(p, both, both_names, true);
    check_like(p, a, a);
    check_like(p, b, a);
    check_like(p, out, a);
    const bool packed = name == "TND";
    p.check_rank(a.result, 3, 3);
    p.check_rank(a.largest, packed ? 3 : 4, packed ? 3 : 4);
    const Layout layout{name, a.largest.shape()[1]};
    const Layout rows{packed ? "TND" : "BNSD", layout.heads};
    p.check(layout.heads > 0, "prevSoftmaxMax has no heads");
    const Extent size = extent(p, a.result, layout);
    const Shape expected =
        packed ? Shape{size.length, size.heads, 8} : Shape{size.batch, size.heads, size.length, 8};
    p.check_shape(a.largest, expected);
    if (a.result.numel() == 0) return;
    p.run([=](Launch& launch) {
      for (int64_t n = 0; n < size.batch; ++n) {
        const auto part = [&](const Layout& in, const Operand& operand) {
          return in.sequence(get(launch, operand), n, 0, size.length);
        };
        const auto values = [&](const Layout& in, const Operand& operand) {
          return load_all<float>(part(in, operand));
        };
        Values top = values(rows, a.largest);
        Values sum = values(rows, a.sum);
        const Values other_top = values(rows, b.largest);
        const Values other_sum = values(rows, b.sum);
        Values result = values(layout, a.result);
        const Values other = values(layout, b.result);
        const size_t width = static_cast<size_t>(size.size);
        for (size_t i = 0; i < top.size(); ++i) {
          const float larger = std::max(top[i], other_top[i]);
          const float own = sum[i] * std::exp(top[i] - larger);
          const float more = other_sum[i] * std::exp(other_top[i] - larger);
          top[i] = larger;
          sum[i] = own + more;
          for (size_t k = 0; i % 8 == 0 && k < width; ++k) {
            float& value = result[i / 8 * width + k];
            value = (value * own + other[i / 8 * width + k] * more) / sum[i];
          }
        }
        store_all(part(layout, out.result), result);
        store_all(part(rows, out.largest), top);
        store_all(part(rows, out.sum), sum);
      }
    });
  });
}
}
