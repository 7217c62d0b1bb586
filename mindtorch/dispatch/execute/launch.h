#pragma once

#include "mindtorch/ops/op.h"

namespace mindtorch::dispatch {

// The last step of an op, now: its kernel, on this thread's current stream. Outputs have memory.
void launch_kernel(const ops::Op& op, Device device, ops::Args args, std::span<Tensor> outputs);
// The same by the device's pointwise engine, which must be there: has_pointwise_engine().
void launch_pointwise(const ops::PointwiseCall& call, Device device, const Tensor& out);
// An op that makes its own outputs.
void launch_dynamic(const ops::Op& op, Device device, ops::Args args, ops::Outputs& outputs);

bool has_pointwise_engine(DeviceType type);
ops::Launch make_launch(Device device);

}  // namespace mindtorch::dispatch
