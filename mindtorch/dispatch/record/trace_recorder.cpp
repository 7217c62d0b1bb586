#include "mindtorch/dispatch/record/trace_recorder.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "mindtorch/dispatch/record/failed_work.h"
#include "mindtorch/dispatch/record/trace_mark.h"

namespace mindtorch::dispatch {
namespace {

// Inputs that the trace alone keeps alive: eager mode would have released them.
constexpr size_t kMemoryLimit = size_t{64} << 20;

uint64_t next_epoch() {
  static std::atomic<uint64_t> epoch{0};
  return epoch.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Not whichever is the current one.
bool names_device(ops::Args args) {
  return std::ranges::any_of(args, [](const ops::Value& value) {
    return value.kind() == ops::ValueKind::kDevice &&
           (value.device().has_index() || !value.device().is_accelerator());
  });
}

}  // namespace

void TraceRecorder::begin(const Trace* predicted) {
  epoch_ = next_epoch();
  predicted_ = predicted;
  matched_ = {};
  trace_.default_dtype = default_dtype();
}

void TraceRecorder::materialize_trace() {
  if (predicted_ != nullptr) trace_.append(*predicted_, matched_);
}

bool TraceRecorder::is_too_long(ops::Args args) {
  return std::ranges::any_of(args, [](const ops::Value& value) {
    return value.kind() == ops::ValueKind::kTensorList &&
           value.tensor_list().size() > kMaxTensors / 2;
  });
}

void TraceRecorder::record(const PreparedCall& call) {
  materialize_trace();
  const Trace::Lengths before = trace_.lengths();
  const bool are_unallocated = std::ranges::all_of(
      call.outputs, [](const Tensor& output) { return is_unallocated(*output.storage()); });
  OpRecord record{};
  record.op = &call.op;
  record.device = call.device;
  record.first_id = static_cast<uint32_t>(before.tensor_ids);
  record.first_argument = static_cast<uint32_t>(before.arguments);
  if (call.pointwise != nullptr) {
    record_pointwise(call, record);
    trace_.params.push_back(call.pointwise->params);
  } else {
    record_kernel(call, record);
    trace_.params.emplace_back();
  }
  record.argument_count = static_cast<uint16_t>(trace_.arguments.size() - before.arguments);
  const bool is_new = record.writes == Writes::kNew;
  if (trace_.default_dtype != default_dtype() || (is_new && !are_unallocated)) {
    record.writes = Writes::kOther;
  }
  trace_.ops.push_back(record);
  matched_ = trace_.lengths();
  if (predicted_ != nullptr && !trace_.agrees_since(before, *predicted_)) predicted_ = nullptr;
  note_op();
}

void TraceRecorder::record_kernel(const PreparedCall& call, OpRecord& record) {
  const bool varies = takes_numbers_at_run_time(call.op);
  for (const ops::Value& value : call.args) add_argument(value, varies);
  record.operand_count = static_cast<uint32_t>(trace_.tensor_ids.size() - record.first_id);
  call.each_written([&](const Tensor& tensor) { trace_.tensor_ids.push_back(add_write(tensor)); });
  record.output_count =
      static_cast<uint16_t>(trace_.tensor_ids.size() - record.first_id - record.operand_count);
  // Otherwise its result may depend on defaults, which change.
  const bool is_determined = record.operand_count != 0 || names_device(call.args);
  record.writes = is_determined ? call.writes : Writes::kOther;
}

void TraceRecorder::record_pointwise(const PreparedCall& call, OpRecord& record) {
  const ops::PointwiseCall& resolved = *call.pointwise;
  record.is_pointwise = 1;
  record.function = resolved.function;
  record.compute = resolved.compute;
  record.result = resolved.result;
  record.unrounded = resolved.unrounded;
  record.operand_count = static_cast<uint32_t>(resolved.count);
  record.output_count = 1;
  for (int i = 0; i < resolved.count; ++i) {
    const Tensor& operand = *resolved.operands[i];
    trace_.tensor_ids.push_back(is_number(operand) ? add_number(operand) : add_read(operand));
  }
  const bool is_determined =
      call.writes != Writes::kOther && add_pointwise_arguments(call, record.first_id);
  record.writes = is_determined ? call.writes : Writes::kOther;
  trace_.tensor_ids.push_back(add_write(call.outputs[0]));
}

// Tensors are the ids of operands; numbers are not part of the key, nor are lists of them that are
// the op's params. False: an argument is none of these.
bool TraceRecorder::add_pointwise_arguments(const PreparedCall& call, uint32_t first_id) {
  for (const ops::Value& value : call.args) {
    const EncodedArgument encoded = encode(value);
    Argument argument = encoded.argument;
    uint64_t bits = 0;
    if (argument.is_tensor()) {
      const TensorList list = value.kind() == ops::ValueKind::kTensor
                                  ? TensorList(std::span(&value.tensor(), 1))
                                  : value.tensor_list();
      const std::span operands(call.pointwise->operands, size_t(call.pointwise->count));
      const auto found =
          std::ranges::search(operands, list, {}, {}, [](const Tensor& tensor) { return &tensor; });
      if (found.size() != list.size() || list.empty()) return false;
      argument.first = first_id + static_cast<uint32_t>(found.begin() - operands.begin());
      argument.length = static_cast<uint32_t>(list.size());
    } else if (value.kind() == ops::ValueKind::kFloatList) {
      if (!are_params(value.float_list(), call.pointwise->params)) return false;
      argument.is_params = 1;
    } else if (!encoded.list.empty()) {
      return false;
    } else {
      bits = std::exchange(argument.bits, 0);
    }
    trace_.arguments.push_back(argument);
    trace_.param_bits.push_back(bits);
  }
  return true;
}

void TraceRecorder::add_argument(const ops::Value& value, bool varies) {
  Argument argument;
  uint64_t bits = 0;
  if (value.kind() == ops::ValueKind::kTensor || value.kind() == ops::ValueKind::kTensorList) {
    argument = encode(value).argument;
    argument.first = static_cast<uint32_t>(trace_.tensor_ids.size());
    const TensorList list = value.kind() == ops::ValueKind::kTensor
                                ? TensorList(std::span(&value.tensor(), 1))
                                : value.tensor_list();
    argument.length = static_cast<uint32_t>(list.size());
    for (const Tensor& tensor : list) {
      trace_.tensor_ids.push_back(tensor.defined() ? add_read(tensor) : kNoTensor);
    }
  } else {
    argument = add_to(trace_.payload, encode(value));
    if (varies && is_run_time_number(value.kind())) bits = std::exchange(argument.bits, 0);
    needs_flush_ |= value.kind() == ops::ValueKind::kGenerator;  // no reference keeps it alive
  }
  trace_.arguments.push_back(argument);
  trace_.param_bits.push_back(bits);
}

void TraceRecorder::note_op() {
  needs_flush_ |= matched_.tensors > kMaxTensors;
  if (MT_UNLIKELY(unchecked_bytes_ >= kMemoryLimit)) {
    unchecked_bytes_ = 0;
    over_memory_limit_ = exceeds_memory_limit();
  }
}

bool TraceRecorder::exceeds_memory_limit() const {
  size_t bytes = 0;
  for (const Held& held : held_) {
    if (!held.is_unallocated && held.storage->use_count() == 1) bytes += held.storage->size_bytes();
  }
  return bytes >= kMemoryLimit;
}

uint32_t TraceRecorder::hold(StorageImpl& storage) {
  const auto index = static_cast<uint32_t>(held_.size());
  const bool unallocated = is_unallocated(storage);
  storage.retain();
  held_.push_back({&storage, 0, unallocated, false, false});
  if (unallocated) {
    unallocated_bytes_ += storage.size_bytes();
  } else {
    count_external(storage, index);
  }
  return index;
}

void TraceRecorder::count_external(StorageImpl& storage, uint32_t index) {
  external_.insert(&storage, index);
  unchecked_bytes_ += storage.size_bytes();
}

// One that has bytes: as hold() and note_read().
void TraceRecorder::hold_to_read(StorageImpl& storage) {
  const auto index = static_cast<uint32_t>(held_.size());
  storage.retain_reader();
  held_.push_back({&storage, 0, false, false, true});
  count_external(storage, index);
  needs_flush_ |= storage.is_exposed();
}

// The id of a tensor, as it looks now.
uint32_t TraceRecorder::add_tensor(const Tensor& tensor) {
  TensorImpl& impl = *tensor.impl();
  if (const TraceMark mark(impl.trace_mark()); mark.epoch() == epoch_) return mark.id();
  StorageImpl& storage = *impl.storage;
  TensorRecord record{};
  if (storage.pending() == &work_) {
    record.storage = storage.pending_id();
  } else if (const uint32_t* const known = external_.find(&storage)) {
    record.storage = *known;
  } else {
    trace_.storages.push_back({storage.size_bytes(), storage.device(), is_unallocated(storage), 0});
    record.storage = hold(storage);
  }
  record.first_dim = static_cast<uint32_t>(trace_.dims.size());
  record.offset = impl.offset;
  record.rank = static_cast<uint32_t>(impl.sizes.size());
  record.dtype = impl.dtype;
  record.is_contiguous = impl.is_contiguous;
  record.is_wrapped_number = impl.is_wrapped_number;
  trace_.dims.insert(trace_.dims.end(), impl.sizes.begin(), impl.sizes.end());
  trace_.dims.insert(trace_.dims.end(), impl.strides.begin(), impl.strides.end());
  const auto id = static_cast<uint32_t>(trace_.tensors.size());
  trace_.tensors.push_back(record);
  impl.set_trace_mark(TraceMark(epoch_, id).bits());
  return id;
}

uint32_t TraceRecorder::add_read(const Tensor& tensor) {
  const uint32_t id = add_tensor(tensor);
  note_read(held_[trace_.tensors[id].storage]);
  return id;
}

void TraceRecorder::note_read(Held& held) {
  if (held.is_written || held.is_read) return;
  held.is_read = true;
  held.storage->add_reader();
  needs_flush_ |= held.storage->is_exposed();
}

uint32_t TraceRecorder::add_write(const Tensor& tensor) {
  const uint32_t id = add_tensor(tensor);
  note_write(trace_.tensors[id].storage, trace_.ops.size());
  return id;
}

void TraceRecorder::note_write(uint32_t storage, size_t op) {
  Held& held = held_[storage];
  held.last_write = static_cast<uint32_t>(op);
  if (held.is_written) return;
  held.is_written = true;
  held.storage->set_pending(&work_, storage);
  needs_flush_ |= held.storage->is_exposed();
}

// A Python number is part of the call: its value now, and no storage to hold.
uint32_t TraceRecorder::add_number(const Tensor& tensor) {
  TensorRecord record{};
  record.storage = kNumberStorage;
  record.offset = static_cast<int64_t>(trace_.numbers.size());
  record.first_dim = static_cast<uint32_t>(trace_.dims.size());
  record.dtype = tensor.dtype();
  record.is_contiguous = 1;
  record.is_wrapped_number = 1;
  trace_.numbers.push_back(number_bits(tensor));
  trace_.tensors.push_back(record);
  return static_cast<uint32_t>(trace_.tensors.size() - 1);
}

bool TraceRecorder::reads(const StorageImpl& storage) const {
  const uint32_t* const index = external_.find(&storage);
  return index != nullptr && held_[*index].is_read;
}

void TraceRecorder::list_storages(std::vector<StorageImpl*>& storages,
                                  std::vector<uint8_t>& visible) const {
  storages.clear();
  visible.clear();
  storages.reserve(held_.size());
  visible.reserve(held_.size());
  for (const Held& held : held_) {
    storages.push_back(held.storage);
    visible.push_back(!held.is_unallocated || held.storage->use_count() > 1);
  }
}

void TraceRecorder::finish(size_t done, const std::exception_ptr& error) noexcept {
  for (const Held& held : held_) {
    StorageImpl& storage = *held.storage;
    if (held.is_written) {
      if (MT_LIKELY(error == nullptr || held.last_write < done)) {
        storage.set_pending(nullptr);
      } else {
        if (held.is_unallocated) storage.release_bytes();
        FailedWork::instance().add(storage, error);
      }
    }
    if (held.is_read ? storage.drop_reader() : storage.drop()) StorageImpl::destroy(&storage);
  }
  held_.clear();
  external_.clear();
  trace_.clear();
  predicted_ = nullptr;
  matched_ = {};
  unchecked_bytes_ = unallocated_bytes_ = 0;
  needs_flush_ = over_memory_limit_ = false;
  epoch_ = 0;
}

}  // namespace mindtorch::dispatch
