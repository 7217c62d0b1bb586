#include "mindtorch/ops/single_call.h"

#include "mindtorch/ops/functions.h"
#include "mindtorch/ops/prepared_group.h"
#include "mindtorch/ops/refusal.h"
#include "mindtorch/ops/registry.h"

namespace mindtorch::ops {
namespace {

[[noreturn]] void refuse_call(const PointwiseCall& call, Device device) {
  refuse(function_info(call.function).name, device, call.compute,
         "its fusion engine has no such function");
}

// Numbers of the host may be anywhere among the operands.
Device device_of(const PointwiseCall& call) {
  Device device = call.operands[0]->device();
  for (int i = 1; i < call.count && device.is_host(); ++i) device = call.operands[i]->device();
  return device;
}

FusedLayout layout_of(const Tensor& tensor, IntList sizes) {
  return {broadcast_strides(tensor.sizes(), tensor.strides(), sizes), tensor.dtype()};
}

}  // namespace

void run_as_group(Launch& launch, const PointwiseCall& call, const Tensor& out) {
  const FusionEngine& engine = *registry().fusion_engine(launch.device.type);
  if (!engine.can_fuse(call.function, call.compute)) refuse_call(call, launch.device);
  FusedGroup group;
  group.device = launch.device;
  group.sizes = Shape(out.sizes());
  SmallVector<void*, kMaxOperands + 1> addresses;
  FusedStep& step = group.steps.emplace_back();
  step.function = call.function;
  step.compute = call.compute;
  step.result = call.result;
  step.unrounded = call.unrounded;
  step.params = call.params;
  step.count = static_cast<uint8_t>(call.count);
  for (int i = 0; i < call.count; ++i) {
    const Tensor& operand = *call.operands[i];
    step.operands[i] = static_cast<uint16_t>(i);
    FusedLayout layout = layout_of(operand, group.sizes);
    layout.is_number = operand.device() != launch.device;
    group.inputs.push_back(std::move(layout));
    addresses.push_back(operand.data_ptr());
  }
  auto value = static_cast<uint16_t>(call.count);
  if (out.dtype() != call.result) {
    FusedStep cast;
    cast.is_copy = true;
    cast.compute = call.result;
    cast.result = out.dtype();
    cast.count = 1;
    cast.operands[0] = value++;
    group.steps.push_back(cast);
  }
  group.stores.push_back({value, layout_of(out, group.sizes)});
  addresses.push_back(out.data_ptr());
  const std::shared_ptr<PreparedGroup> prepared = PreparedGroup::find(group, engine);
  const FusedProgram* const program = prepared->program_now();
  if (program == nullptr) refuse_call(call, launch.device);
  program->run(launch, {addresses.data(), addresses.size()});
}

void check_as_group(const PointwiseCall& call) {
  const Device device = device_of(call);
  if (!registry().fusion_engine(device.type)->can_fuse(call.function, call.compute)) {
    refuse_call(call, device);
  }
}

}  // namespace mindtorch::ops
