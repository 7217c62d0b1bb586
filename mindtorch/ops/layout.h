#pragma once

#include "mindtorch/tensor/shape.h"

namespace mindtorch::ops {

// Strides of a dense result of operands that are shown in its sizes, 0 where they repeat. Dims lie
// in the order that the operands' strides agree on, as in torch: the first operand whose
// strides of two dims differ decides; dims whose strides never differ keep their order.
Shape agreed_strides(const Shape* strides, int count, IntList sizes);

// The strides are those of a new tensor; dims of size 1 and empty tensors leave room for others.
inline bool has_plain_strides(IntList sizes, IntList strides) {
  return equal(strides, contiguous_strides(sizes));
}

}  // namespace mindtorch::ops
