#pragma once

#include <array>
#include <span>

#include "simulator/ascend/aclop/call.h"

namespace sim {

// The ops that programs may call by name, by family.
std::span<const NamedOp> named_boxes();      // of images
std::span<const NamedOp> named_dropout();    // elements left out at random
std::span<const NamedOp> named_moves();      // copies, casts, slices
std::span<const NamedOp> named_numbers();    // arithmetic, norms, order
std::span<const NamedOp> named_products();   // of matrices, and decompositions
std::span<const NamedOp> named_recurrent();  // layers with steps

inline std::array<std::span<const NamedOp>, 6> all_named_ops() {
  return {named_boxes(),   named_dropout(),  named_moves(),
          named_numbers(), named_products(), named_recurrent()};
}

}  // namespace sim
