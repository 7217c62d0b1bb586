#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "mindtorch/dispatch/call_site.h"
#include "mindtorch/ops/fusion.h"
#include "mindtorch/ops/registry.h"
#include "mindtorch/tensor/storage.h"

namespace mindtorch::dispatch {

// A tensor as it was when an op was recorded: later changes of its shape do not count.
struct RecordedView {
  Storage storage;
  Shape sizes;
  Shape strides;
  int64_t offset = 0;
  int64_t numel = 0;
  DType dtype{};
  bool is_contiguous = false;

  RecordedView() = default;
  explicit RecordedView(const Tensor& tensor);
  bool is_same(const RecordedView& other) const;
  // May share a byte with the other.
  bool overlaps(const RecordedView& other) const;
};

// One recorded op, with everything it needs to run later.
struct Recorded {
  const ops::Op* op = nullptr;
  Device device;
  CallSite site;
  bool is_pointwise = false;
  bool is_dead = false;  // nobody can see what it would compute
  // A pointwise op, resolved.
  ops::Pointwise function{};
  DType compute{};
  DType result{};
  ops::PointwiseParams params;
  // Into the window's lists.
  uint32_t first_operand = 0;
  uint32_t operand_count = 0;
  uint32_t first_output = 0;
  uint32_t output_count = 0;
  uint32_t first_value = 0;
  uint32_t value_count = 0;
};

// An argument of a recorded op. Tensors are views of the window, by number.
struct KeptValue {
  ops::Value value;
  uint32_t first_view = 0;
  uint32_t view_count = 0;
};

// Why a window failed.
struct WindowError {
  std::exception_ptr error;
  std::string message;
  size_t number = 0;  // of the op in its window
};

// Note [Pending storages]
// Ops recorded together. A storage that the window writes names it (StorageImpl::pending), so that
// whoever looks at the bytes, on whatever thread, makes the window run first. A storage that it
// only reads is counted (StorageImpl::pending_reads): whoever is about to write one makes all
// windows run. While a window runs its storages still name it, and kernels work on shadows: other
// storages over the same bytes. Windows are never freed: a thread that found one named by a storage
// may look at it a moment later, and finds that the storage names it no more.
//
// One thread records; any thread may run it.
class Window final : public PendingWork {
 public:
  Window() = default;

  // --- recording, by the pipeline's thread ---
  Tensor promise(const ops::TensorSpec& spec);
  // A mutation writes its first argument and has no outputs.
  void record(const ops::Op& op, Device device, ops::Args args, std::span<const Tensor> outputs);
  void record_pointwise(const ops::Op& op, const ops::PointwiseCall& call, const Tensor& out);

  // By any thread; what another thread runs meanwhile is gone a moment later.
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  size_t pending_bytes() const { return pending_bytes_.load(std::memory_order_relaxed); }
  // An op touched memory that others see without asking.
  bool must_run() const { return must_run_.load(std::memory_order_relaxed); }
  // When the oldest op was recorded.
  std::chrono::steady_clock::time_point started() const {
    return started_.load(std::memory_order_relaxed);
  }
  // --- while it runs, by whoever runs it ---
  const Recorded& entry(size_t number) const { return entries_[number]; }
  const RecordedView& view(size_t index) const { return views_[index]; }

  // Runs everything recorded, if anything is. Null: nothing failed. Otherwise every storage that
  // was still to be written throws the same error when it is looked at.
  // `tell` is called for what failed while the window still knows its ops.
  std::unique_ptr<WindowError> run(
      const std::function<void(const WindowError&)>& tell = {}) noexcept;

  void materialize(StorageImpl& storage) override;
  // Promised for an op that was refused, and so never recorded.
  void forget(StorageImpl& storage) noexcept override;

 private:
  friend class WindowRunner;
  using Lock = std::unique_lock<std::mutex>;

  // A storage that the window writes.
  struct Written {
    StorageImpl* storage;     // alive: a view holds it
    uint32_t references = 0;  // views of this window
    uint32_t last_write = 0;  // the number of an op
    bool promised = false;    // has no bytes so far
  };

  uint32_t own(const Tensor& tensor);
  void reads(const Tensor& tensor);
  void writes(const Tensor& tensor);
  KeptValue keep(const ops::Value& value);
  Recorded& begin(const ops::Op& op, Device device);
  void finish(size_t done, const std::exception_ptr& error) noexcept;

  std::mutex mutex_;
  std::atomic<std::thread::id> runner_{};
  std::atomic<bool> must_run_{false};
  std::atomic<size_t> size_{0};
  std::atomic<size_t> pending_bytes_{0};
  std::atomic<std::chrono::steady_clock::time_point> started_{};
  std::deque<Recorded> entries_;
  std::deque<RecordedView> views_;
  std::deque<KeptValue> values_;
  std::deque<std::vector<int64_t>> ints_;
  std::deque<std::vector<double>> floats_;
  std::deque<std::string> texts_;
  std::vector<Written> written_;
  std::vector<StorageImpl*> read_;
  std::vector<CallSite> sites_;  // of ops that are done, to be given back together
};

}  // namespace mindtorch::dispatch
