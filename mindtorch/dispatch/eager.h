#pragma once

#include "mindtorch/ops/op.h"

namespace mindtorch::dispatch {

// The backend layer: runs meta, plan and impl of an op one after the other, now.
void run_eager(const ops::Op& op, ops::Args args, ops::Outputs& outputs);

}  // namespace mindtorch::dispatch
