#include "mindtorch/dispatch/record/op_queue.h"

#include <memory>

#include "mindtorch/dispatch/record/wait_during_finalization.h"
#include "mindtorch/profiler/recorder.h"
#include "mindtorch/runtime/host_wait.h"
#include "mindtorch/tensor/accelerators.h"

namespace mindtorch::dispatch {

OpQueue::Lock OpQueue::lock_or_throw() {
  Lock lock = wait_for_lock();
  MT_CHECK(lock.owns_lock(), RuntimeError,
           "the interpreter is finalizing, and a thread that was stopped holds this pipeline");
  return lock;
}

OpQueue::Lock OpQueue::wait_for_lock() noexcept {
  Lock lock(mutex_, std::try_to_lock);
  if (MT_LIKELY(lock.owns_lock())) return lock;
  const CallSiteHooks& hooks = call_site_hooks();
  if (hooks.is_finalizing != nullptr && hooks.is_finalizing()) {
    wait_during_finalization([&] { return lock.try_lock(); });
    return lock;
  }
  // The thread that holds the lock may need the GIL. Threads that wait for the lock have released
  // it, as here, so that taking it back under the lock cannot deadlock.
  const runtime::HostWait waiting;
  lock.lock();
  return lock;
}

bool OpQueue::try_attach(Owner& owner) {
  if (!mutex_.try_lock_briefly()) return false;
  const bool is_free = owner_ == nullptr;
  if (is_free) owner_ = &owner;
  mutex_.unlock_briefly();
  return is_free;
}

// The lock is taken in one of two ways, which the analysis cannot follow.
MT_UNCHECKED_LOCKS void OpQueue::detach() noexcept {
  const bool is_brief = mutex_.try_lock_briefly();
  const Lock lock = MT_LIKELY(is_brief) ? Lock() : wait_for_lock();
  owner_ = nullptr;
  if (MT_LIKELY(is_brief)) mutex_.unlock_briefly();
}

[[gnu::always_inline]] inline void OpQueue::open() {
  if (recorder_.size() != 0) return;
  generation_.store(generation() + 1, std::memory_order_relaxed);
  recording_thread_ = std::this_thread::get_id();
  opened_ns_ = MT_UNLIKELY(profiler::wants(profiler::kHost)) ? profiler::now_ns() : 0;
  const PlanRunner* const predicted = plans_.predicted();
  recorder_.begin(predicted == nullptr ? nullptr : &predicted->trace());
}

[[gnu::always_inline]] inline void OpQueue::note_call_site() {
  CallSite site;
  const CallSiteHooks& hooks = call_site_hooks();
  if (hooks.capture != nullptr) site = hooks.capture();
  if (site.code != nullptr && (codes_.empty() || codes_.back() != site.code)) {
    codes_.push_back(site.code);
    hooks.retain(site.code);
  }
  sites_.push_back(site);
}

// Streams do not change while ops are pending: SyncPoint::kSwitchStream.
void OpQueue::note_stream(Device device) {
  for (const runtime::Stream& stream : streams_) {
    if (stream.device() == device.index) return;
  }
  streams_.push_back(runtime::current_stream(runtime_of(device)));
}

[[gnu::always_inline]] inline void OpQueue::note_op(const ops::Op& op,
                                                    Device device,
                                                    State& state) {
  note_call_site();
  if (op.random) has_random_.store(true, std::memory_order_relaxed);
  if (device.is_accelerator()) note_stream(device);
  size_.store(recorder_.size(), std::memory_order_relaxed);
  state = {recorder_.size(), recorder_.unallocated_bytes(), recorder_.needs_flush(),
           recorder_.over_memory_limit()};
}

void OpQueue::record(const PreparedCall& call, State& state) {
  const RecordLock lock(*this);
  open();
  recorder_.record(call);
  note_op(call.op, call.device, state);
}

bool OpQueue::match(const ops::Op& op, ops::Args args, ops::Outputs& outputs, State& state) {
  const RecordLock lock(*this);
  open();
  if (!recorder_.match(op, args, outputs)) return false;
  note_op(op, outputs.tensors[0].device(), state);
  return true;
}

bool OpQueue::match_in_place(const ops::Op& op, ops::Args args, State& state) {
  const RecordLock lock(*this);
  open();
  if (!recorder_.match_in_place(op, args)) return false;
  note_op(op, first_tensor(args).device(), state);
  return true;
}

bool OpQueue::can_start() {
  const RecordLock lock(*this);
  const size_t ops = recorder_.size();
  if (streams_.empty() || !recorder_.agrees()) {  // only accelerators work meanwhile
    start_at_.store(SIZE_MAX, std::memory_order_relaxed);
    return false;
  }
  const auto is_visible = [&](uint32_t storage) { return recorder_.is_visible(storage); };
  if (plans_.predicted()->can_end_after(ops, is_visible)) return true;
  start_at_.store(ops + 1, std::memory_order_relaxed);
  return false;
}

// The device has the trace before to work on, or nothing.
void OpQueue::plan_start(std::string_view last_reason) noexcept {
  const bool is_busy = last_reason == kStart || last_reason == "ops";
  start_at_.store(is_busy ? SIZE_MAX : kFirstOps, std::memory_order_relaxed);
}

bool OpQueue::reads(const StorageImpl& storage) {
  const Lock lock = wait_for_lock();
  return recorder_.reads(storage);
}

OpQueue::Flushed OpQueue::flush(std::string_view reason, const Owner* of, bool wait) noexcept {
  if (size() == 0) return {};
  if (runner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return {};
  const Lock lock = wait ? wait_for_lock() : Lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || size() == 0 || (of != nullptr && owner_ != of)) return {};
  runner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  size_t done = 0;
  bool is_plan = false;
  std::unique_ptr<FlushFailure> failure;
  try {
    const NoRecordGuard no_record;
    if (MT_UNLIKELY(profiler::wants(profiler::kHost))) {
      execute_profiled(reason, done, is_plan);
    } else {
      execute(done, is_plan);
    }
  } catch (...) {
    failure = std::make_unique<FlushFailure>(std::current_exception(), done, is_plan);
  }
  if (owner_ != nullptr) owner_->on_done(*this, reason, failure.get());
  Flushed flushed{true, failure == nullptr ? nullptr : failure->error};
  if (MT_UNLIKELY(failure != nullptr)) churn_.forget();  // errors stay those of flushes
  clear(done, flushed.error);
  plan_start(reason);
  runner_.store({}, std::memory_order_relaxed);
  return flushed;
}

void OpQueue::execute(size_t& done, bool& is_plan) {
  recorder_.list_storages(storages_, visible_);
  is_plan = true;
  PlanRunner& plan = find_plan();
  is_plan = false;
  run(plan, done);
}

void OpQueue::execute_profiled(std::string_view reason, size_t& done, bool& is_plan) {
  using profiler::Kind;
  using profiler::Span;
  if (opened_ns_ != 0) profiler::note_range(Kind::kPipeline, "record", reason, opened_ns_);
  const Span flush(
      {.kind = Kind::kPipeline, .name = "flush", .detail = reason, .is_on_any_thread = true});
  recorder_.list_storages(storages_, visible_);
  is_plan = true;
  Span planning({.kind = Kind::kPipeline, .name = "plan", .is_on_any_thread = true});
  PlanRunner& plan = find_plan();
  planning.end();
  is_plan = false;
  const Span executing({.kind = Kind::kPipeline, .name = "execute", .is_on_any_thread = true});
  run(plan, done);
}

void OpQueue::run(PlanRunner& plan, size_t& done) {
  // Another thread than the recording one may have other streams.
  std::vector<std::unique_ptr<runtime::StreamGuard>> guards;
  if (recording_thread_ != std::this_thread::get_id()) {
    for (const runtime::Stream& stream : streams_) {
      guards.push_back(std::make_unique<runtime::StreamGuard>(stream));
    }
  }
  const runtime::HostWait waiting(plan.takes_long());
  plan.run(storages_, recorder_.recorded(), done);
  last_launches_ = plan.launches();
  while (!guards.empty()) guards.pop_back();  // in reverse order
}

PlanRunner& OpQueue::find_plan() {
  if (recorder_.is_predicted()) {
    if (PlanRunner* const plan = plans_.find_predicted(visible_, recorder_.recorded())) {
      churn_.note_plan(plan->trace(), sites_[0], !plans_.was_recent(),
                       recorder_.unallocated_bytes());
      return *plan;
    }
  }
  recorder_.forget_prediction();
  PlanRunner& plan = plans_.get(recorder_.recorded(), visible_);
  churn_.note_plan(plan.trace(), sites_[0], !plans_.was_recent(), recorder_.unallocated_bytes());
  return plan;
}

void OpQueue::clear(size_t done, const std::exception_ptr& error) noexcept {
  recorder_.finish(done, error);
  if (!codes_.empty()) call_site_hooks().release(codes_);
  sites_.clear();
  codes_.clear();
  streams_.clear();
  has_random_.store(false, std::memory_order_relaxed);
  size_.store(0, std::memory_order_relaxed);
}

uint64_t OpQueue::plans_made() {
  const Lock lock = lock_or_throw();
  return plans_.made();
}

size_t OpQueue::last_launches() {
  const Lock lock = lock_or_throw();
  return last_launches_;
}

void OpQueue::materialize(StorageImpl& storage) {
  if (runner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return;
  flush("read");
  // It may be pending on something else now: work that failed, or a queue of another thread.
  if (PendingWork* const work = storage.pending(); work != nullptr && work != this) {
    work->materialize(storage);
  }
}

}  // namespace mindtorch::dispatch
