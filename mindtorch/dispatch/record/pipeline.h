#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mindtorch/base/quick_mutex.h"
#include "mindtorch/base/thread_safety.h"
#include "mindtorch/dispatch/execute/executor.h"
#include "mindtorch/dispatch/record/op_queue.h"
#include "mindtorch/dispatch/record/pipeline_report.h"

namespace mindtorch::dispatch {

// When a pipeline flushes; see docs/pipeline.md. Absent: the default.
struct PipelineConfig {
  std::optional<int64_t> max_ops;
  std::optional<int64_t> max_pending_bytes;
  std::optional<int64_t> max_wait_us;
  std::optional<int64_t> min_defer_ops;
  bool adaptive_defer = false;
  int64_t adaptive_small_window_ops = 24;
  int64_t adaptive_min_defer_ops = 4;
  bool debug_enabled = false;
};

// Throws ValueError for limits that make no sense.
MT_API void check(const PipelineConfig& config);

// A block of deferred ops: `with torch.pipeline():`. The executor that records. One thread records
// into it; any thread may flush it.
class MT_API Pipeline final : public Executor, private OpQueue::Owner {
 public:
  explicit Pipeline(PipelineConfig config) : config_(config) { check(config); }
  ~Pipeline() { leave_all(); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // From now on this records the thread's ops, until leave(). May be entered again inside itself.
  void enter();
  // Flushes; throws the first error. The executor before it is back in any case.
  void leave();
  // As one that was just made, for a new block with the same configuration: nobody else knows it.
  void renew() noexcept;
  // This thread's, or null.
  static Pipeline* current() noexcept;

  // Executes what is recorded; throws the first error, which last_error() keeps.
  void flush(FlushReason reason);
  // Flushes all pipelines that this thread has entered, outer ones first; throws the first error.
  static void flush_all(FlushReason reason);

  size_t pending_count() const;
  uint64_t flush_id() const { return flush_id_.load(std::memory_order_relaxed); }
  std::string last_flush_reason() const;
  std::optional<PipelineError> last_error() const;
  // The ops that are pending, or those of the last flush (debug_enabled only).
  std::vector<OpReport> pending_ops() const;
  std::vector<OpReport> last_ops() const;
  // Plans made so far; a program that repeats itself makes no new ones.
  uint64_t plans_made() const;
  // Kernels and fused groups that the last flush launched.
  size_t last_launches() const;
  const PipelineConfig& config() const { return config_; }

  Tensor make_output(const ops::TensorSpec& spec) override;
  void run(const PreparedCall& call) override;
  Replay replay(const ops::Op& op, ops::Args args, ops::Outputs& outputs) override;
  Replay replay_in_place(const ops::Op& op, ops::Args args, uint64_t written) override;

  // Connects pipelines with what must flush them: synchronisation, memory pressure, writers.
  static void install_hooks();

  // The Python object that stands for this pipeline, if any; owned by bindings/.
  void* python_object = nullptr;

 private:
  void on_done(OpQueue& queue, FlushReason reason, const FlushFailure* failure) override;
  // Errors stay with the tensors.
  void leave_all() noexcept;
  // Without throwing.
  std::exception_ptr flush_queue(FlushReason reason) noexcept;
  void prepare_read(const Tensor& tensor) const;
  void prepare_write(const Tensor& tensor) const;
  void before_record(OpQueue& queue);
  void after_record(const OpQueue::State& state, Device device);
  void flush_at_limits(const OpQueue::State& state, Device device);
  void note_reason(FlushReason reason) noexcept;
  void report(OpQueue& queue, const FlushFailure* failure);
  void run_now(const PreparedCall& call);

  const PipelineConfig config_;
  std::atomic<OpQueue*> queue_{nullptr};    // while it is entered
  SmallVector<ExecutorEntry*, 2> entries_;  // one for each enter(), owned by its thread
  int64_t run_eagerly_ = 0;                 // how many ops of this block are executed at once
  int64_t recorded_ = 0;                    // in this block, while there are limits
  bool has_no_limits_ = false;              // but the defaults
  size_t largest_trace_ = 0;                // in this block
  std::atomic<uint64_t> flush_id_{0};
  std::atomic<const char*> last_reason_{""};  // null: last_text_
  std::atomic<bool> has_report_{false};       // an error or ops
  mutable QuickMutex mutex_;
  std::string last_text_ MT_GUARDED_BY(mutex_);
  std::optional<PipelineError> last_error_ MT_GUARDED_BY(mutex_);
  std::vector<OpReport> last_ops_ MT_GUARDED_BY(mutex_);
};

}  // namespace mindtorch::dispatch
