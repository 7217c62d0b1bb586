#pragma once

#include <string>

#include "mindtorch/ops/op.h"

namespace mindtorch::autograd {

// Which of an op's first two arguments is a Python number: torch has overloads of its own for it.
enum class NumberOperand : uint8_t { kNone, kFirst, kSecond };
NumberOperand number_operand(ops::Args args);

// The op's name in camel case: Mul.
std::string camel_name(const ops::Op& op);
// torch's name for the node of an op: MulBackward0.
std::string node_name(const ops::Op& op, NumberOperand number = NumberOperand::kNone);

}  // namespace mindtorch::autograd
