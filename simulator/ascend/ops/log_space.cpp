// Powers whose exponents are evenly spaced.
#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

extern "C" {

SIM_SIGNATURE(LogSpace,
              const aclScalar* start,
              const aclScalar* end,
              int64_t steps,
              double base,
              const aclTensor* result) {
  return plan("aclnnLogSpace", workspaceSize, executor, [&](Planner& p) {
    const double first = p.scalar(start, "start").real();
    const double last = p.scalar(end, "end").real();
    const Operand target = p.output(result, "result", kF | kI);
    p.check(steps >= 0, "steps is negative");
    p.check(target.numel() == steps, "result must have `steps` elements");
    if (steps == 0) return;
    p.run([=](Launch& launch) {
      const double by = steps > 1 ? (last - first) / static_cast<double>(steps - 1) : 0;
      for (int64_t i = 0; i < steps; ++i) {
        const double exponent = i < steps / 2 || steps == 1
                                    ? first + by * static_cast<double>(i)
                                    : last - by * static_cast<double>(steps - 1 - i);
        const double value = std::pow(base, exponent);
        store(get(launch, target), i, 1, &value);
      }
    });
  });
}
}
