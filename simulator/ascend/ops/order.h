#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace sim {

// Not-a-number counts as the largest value.
template <class C>
bool before(C a, C b, bool descending) {
  const bool a_nan = a != a;
  const bool b_nan = b != b;
  if (a_nan || b_nan) return descending ? a_nan && !b_nan : !a_nan && b_nan;
  return descending ? b < a : a < b;
}

template <class C>
std::vector<int64_t> order_of(const std::vector<C>& line, bool descending) {
  std::vector<int64_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return before(line[static_cast<size_t>(a)], line[static_cast<size_t>(b)], descending);
  });
  return order;
}

}  // namespace sim
