#include "mindtorch/dispatch/window_runner.h"

#include "mindtorch/dispatch/eager.h"

namespace mindtorch::dispatch {
namespace {

constexpr uint16_t kStepBit = 0x8000;  // a value that a step makes, until the inputs are counted
constexpr size_t kMaxSteps = 256;
constexpr size_t kMaxInputs = 16;
constexpr size_t kMaxStores = 24;

}  // namespace

WindowRunner::Fate* WindowRunner::fate_of(const RecordedView& view) {
  const StorageImpl* const storage = view.storage.get();
  if (storage == nullptr || storage->pending() != &window_) return nullptr;
  return &fates_[storage->pending_slot];
}

const RecordedView& WindowRunner::operand(const Recorded& entry, size_t i) const {
  return window_.views_[entry.first_operand + i];
}
const RecordedView& WindowRunner::output(const Recorded& entry, size_t i) const {
  return window_.views_[entry.first_output + i];
}

// Backwards: what is visible is needed, and so is what it was computed from.
void WindowRunner::find_fates() {
  fates_.resize(window_.written_.size());
  for (size_t i = 0; i < fates_.size(); ++i) {
    const Window::Written& written = window_.written_[i];
    if (written.storage == nullptr) continue;
    fates_[i].is_visible = !written.promised || written.storage->use_count() > written.references;
    fates_[i].is_needed = fates_[i].is_visible;
  }
  for (size_t number = window_.entries_.size(); number-- > 0;) {
    Recorded& entry = window_.entries_[number];
    bool is_needed = entry.op->random;  // draws numbers, whoever looks at them
    for (size_t i = 0; i < entry.output_count; ++i) {
      const Fate* const fate = fate_of(output(entry, i));
      is_needed |= fate == nullptr || fate->is_needed;
    }
    entry.is_dead = !is_needed;
    if (entry.is_dead) continue;
    for (size_t i = 0; i < entry.operand_count + entry.output_count; ++i) {
      const RecordedView& view =
          i < entry.operand_count ? operand(entry, i) : output(entry, i - entry.operand_count);
      if (Fate* const fate = fate_of(view)) {
        fate->is_needed |= i < entry.operand_count;
        fate->last_use = std::max(fate->last_use, static_cast<int64_t>(number));
      }
    }
  }
}

Tensor WindowRunner::tensor(const RecordedView& view) {
  if (!view.storage) return {};
  Storage storage = view.storage;
  if (Fate* const fate = fate_of(view)) {
    if (!fate->shadow) {
      storage->make_promised_bytes();
      fate->shadow = StorageImpl::borrow(storage->raw_data(), storage->size_bytes(),
                                         storage->device(), nullptr, nullptr);
    }
    storage = fate->shadow;
  }
  return Tensor(IntrusivePtr<TensorImpl>::adopt(
      new TensorImpl(std::move(storage), view.dtype, view.sizes, view.strides, view.offset)));
}

void WindowRunner::run(size_t& done) {
  find_fates();
  while (done < window_.entries_.size()) {
    const Recorded& entry = window_.entries_[done];
    if (entry.is_dead) {
      ++done;
      continue;
    }
    const size_t first = done;
    size_t next = first + 1;
    if (entry.is_pointwise && ops::registry().fusion_engine(entry.device.type).prepare != nullptr) {
      next = run_together(first);
    } else {
      run_one(entry);
    }
    for (done = first; done < next; ++done) release_after(done);
  }
}

void WindowRunner::run_one(const Recorded& entry) {
  if (!entry.is_pointwise) return run_kernel(entry);
  Tensor operands[3];
  ops::PointwiseCall call(entry.function, entry.compute, entry.result);
  call.params = entry.params;
  for (size_t i = 0; i < entry.operand_count; ++i) {
    operands[i] = tensor(operand(entry, i));
    call.on(operands[i]);
  }
  Tensor out = tensor(output(entry, 0));
  launch_pointwise_now(*entry.op, call, entry.device, {}, out);
}

void WindowRunner::run_kernel(const Recorded& entry) {
  SmallVector<ops::Value, 8> values;
  std::deque<Tensor> tensors;
  std::deque<std::vector<Tensor>> lists;
  for (size_t i = 0; i < entry.value_count; ++i) {
    const KeptValue& kept = window_.values_[entry.first_value + i];
    if (kept.value.kind() == ops::ValueKind::kTensor) {
      values.push_back(ops::Value(tensors.emplace_back(tensor(window_.views_[kept.first_view]))));
    } else if (kept.value.kind() == ops::ValueKind::kTensorList) {
      std::vector<Tensor>& list = lists.emplace_back();
      for (uint32_t k = 0; k < kept.view_count; ++k) {
        list.push_back(tensor(window_.views_[kept.first_view + k]));
      }
      values.push_back(ops::Value(TensorList(list)));
    } else {
      values.push_back(kept.value);
    }
  }
  SmallVector<Tensor, 2> outputs;
  if (entry.op->kind != ops::OpKind::kMutation) {
    for (size_t i = 0; i < entry.output_count; ++i) outputs.push_back(tensor(output(entry, i)));
  }
  launch_now(*entry.op, entry.device, {values.data(), values.size()},
             {outputs.data(), outputs.size()});
}

// Adds an op to the group, or says that it must come after.
bool WindowRunner::join(const Recorded& entry, size_t number, Device device) {
  if (!entry.is_pointwise || entry.device != device) return false;
  const RecordedView& out = output(entry, 0);
  if (out.dtype != entry.result || out.numel == 0 || group_.steps.size() == kMaxSteps ||
      inputs_.size() + 3 > kMaxInputs || visible_ == kMaxStores) {
    return false;
  }
  if (!group_.steps.empty() && out.sizes != group_.sizes) return false;
  ops::FusedStep step;
  step.function = entry.function;
  step.compute = entry.compute;
  step.result = entry.result;
  step.params = entry.params;
  step.count = static_cast<uint8_t>(entry.operand_count);
  const size_t inputs_before = inputs_.size();
  const auto give_up = [&] {
    inputs_.resize(inputs_before);
    return false;
  };
  for (size_t i = 0; i < entry.operand_count; ++i) {
    const RecordedView& view = operand(entry, i);
    bool found = false;
    for (size_t k = joined_.size(); k-- > 0 && !found;) {
      const RecordedView& written = *joined_[k].out;
      if (written.storage.get() != view.storage.get()) continue;
      if (written.is_same(view)) {
        step.operands[i] = static_cast<uint16_t>(joined_[k].step | kStepBit);
        found = true;
      } else if (written.overlaps(view)) {
        return give_up();
      }
    }
    for (size_t k = 0; k < inputs_.size() && !found; ++k) {
      if (inputs_[k]->storage.get() == view.storage.get() && inputs_[k]->is_same(view)) {
        step.operands[i] = static_cast<uint16_t>(k);
        found = true;
      }
    }
    if (found) continue;
    step.operands[i] = static_cast<uint16_t>(inputs_.size());
    inputs_.push_back(&view);
  }
  // What is read from memory elsewhere in the group must not be what this writes, but for the very
  // same elements, which are read first.
  for (const RecordedView* input : inputs_) {
    if (input->overlaps(out) && !input->is_same(out)) return give_up();
  }
  for (Joined& earlier : joined_) {
    if (!earlier.out->overlaps(out)) continue;
    if (!earlier.out->is_same(out)) return give_up();
    earlier.is_newest = false;
  }
  const Fate& fate = *fate_of(out);
  visible_ += fate.is_visible || fate.last_use > static_cast<int64_t>(number);
  group_.sizes = out.sizes;
  joined_.push_back({&out, static_cast<uint16_t>(group_.steps.size()), true});
  group_.steps.push_back(step);
  return true;
}

size_t WindowRunner::run_together(size_t first) {
  group_ = {};
  inputs_.clear();
  joined_.clear();
  visible_ = 0;
  size_t next = first;
  for (; next < window_.entries_.size(); ++next) {
    const Recorded& entry = window_.entries_[next];
    if (!entry.is_dead && !join(entry, next, window_.entries_[first].device)) break;
  }
  if (group_.steps.size() < 2) {
    run_one(window_.entries_[first]);
    return first + 1;
  }
  std::vector<void*> addresses;
  const auto layout_of = [&](const Tensor& tensor) {
    addresses.push_back(tensor.data_ptr());
    return ops::FusedLayout{broadcast_strides(tensor.sizes(), tensor.strides(), group_.sizes),
                            tensor.dtype(), tensor.numel() == 1};
  };
  for (const RecordedView* input : inputs_) group_.inputs.push_back(layout_of(tensor(*input)));
  const auto inputs = static_cast<uint16_t>(inputs_.size());
  for (ops::FusedStep& step : group_.steps) {
    for (int i = 0; i < step.count; ++i) {
      uint16_t& value = step.operands[i];
      if ((value & kStepBit) != 0) value = static_cast<uint16_t>((value & ~kStepBit) + inputs);
    }
  }
  for (const Joined& each : joined_) {
    const Fate* const fate = fate_of(*each.out);
    if (!each.is_newest || (!fate->is_visible && fate->last_use < static_cast<int64_t>(next))) {
      continue;
    }
    group_.stores.push_back(
        {static_cast<uint16_t>(inputs + each.step), layout_of(tensor(*each.out))});
  }
  group_.device = window_.entries_[first].device;
  ops::registry().fusion_engine(group_.device.type).prepare(group_)->run(addresses);
  return next;
}

// Memory that no later op and nobody outside will look at.
void WindowRunner::release_after(size_t number) {
  const Recorded& entry = window_.entries_[number];
  for (size_t i = 0; i < entry.operand_count + entry.output_count; ++i) {
    const RecordedView& view =
        i < entry.operand_count ? operand(entry, i) : output(entry, i - entry.operand_count);
    Fate* const fate = fate_of(view);
    if (fate == nullptr || fate->is_visible || fate->last_use != static_cast<int64_t>(number)) {
      continue;
    }
    fate->shadow.reset();
    view.storage->drop_bytes();
  }
}

}  // namespace mindtorch::dispatch
