#include "mindtorch/dispatch/record/pipeline.h"

#include <algorithm>
#include <utility>

#include "mindtorch/dispatch/execute/launch.h"
#include "mindtorch/dispatch/record/op_queues.h"
#include "mindtorch/dispatch/record/pipeline_timer.h"
#include "mindtorch/driver/device_row.h"
#include "mindtorch/runtime/hooks.h"

namespace mindtorch::dispatch {
namespace {

// How many ops the largest trace of this thread's last block had.
constinit thread_local size_t t_last_trace __attribute__((tls_model("initial-exec"))) = SIZE_MAX;

constexpr size_t kFewOps = 64;  // no default flushes before

void before_sync(runtime::SyncPoint point) {
  if (Pipeline::current() == nullptr) return;
  if (point == runtime::SyncPoint::kSwitchStream) {
    try {
      Pipeline::flush_all("stream");
    } catch (...) {  // the error is stored on the tensors and rethrown on read
    }
  } else {
    Pipeline::flush_all("synchronize");
  }
}

bool flush_for_memory() { return OpQueues::instance().flush_all("memory", nullptr, false); }

void flush_readers(const StorageImpl&) noexcept {
  OpQueues::instance().flush_all("write", nullptr, true);
}

}  // namespace

void check(const PipelineConfig& config) {
  const auto positive = [](const char* name, const std::optional<int64_t>& value) {
    MT_CHECK(!value || *value > 0, ValueError, name, " must be positive, but got ", *value);
  };
  positive("max_ops", config.max_ops);
  positive("max_pending_bytes", config.max_pending_bytes);
  const auto not_negative = [](const char* name, const std::optional<int64_t>& value) {
    MT_CHECK(!value || *value >= 0, ValueError, name, " must not be negative, but got ", *value);
  };
  not_negative("max_wait_us", config.max_wait_us);
  not_negative("min_defer_ops", config.min_defer_ops);
  not_negative("adaptive_small_window_ops", config.adaptive_small_window_ops);
  not_negative("adaptive_min_defer_ops", config.adaptive_min_defer_ops);
}

void Pipeline::install_hooks() {
  runtime::hooks().before_sync.add(&before_sync);
  runtime::hooks().on_memory_pressure.add(&flush_for_memory);
  StorageImpl::flush_pending_readers = &flush_readers;
}

void Pipeline::leave_all() noexcept {
  while (!entries_.empty()) {
    try {
      leave();
    } catch (...) {  // the error is stored on the tensors and rethrown on read
    }
  }
}

void Pipeline::renew() noexcept {
  leave_all();
  flush_id_.store(0, std::memory_order_relaxed);
  last_reason_.store("", std::memory_order_relaxed);
  if (MT_LIKELY(!has_report_.load(std::memory_order_relaxed))) return;
  const std::scoped_lock lock(mutex_);
  last_error_.reset();
  last_ops_.clear();
  has_report_.store(false, std::memory_order_relaxed);
}

void Pipeline::enter() {
  MT_CHECK(entries_.empty() || entries_.back()->thread == std::this_thread::get_id(), RuntimeError,
           "this pipeline is in use by another thread");
  // Random numbers are drawn in the order of the program.
  if (Pipeline* const outer = current();
      outer != nullptr && outer != this &&
      outer->queue_.load(std::memory_order_relaxed)->has_random()) {
    outer->flush("nested");
  }
  if (entries_.empty()) {
    recorded_ = 0;
    largest_trace_ = 0;
    run_eagerly_ = config_.min_defer_ops.value_or(0) - 1;
    if (config_.adaptive_defer && !config_.min_defer_ops &&
        t_last_trace <= static_cast<size_t>(config_.adaptive_small_window_ops)) {
      run_eagerly_ = config_.adaptive_min_defer_ops - 1;
    }
    has_no_limits_ =
        run_eagerly_ <= 0 && !config_.max_ops && !config_.max_pending_bytes && !config_.max_wait_us;
    OpQueue& queue = OpQueues::instance().attach(*this);
    queue.churn().begin_block();
    queue_.store(&queue, std::memory_order_relaxed);
  }
  entries_.push_back(enter_executor(*this));
}

void Pipeline::leave() {
  if (entries_.empty()) return;
  leave_executor(*entries_.back());
  entries_.pop_back();
  innermost_executor();  // frees entries that are left, where this is their thread
  std::exception_ptr error;
  if (MT_LIKELY(pending_count() == 0)) {
    note_reason("context_exit");
  } else {
    error = flush_queue("context_exit");
  }
  if (entries_.empty()) {
    OpQueue& queue = *queue_.load(std::memory_order_relaxed);
    queue_.store(nullptr, std::memory_order_relaxed);
    if (config_.max_wait_us) PipelineTimer::instance().forget(queue);
    queue.detach();
    t_last_trace = largest_trace_;
  }
  if (error != nullptr) std::rethrow_exception(error);
}

Pipeline* Pipeline::current() noexcept {
  const ExecutorEntry* const entry = innermost_executor();
  return entry == nullptr ? nullptr
                          : static_cast<Pipeline*>(entry->executor.load(std::memory_order_acquire));
}

Tensor Pipeline::make_output(const ops::TensorSpec& spec) {
  const int64_t elements = numel(spec.sizes);
  ShapeChurn& churn = queue_.load(std::memory_order_relaxed)->churn();
  if (MT_UNLIKELY(churn.is_immediate())) churn.note_result(elements * size_bytes(spec.dtype));
  if (MT_UNLIKELY(spec.device.is_meta() || elements == 0 || churn.is_immediate())) {
    return ImmediateExecutor::instance().make_output(spec);
  }
  return Tensor::unallocated(spec.sizes, spec.strides ? IntList(*spec.strides) : IntList(),
                             spec.dtype, spec.device);
}

// What another queue writes must be there before this one can use it.
void Pipeline::prepare_read(const Tensor& tensor) const {
  const PendingWork* const work = tensor.storage()->pending();
  if (MT_UNLIKELY(work != nullptr && work != queue_.load(std::memory_order_relaxed))) {
    tensor.storage()->data();
  }
}

// Other queues that read it must run first. This one reads it in the order of its ops.
void Pipeline::prepare_write(const Tensor& tensor) const {
  prepare_read(tensor);
  const StorageImpl& storage = *tensor.storage();
  if (MT_LIKELY(storage.pending_readers() == 0)) return;
  OpQueue& own = *queue_.load(std::memory_order_relaxed);
  if (storage.pending_readers() > (own.reads(storage) ? 1u : 0u)) {
    OpQueues::instance().flush_all("write", &own, true);
  }
}

// Inline: before most ops there is nothing to do.
[[gnu::always_inline]] inline void Pipeline::before_record(OpQueue& queue) {
  if (MT_LIKELY(!queue.may_start() || !has_no_limits_)) return;
  if (!config_.debug_enabled && queue.can_start()) flush(OpQueue::kStart);
}

// Inline: after most ops there is nothing to do.
[[gnu::always_inline]] inline void Pipeline::after_record(const OpQueue::State& state,
                                                          Device device) {
  if (MT_LIKELY(has_no_limits_ && state.ops < kFewOps && !state.needs_flush &&
                !state.over_memory_limit)) {
    return;
  }
  flush_at_limits(state, device);
}

void Pipeline::run(const PreparedCall& call) {
  OpQueue& queue = *queue_.load(std::memory_order_relaxed);
  if (MT_UNLIKELY(queue.churn().is_immediate() &&
                  queue.churn().continues_with(call.op, call.args))) {
    const NoRecordGuard no_record;
    return ImmediateExecutor::instance().run(call);
  }
  for (const ops::Value& value : call.args) {
    if (value.kind() == ops::ValueKind::kTensor) {
      prepare_read(value.tensor());
    } else if (value.kind() == ops::ValueKind::kTensorList) {
      for (const Tensor& tensor : value.tensor_list()) {
        if (tensor.defined()) prepare_read(tensor);
      }
    }
  }
  call.each_written([&](const Tensor& tensor) { prepare_write(tensor); });
  if (MT_UNLIKELY(TraceRecorder::is_too_long(call.args))) return run_now(call);
  before_record(queue);
  OpQueue::State state;
  queue.record(call, state);
  after_record(state, call.device);
}

// While ops are executed at once. Another op than predicted may be one that is never recorded:
// run() decides.
[[gnu::always_inline]] inline Replay run_as_predicted(OpQueue& queue,
                                                      const ops::Op& op,
                                                      ops::Args args) {
  return queue.churn().passes(op, args) ? Replay::kRunNow : Replay::kNo;
}

Replay Pipeline::replay(const ops::Op& op, ops::Args args, ops::Outputs& outputs) {
  OpQueue& queue = *queue_.load(std::memory_order_relaxed);
  if (queue.churn().is_immediate()) return run_as_predicted(queue, op, args);
  before_record(queue);
  OpQueue::State state;
  if (!queue.match(op, args, outputs, state)) return Replay::kNo;
  after_record(state, outputs.tensors[0].device());
  return Replay::kDone;
}

Replay Pipeline::replay_in_place(const ops::Op& op, ops::Args args, uint64_t written) {
  OpQueue& queue = *queue_.load(std::memory_order_relaxed);
  if (queue.churn().is_immediate()) return run_as_predicted(queue, op, args);
  before_record(queue);
  ops::each_tensor(written, args, [&](const Tensor& tensor) { prepare_write(tensor); });
  OpQueue::State state;
  if (!queue.match_in_place(op, args, state)) return Replay::kNo;
  after_record(state, first_tensor(args).device());
  return Replay::kDone;
}

void Pipeline::flush_at_limits(const OpQueue::State& state, Device device) {
  if (MT_UNLIKELY(state.needs_flush)) return flush("exposed");
  if (MT_UNLIKELY(state.over_memory_limit)) return flush("bytes");
  if (MT_UNLIKELY(++recorded_ <= run_eagerly_)) return flush("min_defer_ops");
  const auto size = static_cast<int64_t>(state.ops);
  if (MT_UNLIKELY(size >= config_.max_ops.value_or(device_row(device.type).window_ops)))
    return flush("ops");
  if (MT_UNLIKELY(config_.max_pending_bytes &&
                  static_cast<int64_t>(state.unallocated_bytes) >= *config_.max_pending_bytes)) {
    return flush("bytes");
  }
  if (MT_UNLIKELY(config_.max_wait_us.has_value() && size == 1)) {
    PipelineTimer::instance().watch(*queue_.load(std::memory_order_relaxed),
                                    std::chrono::microseconds(*config_.max_wait_us));
  }
}

void Pipeline::flush(FlushReason reason) {
  if (const std::exception_ptr error = flush_queue(reason)) std::rethrow_exception(error);
}

std::exception_ptr Pipeline::flush_queue(FlushReason reason) noexcept {
  OpQueue* const queue = queue_.load(std::memory_order_relaxed);
  if (queue != nullptr) {
    const OpQueue::Flushed flushed = queue->flush(reason, this);
    if (flushed.has_run) return flushed.error;
  }
  note_reason(reason);
  return nullptr;
}

void Pipeline::flush_all(FlushReason reason) {
  SmallVector<Pipeline*, 4> entered;
  for (const ExecutorEntry* entry = innermost_executor(); entry != nullptr; entry = entry->outer) {
    if (Executor* const executor = entry->executor.load(std::memory_order_acquire)) {
      entered.push_back(static_cast<Pipeline*>(executor));
    }
  }
  std::exception_ptr first;
  while (!entered.empty()) {
    const std::exception_ptr error = entered.back()->flush_queue(reason);
    if (first == nullptr) first = error;
    entered.pop_back();
  }
  if (first != nullptr) std::rethrow_exception(first);
}

// An op that cannot be recorded.
void Pipeline::run_now(const PreparedCall& call) {
  flush("ops");
  for (const Tensor& output : call.outputs) output.storage()->allocate_now();
  const NoRecordGuard no_record;
  ImmediateExecutor::instance().run(call);
}

void Pipeline::note_reason(FlushReason reason) noexcept {
  if (MT_LIKELY(reason.is_literal)) {
    last_reason_.store(reason.text.data(), std::memory_order_relaxed);
    return;
  }
  const std::scoped_lock lock(mutex_);
  last_text_ = reason.text;
  last_reason_.store(nullptr, std::memory_order_relaxed);
}

// One flush at a time: the queue's lock is held.
void Pipeline::on_done(OpQueue& queue, FlushReason reason, const FlushFailure* failure) {
  if (MT_UNLIKELY(failure != nullptr || config_.debug_enabled ||
                  has_report_.load(std::memory_order_relaxed))) {
    report(queue, failure);
  }
  note_reason(reason);
  flush_id_.store(flush_id() + 1, std::memory_order_relaxed);
  largest_trace_ = std::max(largest_trace_, queue.size());
}

void Pipeline::report(OpQueue& queue, const FlushFailure* failure) {
  // Without the lock: the texts of call sites need the GIL.
  std::optional<PipelineError> error;
  std::vector<OpReport> ops;
  if (failure != nullptr) {
    error = describe_error(queue.trace(), failure->op, queue.sites()[failure->op],
                           failure->is_plan ? "plan" : "submit", flush_id() + 1, failure->error);
  }
  if (config_.debug_enabled) ops = describe_ops(queue.trace(), queue.sites());
  const std::scoped_lock lock(mutex_);
  has_report_.store(error.has_value() || !ops.empty(), std::memory_order_relaxed);
  last_error_ = std::move(error);
  last_ops_ = std::move(ops);
}

size_t Pipeline::pending_count() const {
  const OpQueue* const queue = queue_.load(std::memory_order_relaxed);
  return queue == nullptr ? 0 : queue->size();
}
size_t Pipeline::last_launches() const {
  OpQueue* const queue = queue_.load(std::memory_order_relaxed);
  return queue == nullptr ? 0 : queue->last_launches();
}
uint64_t Pipeline::plans_made() const {
  OpQueue* const queue = queue_.load(std::memory_order_relaxed);
  return queue == nullptr ? 0 : queue->plans_made();
}

std::string Pipeline::last_flush_reason() const {
  if (const char* const literal = last_reason_.load(std::memory_order_relaxed)) return literal;
  const std::scoped_lock lock(mutex_);
  return last_text_;
}
std::optional<PipelineError> Pipeline::last_error() const {
  const std::scoped_lock lock(mutex_);
  return last_error_;
}
std::vector<OpReport> Pipeline::pending_ops() const {
  OpQueue* const queue = queue_.load(std::memory_order_relaxed);
  if (queue == nullptr) return {};
  return queue->visit_ops([](const Trace& trace, std::span<const CallSite> sites) {
    return describe_ops(trace, sites);
  });
}
std::vector<OpReport> Pipeline::last_ops() const {
  const std::scoped_lock lock(mutex_);
  return last_ops_;
}

}  // namespace mindtorch::dispatch
