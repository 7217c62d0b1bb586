#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "mindtorch/base/quick_mutex.h"
#include "mindtorch/dispatch/execute/plan_cache.h"
#include "mindtorch/dispatch/record/call_site.h"
#include "mindtorch/dispatch/record/shape_churn.h"
#include "mindtorch/dispatch/record/trace_recorder.h"
#include "mindtorch/runtime/stream.h"

namespace mindtorch::dispatch {

// Why a flush happens.
struct FlushReason {
  template <size_t N>
  constexpr FlushReason(const char (&literal)[N]) : text(literal, N - 1) {}  // NOLINT
  // Who keeps it copies the text.
  static constexpr FlushReason said(std::string_view text) {
    FlushReason reason("");
    reason.text = text;
    reason.is_literal = false;
    return reason;
  }
  friend constexpr bool operator==(const FlushReason& a, const FlushReason& b) {
    return a.text == b.text;
  }

  std::string_view text;
  bool is_literal = true;
};

// Why a flush failed.
struct FlushFailure {
  std::exception_ptr error;
  size_t op = 0;         // the index in the trace
  bool is_plan = false;  // while the work was planned, not while it was done
};

// Note [Windows that start early]
// An accelerator works on one trace while the next is recorded, but has nothing to do while the
// first of a block is, or the first behind a wait. Where these repeat an earlier trace they end
// after a few ops, before the call that follows: the device starts, and the next trace begins. Only
// where the plan of the earlier trace loses nothing by it (PlanRunner::can_end_after), so that the
// same ops run as before, in the same order. The ends are the same every time: each part has a plan
// of its own, is recognised when it comes again, and may be captured.

// Ops that were recorded and not executed so far, and the plans of earlier ones. One thread
// records; any thread may flush. Queues are never freed: a thread that read one from a storage may
// use it a moment later, and then finds nothing to do.
class OpQueue final : public PendingWork {
 public:
  // Who records into a queue.
  class Owner {
   public:
    // After a flush, on the thread that flushed, while the queue still has its ops. `failure` may
    // be null.
    virtual void on_done(OpQueue& queue, FlushReason reason, const FlushFailure* failure) = 0;

   protected:
    ~Owner() = default;
  };

  OpQueue() = default;

  // --- the owner's thread ---
  // False: it has an owner.
  bool try_attach(Owner& owner);
  // Waits for a thread that flushes: it calls the owner.
  void detach() noexcept;
  // What the owner must know after each op.
  struct State {
    size_t ops;
    size_t unallocated_bytes;
    bool needs_flush;
    bool over_memory_limit;
  };
  void record(const PreparedCall& call, State& state);
  // See TraceRecorder::match().
  bool match(const ops::Op& op, ops::Args args, ops::Outputs& outputs, State& state);
  bool match_in_place(const ops::Op& op, ops::Args args, State& state);
  // Whether recording pays: Note [Traces with new shapes every time].
  ShapeChurn& churn() { return churn_; }
  // Before an op: what is recorded has a length to start at, and may be flushed as a trace of its
  // own, for reason kStart.
  static constexpr FlushReason kStart = "start";
  bool may_start() const { return size() >= start_at_.load(std::memory_order_relaxed); }
  bool can_start();
  // An op draws random numbers.
  bool has_random() const { return has_random_.load(std::memory_order_relaxed); }

  // --- any thread ---
  size_t size() const { return size_.load(std::memory_order_acquire); }
  struct Flushed {
    bool has_run = false;
    std::exception_ptr error;
  };
  // Executes everything recorded. Not where there is nothing, where this thread is executing it, or
  // where the owner is not `of` (null: any). After an error every storage that was still to be
  // written throws it when read. Without `wait`: not where another thread is busy with the queue.
  Flushed flush(FlushReason reason, const Owner* of = nullptr, bool wait = true) noexcept;
  // Ops of this queue read the storage.
  bool reads(const StorageImpl& storage);
  // How many traces it has begun.
  uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  uint64_t plans_made();
  size_t last_launches();  // kernels and fused groups of the last flush

