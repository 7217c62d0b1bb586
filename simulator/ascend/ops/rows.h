#pragma once

#include "simulator/ascend/ops/pointwise.h"

namespace sim {

// How a reduction reads its input: as `rows` lines of `length` elements, one line for each element
// of the output.
struct Lines {
  std::vector<int64_t> order;    // the kept dims, then the reduced ones
  std::vector<int64_t> reduced;  // sorted
  Shape kept;                    // shape without the reduced dims
  Shape kept_with_ones;
  int64_t rows = 1;
  int64_t length = 1;
};

// An empty list of dims means all.
inline Lines lines_of(Planner& p,
                      const Shape& shape,
                      std::vector<int64_t> dims,
                      const char* name,
                      bool empty_is_all = true) {
  Lines lines;
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<bool> out(shape.size(), dims.empty() && empty_is_all);
  for (int64_t& dim : dims) {
    dim = p.dim(dim, rank, name);
    if (rank == 0) continue;
    p.check(!out[static_cast<size_t>(dim)], std::string(name) + " names a dim twice");
    out[static_cast<size_t>(dim)] = true;
  }
  lines.kept_with_ones = shape;
  for (int64_t i = 0; i < rank; ++i) {
    const auto at = static_cast<size_t>(i);
    if (out[at]) {
      lines.reduced.push_back(i);
      lines.length *= shape[at];
      lines.kept_with_ones[at] = 1;
    } else {
      lines.order.push_back(i);
      lines.kept.push_back(shape[at]);
      lines.rows *= shape[at];
    }
  }
  lines.order.insert(lines.order.end(), lines.reduced.begin(), lines.reduced.end());
  return lines;
}

inline void check_reduced(Planner& p, const Lines& lines, bool keep, const Operand& out) {
  p.check_shape(out, keep ? lines.kept_with_ones : lines.kept);
}

// Calls f(row, values) for each line.
template <class C, class F>
void for_lines(const View& in, const Lines& lines, F f) {
  const View arranged = in.permute(lines.order);
  std::vector<C> values(static_cast<size_t>(lines.length));
  for (int64_t row = 0; row < lines.rows; ++row) {
    load(arranged, row * lines.length, lines.length, values.data());
    f(row, values);
  }
}

// Floats are summed in float64, which keeps sums of long lines accurate.
template <class C>
C sum_of(const std::vector<C>& values) {
  std::conditional_t<std::is_same_v<C, float>, double, C> total{};
  for (const C value : values) total = add(total, static_cast<decltype(total)>(value));
  return static_cast<C>(total);
}

// A line as probabilities.
inline void softmax(std::vector<float>& line) {
  const float top = *std::max_element(line.begin(), line.end());
  float sum = 0;
  for (float& value : line) {
    value = std::exp(value - top);
    sum += value;
  }
  for (float& value : line) value /= sum;
}

}  // namespace sim
