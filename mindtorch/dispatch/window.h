#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "mindtorch/base/quick_mutex.h"
#include "mindtorch/dispatch/call_site.h"
#include "mindtorch/dispatch/pipeline_report.h"
#include "mindtorch/dispatch/plan_store.h"
#include "mindtorch/dispatch/recording.h"
#include "mindtorch/dispatch/storage_table.h"
#include "mindtorch/runtime/stream.h"
#include "mindtorch/tensor/storage.h"

namespace mindtorch::dispatch {

// Why a window failed.
struct WindowError {
  std::exception_ptr error;
  size_t number = 0;     // of the op in its window
  bool is_plan = false;  // while its work was planned, and not while it was done
};

// Note [Pending storages]
// Ops recorded together. A storage that the window writes names it (StorageImpl::pending), so that
// whoever looks at the bytes, on whatever thread, makes the window run first. A storage that it
// only reads is counted (StorageImpl::pending_reads): whoever is about to write one makes all
// windows run. While a window runs its storages still name it, and kernels work on shadows: other
// storages over the same bytes. Windows are never freed: a thread that found one named by a storage
// may look at it a moment later, and finds that the storage names it no more.
//
// The window holds each storage once, so that a storage with one owner is one that nobody outside
// can see. Tensors are not held: what they look like is in the recording.
//
// One thread records; any thread may run it.
class Window final : public PendingWork {
 public:
  Window() = default;

  // --- recording, by the pipeline's thread ---
  // Outputs are fresh, and promised (Tensor::promise) where they have elements. A mutation writes
  // its first argument and has no outputs.
  // `is_fresh`: outputs are what the arguments alone say.
  void record(const ops::Op& op,
              Device device,
              ops::Args args,
              std::span<const Tensor> outputs,
              bool is_fresh);
  // `args`: what the op was called with, where the output is what they alone say; else empty.
  void record_pointwise(const ops::Op& op,
                        const ops::PointwiseCall& call,
                        ops::Args args,
                        const Tensor& out,
                        Writes writes);
  // An op that comes where it came in the window that this one repeats so far, on the same tensors:
  // its outputs are made without working out again what they are, and nothing is written down.
  // False: it is not, and must be recorded the long way.
  bool follow(const ops::Op& op, ops::Args args, ops::Outputs& outputs);
  // The same for a pointwise op that writes into its first argument.
  bool follow_in_place(const ops::Op& op, ops::Args args);
  // Ops of this window read the storage.
  bool reads(const StorageImpl& storage);

  // By any thread; what another thread runs meanwhile is gone a moment later.
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  size_t pending_bytes() const { return pending_bytes_.load(std::memory_order_relaxed); }
  // An op draws random numbers.
  bool has_random() const { return has_random_.load(std::memory_order_relaxed); }
  // An op touched memory that others see without asking.
  bool must_run() const { return must_run_.load(std::memory_order_relaxed); }
  // It keeps much memory alive that nobody else needs any more.
  bool holds_much() const { return holds_much_.load(std::memory_order_relaxed); }

  // Runs everything recorded. False: there was nothing, another thread had run it before. Where
  // it fails, every storage that was still to be written throws the same error when it is looked
  // at. `tell` is called with what failed, or null, while the window still knows its ops. Without
  // `wait`: not where another thread is busy with it.
  using Tell = std::function<void(const WindowError*)>;
  bool run(const Tell& tell, bool wait = true) noexcept;
  // --- by any thread ---
  // Which filling of which window this is.
  uint64_t epoch() const { return epoch_.load(std::memory_order_relaxed); }
  std::vector<OpReport> describe_ops();
  uint64_t plans_made();
  size_t last_launches();  // of the last run

  // --- while it runs, by whoever runs it ---
  const Recording& recording() {
    catch_up();
    return recording_;
  }
  CallSite site(size_t number) const { return sites_[number]; }

  void materialize(StorageImpl& storage) override;
  void forget(StorageImpl&) noexcept override {}  // it holds its storages

 private:
  using Lock = std::unique_lock<QuickMutex>;

  struct Held {
    StorageImpl* storage;
    uint32_t last_write;  // the number of an op
    bool is_promised;     // has no bytes so far
    bool is_written;
    bool is_read;  // counted in pending_reads
  };

  Lock lock() {
    Lock lock(mutex_, std::try_to_lock);
    if (MT_UNLIKELY(!lock.owns_lock())) lock = wait_for_lock_or_throw();
    return lock;
  }
  Lock wait_for_lock_or_throw();
  // The same without throwing: at the end of the language it may be nobody's.
  Lock wait_for_lock() noexcept;
  void open();
  OpRecord begin(const ops::Op& op, Device device);
  void catch_up();
  void note_op(const ops::Op& op, Device device);
  void note_site();
  void end(const OpRecord& record,
           const ops::PointwiseParams& params,
           const Recording::Lengths& before);
  void note_stream(Device device);
  uint32_t hold(StorageImpl& storage);
  bool holds_much_alone() const;
  uint32_t link(const Tensor& tensor);
  uint32_t link_read(const Tensor& tensor);
  uint32_t link_write(const Tensor& tensor);
  uint32_t link_number(const Tensor& tensor);
  void count_read(Held& held);
  void note_write(uint32_t storage, size_t op);
  void keep(const ops::Value& value);
  // The default dtype is still that of the first op: Recording::default_dtype.
  bool has_first_default() const { return recording_.default_dtype == default_dtype(); }
  bool keep_arguments(const ops::PointwiseCall& call, ops::Args args, uint32_t first_link);
  const OpRecord* match(const ops::Op& op, ops::Args args, Writes writes);
  void pass(const OpRecord& record);
  void follow_dims(size_t end);
  bool follow_argument(const ops::Value& value, size_t number);
  bool follow_tensor(const Tensor& tensor, uint32_t number);
  Tensor follow_output(uint32_t number);
  WindowPlan& find_plan();
  void finish(size_t done, const std::exception_ptr& error) noexcept;

  QuickMutex mutex_;
  std::atomic<std::thread::id> runner_{};
  std::atomic<bool> must_run_{false};
  std::atomic<bool> has_random_{false};
  std::atomic<bool> holds_much_{false};
  std::atomic<size_t> size_{0};
  std::atomic<size_t> pending_bytes_{0};
  std::atomic<uint64_t> epoch_{0};  // marks tensors as recorded (TensorImpl); 0: none is
  std::thread::id recorder_;
  std::vector<runtime::Stream> streams_;  // the recorder's, one for each device of the ops
  Recording recording_;
  // What this window repeats so far, or null, and how far: recording_ may be behind.
  const Recording* expected_ = nullptr;
  Recording::Lengths followed_{};
  std::vector<Held> held_;              // by number of the storage
  StorageTable outside_;                // numbers of those that it has not made
  size_t unchecked_bytes_ = 0;          // of outside_, since holds_much_ was last worked out
  std::vector<uint8_t> visible_;        // while it runs: of each storage
  std::vector<StorageImpl*> storages_;  // the same
  std::vector<CallSite> sites_;         // by op
  std::vector<void*> codes_;            // that they name, held
  PlanStore plans_;
  size_t last_launches_ = 0;
};

}  // namespace mindtorch::dispatch
