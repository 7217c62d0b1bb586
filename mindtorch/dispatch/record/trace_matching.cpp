// Ops that repeat the predicted trace: compared with it, not recorded again.
#include <algorithm>

#include "mindtorch/dispatch/record/trace_mark.h"
#include "mindtorch/dispatch/record/trace_recorder.h"

namespace mindtorch::dispatch {

// An op that was refused may come again: what it had in common counts once.
void TraceRecorder::pass_dims(const TensorRecord& record) {
  matched_.dims = std::max<size_t>(matched_.dims, record.first_dim + 2 * record.rank);
}

// The tensor has that id already, or looks as it did and comes at the same place.
[[gnu::always_inline]] inline bool TraceRecorder::match_tensor(const Tensor& tensor, uint32_t id) {
  const TensorImpl& impl = *tensor.impl();
  const PendingWork* const work = impl.storage->pending();
  if (work != nullptr && work != &work_) return false;  // must run before
  return impl.trace_mark() == TraceMark(epoch_, id).bits() || match_new_tensor(tensor, id);
}

bool TraceRecorder::match_new_tensor(const Tensor& tensor, uint32_t id) {
  if (id != matched_.tensors) return false;
  TensorImpl& impl = *tensor.impl();
  StorageImpl& storage = *impl.storage;
  const TensorRecord& record = predicted_->tensors[id];
  if (record.dtype != impl.dtype || record.rank != impl.sizes.size() ||
      record.is_wrapped_number != uint8_t{impl.is_wrapped_number}) {
    return false;
  }
  if (record.storage == kNumberStorage) {
    if (!is_number(tensor)) return false;
    // What an op makes of a number may depend on its value.
    const uint64_t bits = number_bits(tensor);
    if (bits != predicted_->numbers[trace_.numbers.size()]) return false;
    trace_.numbers.push_back(bits);
    ++matched_.tensors;
    return true;
  }
  // Loops: a call of memcmp takes longer than a few dims do.
  const int64_t* const dims = predicted_->dims.data() + record.first_dim;
  bool is_same = record.offset == impl.offset;
  for (uint32_t d = 0; d < record.rank; ++d) {
    is_same &= dims[d] == impl.sizes[d] && dims[record.rank + d] == impl.strides[d];
  }
  if (!is_same) return false;
  if (storage.pending() == &work_) {
    if (storage.pending_id() != record.storage) return false;
  } else if (const uint32_t* const known = external_.find(&storage)) {
    if (*known != record.storage) return false;
  } else {
    const StorageRecord& like = predicted_->storages[record.storage];
    if (record.storage != held_.size() || like.is_unallocated != 0 || is_unallocated(storage) ||
        like.size_bytes != storage.size_bytes() || like.device != storage.device()) {
      return false;
    }
    hold_to_read(storage);
    ++matched_.storages;
  }
  note_read(held_[record.storage]);
  impl.set_trace_mark(TraceMark(epoch_, id).bits());
  ++matched_.tensors;
  pass_dims(record);
  return true;
}

[[gnu::always_inline]] inline bool TraceRecorder::match_argument(const ops::Value& value,
                                                                 size_t index) {
  const Argument& argument = predicted_->arguments[index];
  if (value.kind() != argument.kind) return false;
  switch (value.kind()) {
    case ops::ValueKind::kNone:
      return true;
    case ops::ValueKind::kTensor:
      return match_tensor(value.tensor(), predicted_->tensor_ids[argument.first]);
    case ops::ValueKind::kScalar:
      if (MT_UNLIKELY(value.scalar().is_complex())) return match_other_argument(value, index);
      return argument.scalar_kind == static_cast<uint8_t>(value.scalar().kind()) &&
             (argument.bits | predicted_->param_bits[index]) == detail::to_bits(value.scalar());
    default:
      return match_other_argument(value, index);
  }
}

bool TraceRecorder::match_list(TensorList list, const Argument& argument) {
  if (list.size() != argument.length) return false;
  for (size_t i = 0; i < list.size(); ++i) {
    const uint32_t id = predicted_->tensor_ids[argument.first + i];
    if (list[i].defined() != (id != kNoTensor)) return false;
    if (list[i].defined() && !match_tensor(list[i], id)) return false;
  }
  return true;
}

bool TraceRecorder::match_other_argument(const ops::Value& value, size_t index) {
  const Argument& argument = predicted_->arguments[index];
  if (value.kind() == ops::ValueKind::kTensorList) return match_list(value.tensor_list(), argument);
  if (argument.is_params != 0) {
    return value.float_list().size() == argument.length &&
           are_params(value.float_list(), predicted_->params[matched_.ops]);
  }
  Argument given = argument;
  given.bits |= predicted_->param_bits[index];
  const EncodedArgument encoded = encode(value);
  if (!equals(given, predicted_->payload, encoded)) return false;
  needs_flush_ |= value.kind() == ops::ValueKind::kGenerator;  // as where it is recorded
  if (!encoded.list.empty()) {
    matched_.payload =
        std::max(matched_.payload, (argument.first + encoded.list.size() + 7) / 8 * 8);
  }
  return true;
}

[[gnu::always_inline]] inline Tensor TraceRecorder::make_predicted_output(uint32_t id) {
  const TensorRecord& record = predicted_->tensors[id];
  const StorageRecord& like = predicted_->storages[record.storage];
  Tensor out(IntrusivePtr<TensorImpl>::adopt(
      new TensorImpl(StorageImpl::unallocated(like.size_bytes, like.device), record.dtype,
                     predicted_->sizes(record), predicted_->strides(record), record.offset,
                     record.is_contiguous != 0)));
  // As hold() and note_write() of a storage that nobody has seen.
  StorageImpl& storage = *out.storage();
  held_.push_back({&storage, static_cast<uint32_t>(matched_.ops), true, true, false});
  storage.retain_unseen();
  storage.set_pending(&work_, static_cast<uint32_t>(held_.size() - 1));
  unallocated_bytes_ += like.size_bytes;
  out.impl()->set_trace_mark(TraceMark(epoch_, id).bits());
  ++matched_.tensors;
  ++matched_.storages;
  pass_dims(record);
  return out;
}

// The op that is predicted next, if this is it. Its arguments are then this trace's.
[[gnu::always_inline]] inline const OpRecord* TraceRecorder::match_op(const ops::Op& op,
                                                                      ops::Args args,
                                                                      Writes writes) {
  if (predicted_ == nullptr || matched_.ops >= predicted_->ops.size()) return nullptr;
  const Trace& predicted = *predicted_;
  const OpRecord& record = predicted.ops[matched_.ops];
  if (record.op != &op || record.writes != writes || record.argument_count != args.size() ||
      predicted.default_dtype != default_dtype()) {
    return nullptr;
  }
  bool matches = true;
  for (size_t i = 0; i < args.size() && matches; ++i) {
    matches = match_argument(args[i], record.first_argument + i);
  }
  const uint32_t output = predicted.outputs(record)[0];
  if (writes == Writes::kNew) {
    // An op that was refused may have left ids in between that this trace does not have.
    matches =
        matches && output == matched_.tensors && predicted.tensors[output].storage == held_.size();
  } else {
    matches =
        matches && predicted.tensor_ids[predicted.arguments[record.first_argument].first] == output;
  }
  if (matches) return &record;
  if (matched_.ops == 0) {  // the op may be refused: hold nothing for it
    finish(0, nullptr);
    begin(&predicted);
  }
  return nullptr;
}

[[gnu::always_inline]] inline void TraceRecorder::pass(const OpRecord& record) {
  matched_.tensor_ids = record.first_id + record.operand_count + record.output_count;
  matched_.arguments = record.first_argument + record.argument_count;
  ++matched_.ops;
  note_op();
}

bool TraceRecorder::match(const ops::Op& op, ops::Args args, ops::Outputs& outputs) {
  const OpRecord* const record = match_op(op, args, Writes::kNew);
  if (record == nullptr) return false;
  for (const uint32_t id : predicted_->outputs(*record)) {
    outputs.tensors.push_back(make_predicted_output(id));
  }
  pass(*record);
  return true;
}

bool TraceRecorder::match_in_place(const ops::Op& op, ops::Args args) {
  const OpRecord* const record = match_op(op, args, Writes::kSelf);
  if (record == nullptr) return false;
  for (const uint32_t output : predicted_->outputs(*record)) {
    note_write(predicted_->tensors[output].storage, matched_.ops);
  }
  pass(*record);
  return true;
}

}  // namespace mindtorch::dispatch
