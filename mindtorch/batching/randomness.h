#pragma once

#include "mindtorch/ops/op.h"

namespace mindtorch::batching {

// Runs an op that draws random numbers inside a vmap; `level` is the highest of its arguments.
// False for every other op.
bool run_random(const ops::Op& op, ops::Args args, ops::Outputs& outputs, int64_t level);

}  // namespace mindtorch::batching
