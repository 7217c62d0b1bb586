#pragma once

#include "simulator/ascend/ops/rows.h"

namespace sim {

using Values = std::vector<float>;

inline size_t at(int64_t index) { return static_cast<size_t>(index); }

inline void check_reduction(Planner& p, int64_t reduction) {
  p.check(reduction >= 0 && reduction <= 2,
          "reduction is " + std::to_string(reduction) + ", expected is 0, 1 or 2");
}

inline Values spread(const Launch& launch, const Operand& operand, const Shape& shape) {
  Values values(at(count(shape)));
  load(get(launch, operand).expand(shape), 0, count(shape), values.data());
  return values;
}

// The result has `shape`, or one element.
inline void check_reduced(Planner& p, int64_t reduction, const Shape& shape, const Operand& out) {
  check_reduction(p, reduction);
  if (reduction == 0) p.check_shape(out, shape);
  p.check(reduction == 0 || out.numel() == 1, p.name(out) + " must have one element");
}

inline void store_reduced(const View& out, int64_t reduction, const Values& each, float divisor) {
  if (reduction == 0) return store_all(out, each);
  const float sum = sum_of(each) / (reduction == 1 ? divisor : 1);
  store(out, 0, 1, &sum);
}

}  // namespace sim
