#pragma once

#include "mindtorch/ops/op.h"

namespace mindtorch::dispatch {

// The backend layer: prepares a call (devices, shape rule, outputs, what it writes) and hands it to
// this thread's executor.
void run_eager(const ops::Op& op, ops::Args args, ops::Outputs& outputs);

// A view that autograd follows: writing it writes what it is a view of.
MT_API Tensor make_view(const Tensor& self, ops::ViewSpec view);

}  // namespace mindtorch::dispatch
