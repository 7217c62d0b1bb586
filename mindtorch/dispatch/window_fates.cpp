// What becomes of the storages of a window: who needs them, and whose memory they can have.
#include <algorithm>

#include "mindtorch/dispatch/window_plan.h"

namespace mindtorch::dispatch {
namespace {

// Kernels check indices, masks and divisors when they run: a wrong one is told although nobody sees
// the result.
bool depends_on_values(const Recording& recording, const OpRecord& op) {
  if (op.is_pointwise != 0) return op.divides_integers();
  if (op.op->checks_values) return true;
  return op.operand_count > 1 && std::ranges::any_of(recording.operands(op), [&](uint32_t operand) {
           return operand != kNoTensor && !is_floating_point(recording.tensors[operand].dtype);
         });
}

}  // namespace

// Backwards: what is visible is needed, and so is what it was computed from.
void WindowPlan::find_fates() {
  fates_.resize(recording_.storages.size());
  is_dead_.resize(recording_.ops.size());
  for (size_t i = 0; i < fates_.size(); ++i) {
    fates_[i].is_visible = fates_[i].is_needed = visible_[i] != 0;
  }
  const auto use = [&](uint32_t tensor, size_t number) -> StorageFate* {
    if (tensor == kNoTensor || recording_.tensors[tensor].storage == kNumberStorage) return nullptr;
    StorageFate& fate = fates_[recording_.tensors[tensor].storage];
    fate.last_use = std::max(fate.last_use, static_cast<int64_t>(number));
    return &fate;
  };
  for (size_t number = recording_.ops.size(); number-- > 0;) {
    const OpRecord& op = recording_.ops[number];
    // Draws numbers, whoever looks at them, or may have an error to tell.
    bool is_needed = op.op->random || depends_on_values(recording_, op);
    for (const uint32_t output : recording_.outputs(op)) {
      is_needed |= fates_[recording_.tensors[output].storage].is_needed;
    }
    is_dead_[number] = !is_needed;
    if (!is_needed) continue;
    for (const uint32_t output : recording_.outputs(op)) {
      StorageFate& fate = *use(output, number);
      fate.last_write = std::max(fate.last_write, static_cast<int64_t>(number));
    }
    for (const uint32_t operand : recording_.operands(op)) {
      if (StorageFate* const fate = use(operand, number)) fate->is_needed = true;
    }
  }
}

// All of its storage, in order.
bool WindowPlan::fills_storage(const TensorRecord& tensor) const {
  const auto bytes =
      static_cast<uint64_t>(numel(recording_.sizes(tensor)) * size_bytes(tensor.dtype));
  return tensor.is_contiguous != 0 && tensor.offset == 0 &&
         recording_.storages[tensor.storage].size_bytes == bytes;
}

// Pointwise ops may write where they read, element for element, as in place: the result takes the
// memory of an operand that ends here.
uint32_t WindowPlan::find_legacy(const OpRecord& op,
                                 uint32_t action,
                                 std::span<const uint32_t> last) const {
  const auto is_private = [&](const TensorRecord& tensor) {
    return tensor.storage != kNumberStorage && !fates_[tensor.storage].is_visible &&
           recording_.storages[tensor.storage].is_promised != 0 && fills_storage(tensor);
  };
  const TensorRecord& out = recording_.tensors[recording_.outputs(op)[0]];
  if (!is_private(out)) return kNumberStorage;
  const std::span operands = recording_.operands(op);
  for (const uint32_t operand : operands) {
    const TensorRecord& in = recording_.tensors[operand];
    if (!is_private(in) || in.storage == out.storage || last[in.storage] != action ||
        recording_.storages[in.storage].device != recording_.storages[out.storage].device ||
        in.dtype != out.dtype || !std::ranges::equal(recording_.sizes(in), recording_.sizes(out))) {
      continue;
    }
    const bool is_seen_otherwise = std::ranges::any_of(operands, [&](uint32_t other) {
      return other != operand && recording_.tensors[other].storage == in.storage;
    });
    if (!is_seen_otherwise) return in.storage;
  }
  return kNumberStorage;
}

}  // namespace mindtorch::dispatch
