#pragma once

#include "mindtorch/ops/op.h"
#include "mindtorch/tensor/accelerators.h"

namespace mindtorch::dispatch {

// The last step of an op, now: on this thread's current stream. Outputs have memory.

inline ops::Launch make_launch(Device device, const ops::Op* op = nullptr) {
  if (MT_LIKELY(!device.is_accelerator())) return {device, {}, op};
  return {device, runtime::current_stream(runtime_of(device)), op};
}

inline void launch_kernel(const ops::Op& op,
                          Device device,
                          ops::Args args,
                          std::span<Tensor> outputs) {
  ops::Launch launch = make_launch(device, &op);
  op.kernel(device.type).impl(launch, args, outputs);
}

// By the device's pointwise engine.
inline void launch_pointwise(ops::PointwiseFn engine,
                             const ops::PointwiseCall& call,
                             Device device,
                             const Tensor& out) {
  ops::Launch launch = make_launch(device);
  engine(launch, call, out);
}

// An op that makes its own outputs.
inline void launch_dynamic(const ops::Op& op,
                           Device device,
                           ops::Args args,
                           ops::Outputs& outputs) {
  ops::Launch launch = make_launch(device, &op);
  op.kernel(device.type).dynamic(launch, args, outputs);
}

}  // namespace mindtorch::dispatch
