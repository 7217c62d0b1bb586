#pragma once

#include <limits>
#include <string>
#include <vector>

#include "simulator/ascend/ops/pointwise.h"

namespace sim {

// What ops that compute in float32 over whole tensors share.
using Values = std::vector<float>;

// Numbers of the caller's in sums and products that must not overflow.
__extension__ using Wide = __int128;
inline int64_t narrow(Wide value) {
  using Limits = std::numeric_limits<int64_t>;
  if (value > Limits::max()) return Limits::max();
  return value < Limits::min() ? Limits::min() : static_cast<int64_t>(value);
}

// Strides, paddings and the like: larger ones make no sense with any tensor.
inline void check_reasonable(Planner& p, const Shape& values, const char* name) {
  for (const int64_t value : values) {
    p.check(value >= -kMostElements && value <= kMostElements,
            std::string(name) + " has the value " + std::to_string(value));
  }
}

// All elements of an operand; none of one that was left out.
inline Values values(const Launch& launch, const Operand& operand) {
  return operand ? load_all<float>(get(launch, operand)) : Values{};
}

inline void put(const Launch& launch, const Operand& operand, const Values& result) {
  if (operand) store_all(get(launch, operand), result);
}

// An operand that was left out passes.
inline void check_count(Planner& p, const Operand& operand, int64_t n) {
  if (operand) {
    p.check(operand.numel() == n, p.name(operand) + " must have " + std::to_string(n) +
                                      " elements, has " + std::to_string(operand.numel()));
  }
}

// An output of a gradient op, or nothing where `wanted` is false.
inline Operand wanted_output(
    Planner& p, bool wanted, const aclTensor* tensor, const char* name, Types types) {
  return wanted ? p.output(tensor, name, types) : Operand{};
}

// An optional argument that is not simulated must be left out.
inline void refuse(Planner& p, const aclTensor* tensor, const char* name) {
  p.check(tensor == nullptr, std::string(name) + " is not simulated");
  p.optional(nullptr, name, kAll);
}

}  // namespace sim
