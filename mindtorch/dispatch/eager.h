#pragma once

#include "mindtorch/ops/op.h"

namespace mindtorch::dispatch {

// The backend layer: runs meta, plan and impl of an op one after the other, now.
void run_eager(const ops::Op& op, ops::Args args, ops::Outputs& outputs);

// The last step of an op: its kernel, at once. Outputs have memory.
void launch_now(const ops::Op& op, Device device, ops::Args args, std::span<Tensor> outputs);
void launch_pointwise_now(
    const ops::Op& op, const ops::PointwiseCall& call, Device device, ops::Args args, Tensor& out);

}  // namespace mindtorch::dispatch
