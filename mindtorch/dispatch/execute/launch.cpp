#include "mindtorch/dispatch/execute/launch.h"

#include "mindtorch/ops/registry.h"
#include "mindtorch/runtime/accelerator.h"

namespace mindtorch::dispatch {

ops::Launch make_launch(Device device) {
  if (MT_LIKELY(device.is_cpu())) return {device};
  return {device, runtime::current_stream(runtime::runtime_for(name(device.type), device.index))};
}

void launch_kernel(const ops::Op& op, Device device, ops::Args args, std::span<Tensor> outputs) {
  ops::Launch launch = make_launch(device);
  op.kernel(device.type).impl(launch, args, outputs);
}

void launch_pointwise(const ops::PointwiseCall& call, Device device, const Tensor& out) {
  ops::Launch launch = make_launch(device);
  ops::registry().pointwise_engine(device.type)(launch, call, out);
}

void launch_dynamic(const ops::Op& op, Device device, ops::Args args, ops::Outputs& outputs) {
  ops::Launch launch = make_launch(device);
  op.kernel(device.type).dynamic(launch, args, outputs);
}

bool has_pointwise_engine(DeviceType type) {
  return ops::registry().pointwise_engine(type) != nullptr;
}

}  // namespace mindtorch::dispatch
