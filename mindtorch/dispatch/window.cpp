#include "mindtorch/dispatch/window.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "mindtorch/dispatch/failed_work.h"
#include "mindtorch/dispatch/pipeline.h"
#include "mindtorch/dispatch/wait_at_end.h"
#include "mindtorch/dispatch/window_plan.h"
#include "mindtorch/dispatch/window_values.h"
#include "mindtorch/runtime/accelerator.h"

namespace mindtorch::dispatch {
namespace {

// So many tensors that the next op might not find numbers.
constexpr size_t kFull = kMostTensors;
// What eager mode would have given back. Not worth a look below.
constexpr size_t kMuchMemory = size_t{64} << 20;

uint64_t next_epoch() {
  static std::atomic<uint64_t> epoch{0};
  return epoch.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

CallSiteHooks& call_site_hooks() noexcept {
  static CallSiteHooks hooks;
  return hooks;
}

Window::Lock Window::wait_for_lock_or_throw() {
  Lock lock = wait_for_lock();
  MT_CHECK(lock.owns_lock(), RuntimeError,
           "the program ends, and this pipeline is held by a thread that has been stopped");
  return lock;
}

Window::Lock Window::wait_for_lock() noexcept {
  Lock lock(mutex_, std::try_to_lock);
  if (MT_LIKELY(lock.owns_lock())) return lock;
  const CallSiteHooks& hooks = call_site_hooks();
  if (hooks.is_ending != nullptr && hooks.is_ending()) {
    wait_at_end([&] { return lock.try_lock(); });
    return lock;
  }
  // Who runs the window may need what this thread holds of the language.
  void* const state = hooks.let_others_run == nullptr ? nullptr : hooks.let_others_run();
  lock.lock();
  // Whoever waits for this lock has let go of the language, as here: waiting for it is safe.
  if (state != nullptr) hooks.come_back(state);
  return lock;
}

uint32_t Window::hold(StorageImpl& storage) {
  const auto number = static_cast<uint32_t>(held_.size());
  const bool promised = is_promised(storage);
  storage.retain();
  held_.push_back({&storage, 0, promised, false, false});
  if (promised) {
    pending_bytes_.store(pending_bytes() + storage.size_bytes(), std::memory_order_relaxed);
  } else {
    outside_.insert(&storage, number);
    unchecked_bytes_ += storage.size_bytes();
  }
  return number;
}

bool Window::holds_much_alone() const {
  size_t bytes = 0;
  for (const Held& held : held_) {
    if (!held.is_promised && held.storage->use_count() == 1) bytes += held.storage->size_bytes();
  }
  return bytes >= kMuchMemory;
}

// The number of a tensor, as it looks now.
uint32_t Window::link(const Tensor& tensor) {
  TensorImpl& impl = *tensor.impl();
  const uint64_t mark = impl.recorded.load(std::memory_order_relaxed);
  if (mark >> kNumberBits == epoch()) return static_cast<uint32_t>(mark & kNumberMask);
  StorageImpl& storage = *impl.storage;
  TensorRecord record{};
  if (storage.pending() == this) {
    record.storage = storage.pending_number;
  } else {
    const uint32_t* const known = outside_.find(&storage);
    if (known == nullptr) {
      recording_.storages.push_back(
          {storage.size_bytes(), storage.device(), is_promised(storage), 0});
    }
    record.storage = known != nullptr ? *known : hold(storage);
  }
  record.first_dim = static_cast<uint32_t>(recording_.dims.size());
  record.offset = impl.offset;
  record.rank = static_cast<uint32_t>(impl.sizes.size());
  record.dtype = impl.dtype;
  record.is_contiguous = impl.is_contiguous;
  record.is_wrapped_number = impl.is_wrapped_number;
  recording_.dims.insert(recording_.dims.end(), impl.sizes.begin(), impl.sizes.end());
  recording_.dims.insert(recording_.dims.end(), impl.strides.begin(), impl.strides.end());
  const auto number = static_cast<uint32_t>(recording_.tensors.size());
  recording_.tensors.push_back(record);
  impl.recorded.store(epoch() << kNumberBits | number, std::memory_order_relaxed);
  return number;
}

uint32_t Window::link_read(const Tensor& tensor) {
  const uint32_t number = link(tensor);
  count_read(held_[recording_.tensors[number].storage]);
  return number;
}

void Window::count_read(Held& held) {
  if (held.is_written || held.is_read) return;
  held.is_read = true;
  held.storage->pending_reads.fetch_add(1, std::memory_order_relaxed);
  if (held.storage->is_exposed()) must_run_ = true;
}

uint32_t Window::link_write(const Tensor& tensor) {
  const uint32_t number = link(tensor);
  note_write(recording_.tensors[number].storage, recording_.ops.size());
  return number;
}

void Window::note_write(uint32_t storage, size_t op) {
  Held& held = held_[storage];
  held.last_write = static_cast<uint32_t>(op);
  if (held.is_written) return;
  held.is_written = true;
  held.storage->pending_number = storage;
  held.storage->set_pending(this);
  if (held.storage->is_exposed()) must_run_ = true;
}

// A Python number is part of the call: its value now, and no storage to hold.
uint32_t Window::link_number(const Tensor& tensor) {
  TensorRecord record{};
  record.storage = kNumberStorage;
  record.offset = static_cast<int64_t>(recording_.numbers.size());
  record.first_dim = static_cast<uint32_t>(recording_.dims.size());
  record.dtype = tensor.dtype();
  record.is_contiguous = 1;
  record.is_wrapped_number = 1;
  recording_.numbers.push_back(number_bits(tensor));
  recording_.tensors.push_back(record);
  return static_cast<uint32_t>(recording_.tensors.size() - 1);
}

void Window::keep(const ops::Value& value) {
  ValueRecord kept{};
  kept.kind = value.kind();
  const auto keep_list = [&](const auto& list, auto&& to_int) {
    kept.first = static_cast<uint32_t>(recording_.dims.size());
    kept.count = static_cast<uint32_t>(list.size());
    for (const auto& each : list) recording_.dims.push_back(to_int(each));
  };
  switch (value.kind()) {
    case ops::ValueKind::kNone:
      break;
    case ops::ValueKind::kTensor:
      kept.first = static_cast<uint32_t>(recording_.links.size());
      kept.count = 1;
      recording_.links.push_back(link_read(value.tensor()));
      break;
    case ops::ValueKind::kTensorList:
      kept.first = static_cast<uint32_t>(recording_.links.size());
      kept.count = static_cast<uint32_t>(value.tensor_list().size());
      for (const Tensor& tensor : value.tensor_list()) {
        recording_.links.push_back(tensor.defined() ? link_read(tensor) : kNoTensor);
      }
      break;
    case ops::ValueKind::kScalar:
      kept.scalar_kind = static_cast<uint8_t>(value.scalar().kind());
      kept.bits = scalar_bits(value.scalar());
      break;
    case ops::ValueKind::kInt:
      kept.bits = static_cast<uint64_t>(value.to_int());
      break;
    case ops::ValueKind::kFloat:
      kept.bits = bits_of(value.to_float());
      break;
    case ops::ValueKind::kBool:
      kept.bits = value.to_bool();
      break;
    case ops::ValueKind::kIntList:
      keep_list(value.int_list(), [](int64_t each) { return each; });
      break;
    case ops::ValueKind::kFloatList:
      keep_list(value.float_list(), [](double each) { return std::bit_cast<int64_t>(each); });
      break;
    case ops::ValueKind::kString:
      keep_list(value.string(), [](char each) { return static_cast<int64_t>(each); });
      break;
    case ops::ValueKind::kDType:
      kept.bits = static_cast<uint64_t>(value.dtype());
      break;
    case ops::ValueKind::kDevice:
      kept.bits = static_cast<uint64_t>(value.device().type);
      kept.first = static_cast<uint8_t>(value.device().index);
      break;
    case ops::ValueKind::kMemoryFormat:
      kept.bits = static_cast<uint64_t>(value.memory_format());
      break;
    case ops::ValueKind::kGenerator:
      kept.bits = reinterpret_cast<uintptr_t>(value.generator());
      must_run_ = true;  // nobody keeps a generator for us
      break;
  }
  recording_.values.push_back(kept);
  recording_.scalars.push_back(0);
}

// The first op of a window is about to be recorded.
void Window::open() {
  if (size() != 0) return;
  epoch_.store(next_epoch(), std::memory_order_relaxed);
  recorder_ = std::this_thread::get_id();
  expected_ = plans_.expected();
  followed_ = {};
  recording_.default_dtype = default_dtype();
}

// Writes down what was only followed so far.
void Window::catch_up() {
  if (expected_ != nullptr) recording_.append(*expected_, followed_);
}

OpRecord Window::begin(const ops::Op& op, Device device) {
  OpRecord record{};
  record.op = &op;
  record.device = device;
  record.first_link = static_cast<uint32_t>(recording_.links.size());
  record.first_value = static_cast<uint32_t>(recording_.values.size());
  return record;
}

void Window::note_site() {
  CallSite site;
  const CallSiteHooks& hooks = call_site_hooks();
  if (hooks.capture != nullptr) site = hooks.capture();
  if (site.code != nullptr && (codes_.empty() || codes_.back() != site.code)) {
    codes_.push_back(site.code);
    hooks.retain(site.code);
  }
  sites_.push_back(site);
}

// Streams do not change while a window is open: SyncPoint::kSwitchStream.
void Window::note_stream(Device device) {
  for (const runtime::Stream& stream : streams_) {
    if (stream.device() == device.index) return;
  }
  streams_.push_back(
      runtime::current_stream(runtime::runtime_for(name(device.type), device.index)));
}

void Window::end(const OpRecord& record,
                 const ops::PointwiseParams& params,
                 const Recording::Lengths& before) {
  recording_.ops.push_back(record);
  recording_.params.push_back(params);
  followed_ = recording_.lengths();
  if (expected_ != nullptr && !recording_.agrees_since(before, *expected_)) expected_ = nullptr;
  note_op(*record.op, record.device);
}

void Window::note_op(const ops::Op& op, Device device) {
  note_site();
  if (op.random) has_random_.store(true, std::memory_order_relaxed);
  if (!device.is_cpu()) note_stream(device);
  size_.store(followed_.ops, std::memory_order_relaxed);
  if (MT_UNLIKELY(followed_.tensors > kFull)) must_run_ = true;
  if (MT_UNLIKELY(unchecked_bytes_ >= kMuchMemory)) {
    unchecked_bytes_ = 0;
    holds_much_.store(holds_much_alone(), std::memory_order_relaxed);
  }
}

void Window::record(const ops::Op& op,
                    Device device,
                    ops::Args args,
                    std::span<const Tensor> outputs,
                    bool is_fresh) {
  const Lock lock = this->lock();
  open();
  catch_up();
  const Recording::Lengths before = recording_.lengths();
  OpRecord record = begin(op, device);
  record.value_count = static_cast<uint16_t>(args.size());
  for (const ops::Value& value : args) keep(value);
  record.operand_count = static_cast<uint32_t>(recording_.links.size() - record.first_link);
  if (op.kind == ops::OpKind::kMutation) {
    recording_.links.push_back(link_write(args[0].tensor()));
  }
  for (const Tensor& output : outputs) recording_.links.push_back(link_write(output));
  record.output_count =
      static_cast<uint16_t>(recording_.links.size() - record.first_link - record.operand_count);
  // Without tensors to go by, what it makes depends on defaults that may change.
  const bool makes_outputs = is_fresh && record.operand_count != 0 && has_first_default() &&
                             std::ranges::all_of(outputs, [](const Tensor& output) {
                               return is_promised(*output.storage());
                             });
  record.writes = makes_outputs ? Writes::kNew : Writes::kOther;
  end(record, {}, before);
}

void Window::record_pointwise(const ops::Op& op,
                              const ops::PointwiseCall& call,
                              ops::Args args,
                              const Tensor& out,
                              Writes writes) {
  const Lock lock = this->lock();
  open();
  catch_up();
  const Recording::Lengths before = recording_.lengths();
  OpRecord record = begin(op, out.device());
  record.is_pointwise = 1;
  record.function = call.function;
  record.compute = call.compute;
  record.result = call.result;
  record.unrounded = call.unrounded;
  record.operand_count = static_cast<uint32_t>(call.count);
  record.output_count = 1;
  for (int i = 0; i < call.count; ++i) {
    const Tensor& operand = *call.operands[i];
    recording_.links.push_back(is_number(operand) ? link_number(operand) : link_read(operand));
  }
  const bool knows_all = writes != Writes::kOther &&
                         keep_arguments(call, args, record.first_link) && has_first_default();
  record.writes = knows_all ? writes : Writes::kOther;
  record.value_count = static_cast<uint16_t>(recording_.values.size() - before.values);
  recording_.links.push_back(link_write(out));
  end(record, call.params, before);
}

// Tensors are kept as the links of operands. False: not all that the op was given is known.
bool Window::keep_arguments(const ops::PointwiseCall& call, ops::Args args, uint32_t first_link) {
  for (const ops::Value& value : args) {
    switch (value.kind()) {
      case ops::ValueKind::kTensor: {
        ValueRecord kept{};
        kept.kind = ops::ValueKind::kTensor;
        kept.count = 1;
        int operand = 0;
        while (operand < call.count && call.operands[operand] != &value.tensor()) ++operand;
        if (operand == call.count) return false;
        kept.first = first_link + static_cast<uint32_t>(operand);
        recording_.values.push_back(kept);
        recording_.scalars.push_back(0);
        break;
      }
      case ops::ValueKind::kNone:
      case ops::ValueKind::kScalar:
      case ops::ValueKind::kInt:
      case ops::ValueKind::kFloat:
      case ops::ValueKind::kBool:
        keep(value);
        recording_.scalars.back() = std::exchange(recording_.values.back().bits, 0);
        break;
      default:
        return false;
    }
  }
  return true;
}

bool Window::reads(const StorageImpl& storage) {
  const Lock lock = wait_for_lock();
  const uint32_t* const number = outside_.find(&storage);
  return number != nullptr && held_[*number].is_read;
}

bool Window::run(const Tell& tell, bool wait) noexcept {
  if (runner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return false;
  const Lock lock = wait ? wait_for_lock() : Lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || size() == 0) return false;
  runner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  const CallSiteHooks& hooks = call_site_hooks();
  void* state = nullptr;
  size_t done = 0;
  bool is_plan = false;
  std::unique_ptr<WindowError> failure;
  try {
    visible_.clear();
    storages_.clear();
    for (const Held& held : held_) {
      storages_.push_back(held.storage);
      visible_.push_back(!held.is_promised || held.storage->use_count() > 1);
    }
    is_plan = true;
    WindowPlan& plan = find_plan();
    is_plan = false;
    last_launches_ = plan.launches();
    if (plan.takes_long() && hooks.let_others_run != nullptr) state = hooks.let_others_run();
    // Another thread than the recorder may have other streams.
    std::vector<std::unique_ptr<runtime::StreamGuard>> guards;
    if (recorder_ != std::this_thread::get_id()) {
      for (const runtime::Stream& stream : streams_) {
        guards.push_back(std::make_unique<runtime::StreamGuard>(stream));
      }
    }
    plan.run(storages_, recording_, done);
    while (!guards.empty()) guards.pop_back();
  } catch (...) {
    failure = std::make_unique<WindowError>(std::current_exception(), done, is_plan);
  }
  if (state != nullptr) hooks.come_back(state);
  tell(failure.get());
  finish(done, failure == nullptr ? nullptr : failure->error);
  runner_.store({}, std::memory_order_relaxed);
  return true;
}

WindowPlan& Window::find_plan() {
  if (expected_ != nullptr && followed_ == expected_->lengths()) {
    if (WindowPlan* const plan = plans_.get_expected(visible_, recording_.params)) return *plan;
  }
  catch_up();
  expected_ = nullptr;  // may be dropped for the new one
  return plans_.get(recording_, visible_);
}

// The storages are pending no more, or throw the error: those that ops from `done` on write.
void Window::finish(size_t done, const std::exception_ptr& error) noexcept {
  for (const Held& held : held_) {
    StorageImpl& storage = *held.storage;
    if (held.is_read) storage.pending_reads.fetch_sub(1, std::memory_order_relaxed);
    if (held.is_written) {
      if (MT_LIKELY(error == nullptr || held.last_write < done)) {
        storage.set_pending(nullptr);
      } else {
        if (held.is_promised) storage.drop_bytes();
        FailedWork::instance().add(storage, error);
      }
    }
    Storage::adopt(&storage).reset();
  }
  if (!codes_.empty()) call_site_hooks().release(codes_);
  held_.clear();
  outside_.clear();
  recording_.clear();
  expected_ = nullptr;
  has_random_.store(false, std::memory_order_relaxed);
  holds_much_.store(false, std::memory_order_relaxed);
  unchecked_bytes_ = 0;
  sites_.clear();
  codes_.clear();
  epoch_.store(0, std::memory_order_relaxed);
  streams_.clear();
  size_.store(0, std::memory_order_relaxed);
  pending_bytes_.store(0, std::memory_order_relaxed);
  must_run_.store(false, std::memory_order_relaxed);
}

std::vector<OpReport> Window::describe_ops() {
  const Lock lock = this->lock();
  catch_up();
  return dispatch::describe_ops(*this);
}

uint64_t Window::plans_made() {
  const Lock lock = this->lock();
  return plans_.made();
}

size_t Window::last_launches() {
  const Lock lock = this->lock();
  return last_launches_;
}

void Window::materialize(StorageImpl& storage) {
  if (runner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return;
  Pipeline::run_window(*this, "read");
  // Named by something else now: work that failed, or a window of another thread.
  if (PendingWork* const work = storage.pending(); work != nullptr && work != this) {
    work->materialize(storage);
  }
}

}  // namespace mindtorch::dispatch
