#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mindtorch/dispatch/window.h"

namespace mindtorch::dispatch {

// When a pipeline runs what it has recorded; see docs/pipeline.md.
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

// What a failing flush tells.
struct PipelineError {
  uint64_t flush_id = 0;
  size_t op_number = 0;
  std::string op_name;
  std::string schema;
  std::string phase;
  std::string device;
  CallSiteText site;
  std::vector<std::string> reads;
  std::vector<std::string> writes;
  std::string message;
};

// A block of deferred ops: `with torch.pipeline():`. One thread records into it; any thread may
// make it run.
class MT_API Pipeline {
 public:
  explicit Pipeline(PipelineConfig config);
  ~Pipeline();  // runs what is left; its errors stay with the tensors
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // This thread's, or null.
  static Pipeline* current() noexcept;
  // The one before it.
  static Pipeline* make_current(Pipeline* pipeline) noexcept;

  // Runs what is recorded; throws the first error, which last_error() keeps.
  void flush(std::string_view reason);
  // The same for the pipeline that owns a window, without throwing: the tensors tell.
  static void run_window(Window& window, std::string_view reason) noexcept;
  // Before somebody writes the storage: where recorded ops of any thread read it, all windows but
  // `own` run.
  static void before_write(const StorageImpl& storage, const Window* own = nullptr) noexcept {
    if (MT_UNLIKELY(storage.pending_reads.load(std::memory_order_relaxed) != 0)) run_all(own);
  }
  // What this thread has recorded runs; throws the first error.
  static void settle(std::string_view reason) {
    if (Pipeline* const pipeline = current()) pipeline->flush(reason);
  }

  size_t pending_count() const { return window_->size(); }
  uint64_t flush_id() const;
  std::string last_flush_reason() const;
  std::optional<PipelineError> last_error() const;
  const PipelineConfig& config() const { return config_; }

  // --- what the dispatcher calls ---
  Tensor promise(const ops::TensorSpec& spec) { return window_->promise(spec); }
  void record(const ops::Op& op, Device device, ops::Args args, std::span<const Tensor> outputs);
  void record_pointwise(const ops::Op& op, const ops::PointwiseCall& call, const Tensor& out);

 private:
  std::exception_ptr run(std::string_view reason) noexcept;
  // True: something was recorded.
  static bool run_all(const Window* but) noexcept;
  static bool run_for_memory() noexcept { return run_all(nullptr); }
  void prepare_read(const Tensor& tensor) const;
  void prepare_write(const Tensor& tensor) const;
  void after_record();
  PipelineError describe(const WindowError& failure) const;

  const PipelineConfig config_;
  Window* const window_;
  int64_t recorded_ = 0;
  mutable std::mutex mutex_;
  uint64_t flush_id_ = 0;
  std::string last_reason_;
  std::optional<PipelineError> last_error_;
};

}  // namespace mindtorch::dispatch
