#pragma once

#include <array>
#include <span>

#include "simulator/ascend/aclop/call.h"

namespace sim {

// The ops that programs may call by name, by family.
std::span<const NamedOp> named_moves();     // copies, casts, slices
std::span<const NamedOp> named_numbers();   // arithmetic, norms, order
std::span<const NamedOp> named_products();  // matrices, recurrent layers

inline std::array<std::span<const NamedOp>, 3> all_named_ops() {
  return {named_moves(), named_numbers(), named_products()};
}

}  // namespace sim
