#pragma once

#include "simulator/ascend/ops/indexing.h"

namespace sim {

// An op with one input and one output of one dtype: checks the shape, then runs f(out, in).
template <class F>
void move_elements(Planner& p, const Operand& in, const Operand& out, const Shape& expected, F f) {
  p.check(out.dtype() == in.dtype(), p.name(out) + " must have the dtype of " + p.name(in));
  p.check_shape(out, expected);
  if (out.numel() == 0) return;
  p.run([=](Launch& launch) { f(get(launch, out), get(launch, in)); });
}

// `dim` first, the others in order.
inline View dim_first(const View& view, int64_t dim) {
  std::vector<int64_t> dims{dim};
  for (int64_t i = 0; i < view.rank(); ++i) {
    if (i != dim) dims.push_back(i);
  }
  return view.permute(dims);
}

}  // namespace sim
