#pragma once

#include <string>

#include "mindtorch/ops/functions.h"

namespace mindtorch::ops {

// Functions of numbers as people write them. a, b, c are the operands, p0, p1, p2 the parameters.
// Long formulas name the parts that they use more than once: "t * t + 1 with t = exp(a)".

// "a + b", "1 / (1 + exp(-a))".
MT_API std::string value_formula(Pointwise function);
// What backward adds to the gradient of an operand, with g the incoming gradient and r the result:
// "g * b". Empty where there is no derivative.
MT_API std::string gradient_formula(Pointwise function, int operand);

}  // namespace mindtorch::ops
