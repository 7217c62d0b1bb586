#pragma once

#include "mindtorch/ops/op.h"

namespace mindtorch::dispatch {

// The backend layer: prepares a call (devices, shape rule, outputs, what it writes) and hands it to
// this thread's executor.
void run_eager(const ops::Op& op, ops::Args args, ops::Outputs& outputs);

}  // namespace mindtorch::dispatch