  // The recorded ops, with their call sites: under the queue's lock, or from on_done().
  template <typename Visit>
  auto visit_ops(Visit visit) {
    const Lock lock = lock_or_throw();
    mutex_.is_held();
    return visit(recorder_.trace(), sites_);
  }
  const Trace& trace() MT_UNCHECKED_LOCKS { return recorder_.trace(); }
  const std::vector<CallSite>& sites() const MT_UNCHECKED_LOCKS { return sites_; }

  void materialize(StorageImpl& storage) override;
  void forget(StorageImpl&) noexcept override {}  // it holds its storages

 private:
  // Said to hold the mutex by is_held(): it may be in vain, and the analysis knows no lock that is
  // returned.
  using Lock = std::unique_lock<QuickMutex>;

  // Of the owner's thread, for one op. Where the queue is not free, the lock proper: which of the
  // two it is the analysis cannot follow.
  class MT_LOCK RecordLock {
   public:
    explicit RecordLock(OpQueue& queue) MT_ACQUIRE(queue.mutex_) MT_UNCHECKED_LOCKS
        : mutex_(queue.mutex_),
          is_brief_(queue.mutex_.try_lock_briefly()) {
      if (MT_UNLIKELY(!is_brief_)) lock_ = queue.lock_or_throw();
    }
    ~RecordLock() MT_RELEASE() MT_UNCHECKED_LOCKS {
      if (MT_LIKELY(is_brief_)) mutex_.unlock_briefly();
    }
    RecordLock(const RecordLock&) = delete;
    RecordLock& operator=(const RecordLock&) = delete;

   private:
    QuickMutex& mutex_;
    const bool is_brief_;
    Lock lock_;
  };

  Lock lock_or_throw();
  // While the interpreter is finalizing the lock may belong to a stopped thread: then not owned.
  Lock wait_for_lock() noexcept;
  void open() MT_REQUIRES(mutex_);
  void note_op(const ops::Op& op, Device device, State& state) MT_REQUIRES(mutex_);
  void note_call_site() MT_REQUIRES(mutex_);
  void note_stream(Device device) MT_REQUIRES(mutex_);
  void plan_start(FlushReason last_reason) noexcept;
  PlanRunner& find_plan() MT_REQUIRES(mutex_);
  void execute(size_t& done, bool& is_plan) MT_REQUIRES(mutex_);
  // The same, each part told to a profiler.
  void execute_profiled(FlushReason reason, size_t& done, bool& is_plan) MT_REQUIRES(mutex_);
  void run(PlanRunner& plan, size_t& done) MT_REQUIRES(mutex_);
  void clear(size_t done, const std::exception_ptr& error) noexcept MT_REQUIRES(mutex_);

  QuickMutex mutex_;
  std::atomic<Owner*> owner_{nullptr};
  std::atomic<std::thread::id> runner_{};
  std::atomic<bool> has_random_{false};
  std::atomic<size_t> size_{0};  // 0: no flush calls the owner any more
  static constexpr size_t kFirstOps = 16;
  std::atomic<size_t> start_at_{kFirstOps};
  std::atomic<uint64_t> generation_{0};
  TraceRecorder recorder_ MT_GUARDED_BY(mutex_){*this};
  std::thread::id recording_thread_ MT_GUARDED_BY(mutex_);
  // When recording began; 0: no profiler wanted to know.
  int64_t opened_ns_ MT_GUARDED_BY(mutex_) = 0;
  // Of the recording thread, one for each device.
  std::vector<runtime::Stream> streams_ MT_GUARDED_BY(mutex_);
  std::vector<CallSite> sites_ MT_GUARDED_BY(mutex_);         // by op
  std::vector<void*> codes_ MT_GUARDED_BY(mutex_);            // that sites_ name, retained
  std::vector<StorageImpl*> storages_ MT_GUARDED_BY(mutex_);  // of a flush
  std::vector<uint8_t> visible_ MT_GUARDED_BY(mutex_);        // likewise
  PlanCache plans_ MT_GUARDED_BY(mutex_);
  ShapeChurn churn_;
  size_t last_launches_ MT_GUARDED_BY(mutex_) = 0;
};

}  // namespace mindtorch::dispatch
