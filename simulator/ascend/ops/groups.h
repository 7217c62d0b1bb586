#pragma once

#include "simulator/ascend/ops/values.h"

namespace sim {

// The rows that each of some experts takes, as ends of ranges.
struct Groups {
  bool given = false;
  Operand tensor;               // on the device
  std::vector<int64_t> values;  // or on the host
  bool counts = false;          // sizes instead of ends

  std::vector<int64_t> ends(const Launch& launch) const {
    std::vector<int64_t> result = tensor ? load_all<int64_t>(get(launch, tensor)) : values;
    for (size_t i = 1; counts && i < result.size(); ++i) result[i] += result[i - 1];
    return result;
  }
};

// Calls f(group, first row, end) for each group; all of `rows` are the group 0 where none are
// given.
template <class F>
void for_groups(const Launch& launch, const Groups& groups, int64_t rows, F f) {
  if (!groups.given) return f(size_t{0}, int64_t{0}, rows);
  const std::vector<int64_t> ends = groups.ends(launch);
  int64_t first = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] < first || ends[i] > rows) {
      throw DeviceFault{507015, "the groups do not fit the " + std::to_string(rows) + " rows"};
    }
    f(i, first, ends[i]);
    first = ends[i];
  }
}

// Groups named by an optional tensor: by ends, or by sizes where `counts`.
inline Groups groups_of(Planner& p, const aclTensor* tensor, const char* name, bool counts) {
  Groups groups;
  groups.tensor = p.optional(tensor, name, kIndex);
  groups.given = static_cast<bool>(groups.tensor);
  groups.counts = counts;
  return groups;
}

// Groups named by an optional list on the host.
inline Groups host_groups(Planner& p, const aclIntArray* list, const char* name, bool ends) {
  Groups groups;
  if (list == nullptr) return groups;
  groups.values = p.array(list, name);
  groups.given = !groups.values.empty();
  groups.counts = !ends;
  return groups;
}

}  // namespace sim
