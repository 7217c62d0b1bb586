// Windows that repeat an earlier one: their ops are recognised, not recorded again.
#include <algorithm>

#include "mindtorch/dispatch/window.h"
#include "mindtorch/dispatch/window_values.h"

namespace mindtorch::dispatch {

// The op that is expected next, if this is it. Its arguments are then this window's.
[[gnu::always_inline]] inline const OpRecord* Window::match(const ops::Op& op,
                                                            ops::Args args,
                                                            Writes writes) {
  open();
  if (expected_ == nullptr || followed_.ops >= expected_->ops.size()) return nullptr;
  const Recording& expected = *expected_;
  const OpRecord& record = expected.ops[followed_.ops];
  if (record.op != &op || record.writes != writes || record.value_count != args.size() ||
      expected.default_dtype != default_dtype()) {
    return nullptr;
  }
  bool follows = true;
  for (size_t i = 0; i < args.size() && follows; ++i) {
    follows = follow_argument(args[i], record.first_value + i);
  }
  const uint32_t output = expected.outputs(record)[0];
  if (writes == Writes::kNew) {
    // What a refused op was given may lie in between: numbers that this window does not have.
    follows =
        follows && output == followed_.tensors && expected.tensors[output].storage == held_.size();
  } else {
    follows = follows && expected.links[expected.values[record.first_value].first] == output;
  }
  if (follows) return &record;
  if (followed_.ops == 0) finish(0, nullptr);  // the op may be refused: hold nothing for it
  return nullptr;
}

[[gnu::always_inline]] inline void Window::pass(const OpRecord& record) {
  followed_.links = record.first_link + record.operand_count + record.output_count;
  followed_.values = record.first_value + record.value_count;
  ++followed_.ops;
  note_op(*record.op, record.device);
}

bool Window::follow(const ops::Op& op, ops::Args args, ops::Outputs& outputs) {
  const Lock lock = this->lock();
  const OpRecord* const record = match(op, args, Writes::kNew);
  if (record == nullptr) return false;
  for (const uint32_t number : expected_->outputs(*record)) {
    outputs.tensors.push_back(follow_output(number));
  }
  pass(*record);
  return true;
}

bool Window::follow_in_place(const ops::Op& op, ops::Args args) {
  const Lock lock = this->lock();
  const OpRecord* const record = match(op, args, Writes::kSelf);
  if (record == nullptr) return false;
  note_write(expected_->tensors[expected_->outputs(*record)[0]].storage, followed_.ops);
  pass(*record);
  return true;
}

// An op that was refused may come again: what it had in common counts once.
void Window::follow_dims(size_t end) { followed_.dims = std::max(followed_.dims, end); }

bool Window::follow_argument(const ops::Value& value, size_t number) {
  const ValueRecord& kept = expected_->values[number];
  if (value.kind() != kept.kind) return false;
  const auto same_list = [&](const auto& list, auto&& to_int) {
    return list.size() == kept.count &&
           std::equal(list.begin(), list.end(), expected_->dims.begin() + kept.first,
                      [&](const auto& a, int64_t b) { return to_int(a) == b; }) &&
           (follow_dims(kept.first + kept.count), true);
  };
  switch (value.kind()) {
    case ops::ValueKind::kTensor:
      return follow_tensor(value.tensor(), expected_->links[kept.first]);
    case ops::ValueKind::kScalar:
      return kept.scalar_kind == static_cast<uint8_t>(value.scalar().kind()) &&
             expected_->bits_of_value(number) == scalar_bits(value.scalar());
    case ops::ValueKind::kInt:
      return expected_->bits_of_value(number) == static_cast<uint64_t>(value.to_int());
    case ops::ValueKind::kFloat:
      return expected_->bits_of_value(number) == bits_of(value.to_float());
    case ops::ValueKind::kBool:
      return expected_->bits_of_value(number) == uint64_t{value.to_bool()};
    case ops::ValueKind::kIntList:
      return same_list(value.int_list(), [](int64_t each) { return each; });
    case ops::ValueKind::kDType:
      return kept.bits == static_cast<uint64_t>(value.dtype());
    default:
      return value.is_none();
  }
}

// The tensor is the one of that number, or looks as it did and comes at the same place.
bool Window::follow_tensor(const Tensor& tensor, uint32_t number) {
  TensorImpl& impl = *tensor.impl();
  StorageImpl& storage = *impl.storage;
  const PendingWork* const work = storage.pending();
  if (work != nullptr && work != this) return false;  // must run before
  const uint64_t mark = epoch() << kNumberBits | number;
  if (impl.recorded.load(std::memory_order_relaxed) == mark) return true;
  if (number != followed_.tensors) return false;
  const TensorRecord& record = expected_->tensors[number];
  if (record.dtype != impl.dtype || record.rank != impl.sizes.size() ||
      record.is_wrapped_number != uint8_t{impl.is_wrapped_number}) {
    return false;
  }
  if (record.storage == kNumberStorage) {
    if (!is_number(tensor)) return false;
    // What an op makes of a number may depend on its value.
    const uint64_t bits = number_bits(tensor);
    if (bits != expected_->numbers[recording_.numbers.size()]) return false;
    recording_.numbers.push_back(bits);
    ++followed_.tensors;
    return true;
  }
  if (record.offset != impl.offset || !std::ranges::equal(expected_->sizes(record), impl.sizes) ||
      !std::ranges::equal(expected_->strides(record), impl.strides)) {
    return false;
  }
  if (work == this) {
    if (storage.pending_number != record.storage) return false;
  } else if (const uint32_t* const known = outside_.find(&storage)) {
    if (*known != record.storage) return false;
  } else {
    const StorageRecord& like = expected_->storages[record.storage];
    if (record.storage != held_.size() || like.is_promised != 0 || is_promised(storage) ||
        like.size_bytes != storage.size_bytes() || like.device != storage.device()) {
      return false;
    }
    hold(storage);
    ++followed_.storages;
  }
  count_read(held_[record.storage]);
  impl.recorded.store(mark, std::memory_order_relaxed);
  ++followed_.tensors;
  follow_dims(record.first_dim + 2 * record.rank);
  return true;
}

Tensor Window::follow_output(uint32_t number) {
  const TensorRecord& record = expected_->tensors[number];
  const StorageRecord& like = expected_->storages[record.storage];
  Tensor out(IntrusivePtr<TensorImpl>::adopt(new TensorImpl(
      StorageImpl::promise(like.size_bytes, like.device), record.dtype,
      Shape(expected_->sizes(record)), Shape(expected_->strides(record)), record.offset)));
  note_write(hold(*out.storage()), followed_.ops);
  out.impl()->recorded.store(epoch() << kNumberBits | number, std::memory_order_relaxed);
  ++followed_.tensors;
  ++followed_.storages;
  follow_dims(record.first_dim + 2 * record.rank);
  return out;
}

}  // namespace mindtorch::dispatch
