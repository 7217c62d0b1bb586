#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mindtorch/dispatch/pipeline_report.h"
#include "mindtorch/dispatch/window.h"

namespace mindtorch::dispatch {

// When a pipeline runs what it has recorded; see docs/pipeline.md. Absent: the device's preset.
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

// A block of deferred ops: `with torch.pipeline():`. One thread records into it; any thread may
// make it run.
class MT_API Pipeline {
 public:
  explicit Pipeline(PipelineConfig config) : config_(config) { check(config); }
  ~Pipeline();  // leaves; errors stay with the tensors
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // From now on this takes the thread's ops, until leave(). May be entered again inside itself.
  void enter();
  // Runs what is left; throws the first error. The pipeline before it is back in any case.
  void leave();
  // This thread's, or null.
  static Pipeline* current() noexcept;
  struct Entry;  // of a thread's list of pipelines that it is inside of

  // Runs what is recorded; throws the first error, which last_error() keeps.
  void flush(std::string_view reason);
  // The same for the pipeline that owns a window, without throwing: the tensors tell. False: it has
  // run before.
  static bool run_window(Window& window, std::string_view reason, bool wait = true) noexcept;
  // Before somebody writes the storage: where recorded ops of any thread read it, all windows but
  // `own` run.
  static void before_write(const StorageImpl& storage, Window* own = nullptr) noexcept {
    if (MT_UNLIKELY(storage.pending_reads.load(std::memory_order_relaxed) != 0)) {
      run_readers(storage, own);
    }
  }
  // What this thread has recorded runs, that of outer blocks first; throws the first error.
  static void settle(std::string_view reason);

  size_t pending_count() const;
  uint64_t flush_id() const;
  std::string last_flush_reason() const;
  std::optional<PipelineError> last_error() const;
  // The ops that wait, or those of the last window that ran (debug_enabled only).
  std::vector<OpReport> pending_ops() const;
  std::vector<OpReport> last_ops() const;
  // Plans that this window had to make so far; a program that repeats itself makes no new ones.
  uint64_t plans_made() const;
  // Kernels and fused programs that the last window launched.
  size_t last_launches() const;
  const PipelineConfig& config() const { return config_; }

  // --- what the dispatcher calls ---
  void record(const ops::Op& op,
              Device device,
              ops::Args args,
              std::span<const Tensor> outputs,
              bool is_fresh);
  void record_pointwise(const ops::Op& op,
                        const ops::PointwiseCall& call,
                        ops::Args args,
                        const Tensor& out,
                        Writes writes);
  // See Window::follow.
  bool follow(const ops::Op& op, ops::Args args, ops::Outputs& outputs);
  bool follow_in_place(const ops::Op& op, ops::Args args);

 private:
  // Of its window, which another thread knows from the registry.
  bool run(Window* window,
           std::string_view reason,
           std::exception_ptr* error,
           bool wait = true) noexcept;
  void note_run(Window& window, std::string_view reason, const WindowError* failure);
  static void run_readers(const StorageImpl& storage, Window* own) noexcept;
  // True: something has run.
  static bool run_all(const Window* but, bool wait) noexcept;
  static bool run_for_memory() noexcept { return run_all(nullptr, false); }
  void prepare_read(const Tensor& tensor) const;
  void prepare_write(const Tensor& tensor) const;
  void after_record(Device device);
  void give_window_back();
  bool is_entered_here() const noexcept;
  void run_at_once(const ops::Op& op,
                   Device device,
                   ops::Args args,
                   std::span<const Tensor> outputs);

  const PipelineConfig config_;
  Window* window_ = nullptr;        // while it is entered
  SmallVector<Entry*, 2> entries_;  // one for each enter(), owned by its thread
  int64_t run_eagerly_ = 0;         // so many ops of this block do not wait
  int64_t recorded_ = 0;            // in this block
  size_t largest_window_ = 0;
  mutable std::mutex mutex_;
  uint64_t flush_id_ = 0;
  std::string last_reason_;
  std::optional<PipelineError> last_error_;
  std::vector<OpReport> last_ops_;
};

}  // namespace mindtorch::dispatch
