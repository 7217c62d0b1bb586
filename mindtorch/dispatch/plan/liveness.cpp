#include "mindtorch/dispatch/plan/liveness.h"

#include <algorithm>

namespace mindtorch::dispatch {
namespace {

// Kernels check indices, masks and divisors when they run: the error must be raised even if nothing
// sees the result.
bool may_raise(const Trace& trace, const OpRecord& op) {
  if (op.is_pointwise != 0) return op.checks_divisor();
  if (op.op->checks_values || op.op->checks_divisor) return true;
  return op.operand_count > 1 && std::ranges::any_of(trace.operands(op), [&](uint32_t operand) {
           return operand != kNoTensor && !is_floating_point(trace.tensors[operand].dtype);
         });
}

}  // namespace

// Backwards: what is visible is needed, and so is what it was computed from.
Liveness find_liveness(const Trace& trace, std::span<const uint8_t> visible) {
  Liveness liveness;
  liveness.storages.resize(trace.storages.size());
  liveness.is_dead.resize(trace.ops.size());
  for (size_t i = 0; i < liveness.storages.size(); ++i) {
    liveness.storages[i].is_visible = liveness.storages[i].is_needed = visible[i] != 0;
  }
  const auto use = [&](uint32_t tensor, size_t number) -> StorageLiveness* {
    if (tensor == kNoTensor || trace.tensors[tensor].storage == kNumberStorage) return nullptr;
    StorageLiveness& live = liveness.storages[trace.tensors[tensor].storage];
    live.last_use = std::max(live.last_use, static_cast<int64_t>(number));
    return &live;
  };
  for (size_t number = trace.ops.size(); number-- > 0;) {
    const OpRecord& op = trace.ops[number];
    // Random ops advance their generator even if their numbers are not used.
    bool is_needed = op.op->random || may_raise(trace, op);
    for (const uint32_t output : trace.outputs(op)) {
      is_needed |= liveness.storages[trace.tensors[output].storage].is_needed;
    }
    liveness.is_dead[number] = !is_needed;
    if (!is_needed) continue;
    for (const uint32_t output : trace.outputs(op)) {
      StorageLiveness& live = *use(output, number);
      live.last_write = std::max(live.last_write, static_cast<int64_t>(number));
    }
    for (const uint32_t operand : trace.operands(op)) {
      if (StorageLiveness* const live = use(operand, number)) live->is_needed = true;
    }
  }
  return liveness;
}

}  // namespace mindtorch::dispatch
