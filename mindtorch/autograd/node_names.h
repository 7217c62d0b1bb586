#pragma once

#include <string>

#include "mindtorch/ops/op.h"

namespace mindtorch::autograd {

// torch's name for the node of an op: MulBackward0. `second_is_number`: the second operand is a
// Python number, for which torch has overloads of its own.
std::string node_name(const ops::Op& op, bool second_is_number = false);

}  // namespace mindtorch::autograd
