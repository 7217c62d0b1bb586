#pragma once

#include <atomic>
#include <span>
#include <thread>

#include "mindtorch/dispatch/execute/launch.h"
#include "mindtorch/dispatch/trace/trace.h"
#include "mindtorch/ops/op.h"
#include "mindtorch/runtime/host_allocator.h"

namespace mindtorch::dispatch {

// Of its first argument.
inline const Tensor& first_tensor(ops::Args args) {
  return args[0].kind() == ops::ValueKind::kTensorList ? args[0].tensor_list()[0]
                                                       : args[0].tensor();
}

// A call that eager mode has prepared: devices and shapes are checked, a kernel is there, outputs
// are made.
struct PreparedCall {
  const ops::Op& op;
  ops::Args args;
  Device device;
  std::span<Tensor> outputs;                      // none: a mutation writes its arguments
  const ops::PointwiseCall* pointwise = nullptr;  // null: the op's kernel
  ops::PointwiseFn engine = nullptr;              // that runs `pointwise`
  Writes writes = Writes::kOther;

  // Each tensor that it writes.
  template <typename Visit>
  void each_written(const Visit& visit) const {
    if (op.kind == ops::OpKind::kMutation) ops::each_tensor(op.written, args, visit);
    for (const Tensor& output : outputs) visit(output);
  }
};

// What an executor does with an op before it is prepared.
enum class Replay : uint8_t {
  kNo,      // nothing: the call is to be prepared
  kDone,    // it repeats an earlier trace: its outputs are there
  kRunNow,  // it is to be called as in eager mode
};

// Runs prepared calls: now, or later.
class MT_API Executor {
 public:
  // A tensor for a result, with memory no later than the call that writes it.
  virtual Tensor make_output(const ops::TensorSpec& spec) = 0;
  virtual void run(const PreparedCall& call) = 0;
  // Of an op that makes its outputs, and of one that writes the arguments whose bits are set in
  // `written`.
  virtual Replay replay(const ops::Op& op, ops::Args args, ops::Outputs& outputs) = 0;
  virtual Replay replay_in_place(const ops::Op& op, ops::Args args, uint64_t written) = 0;

  // This thread's.
  static Executor& current() noexcept;
  bool is_immediate() const noexcept;

 protected:
  ~Executor() = default;
};

// Runs calls at once, after the recorded ops that read what they write. Inline wherever it is
// called: most calls of most programs go this way.
class ImmediateExecutor final : public Executor {
 public:
  static ImmediateExecutor& instance();
  Tensor make_output(const ops::TensorSpec& spec) override {
    return spec.strides ? Tensor::make_strided(spec.sizes, *spec.strides, spec.dtype, spec.device)
                        : Tensor::make(spec.sizes, spec.dtype, spec.device);
  }
  [[gnu::always_inline]] void run(const PreparedCall& call) override {
    call.each_written([](const Tensor& tensor) { tensor.storage()->flush_readers(); });
    if (call.pointwise != nullptr) {
      launch_pointwise(call.engine, *call.pointwise, call.device, call.outputs[0]);
    } else {
      launch_kernel(call.op, call.device, call.args, call.outputs);
    }
  }
  Replay replay(const ops::Op&, ops::Args, ops::Outputs&) override { return Replay::kNo; }
  Replay replay_in_place(const ops::Op&, ops::Args, uint64_t) override { return Replay::kNo; }
};

// Note [Blocks left out of order]
// The executors that a thread has entered, innermost first. Generators and tasks leave their blocks
// in any order, and the garbage collector may close one on another thread. Whoever leaves only
// clears the entry; its own thread, which alone walks and frees the list, drops it later.
struct ExecutorEntry {
  std::atomic<Executor*> executor;  // null: left
  ExecutorEntry* outer;
  std::thread::id thread;

  // From the thread's own free list: a block makes and frees one.
  static void* operator new(size_t bytes) { return runtime::allocate_small(bytes); }
  static void operator delete(void* data, size_t bytes) noexcept {
    runtime::release_small(data, bytes);
  }
};

namespace detail {
extern ImmediateExecutor g_immediate;
// Innermost first; left entries among them.
extern constinit thread_local ExecutorEntry* t_entry __attribute__((tls_model("initial-exec")));
}  // namespace detail

inline ImmediateExecutor& ImmediateExecutor::instance() { return detail::g_immediate; }

// From now on `executor` runs this thread's calls, until leave_executor(). The entry is freed by
// this thread.
ExecutorEntry* enter_executor(Executor& executor);
void leave_executor(ExecutorEntry& entry) noexcept;
// The innermost entry that is not left, or null.
ExecutorEntry* innermost_executor() noexcept;

// Calls of this thread run at once: around the execution of what was recorded.
class NoRecordGuard {
 public:
  NoRecordGuard() noexcept;
  ~NoRecordGuard();
  NoRecordGuard(const NoRecordGuard&) = delete;
  NoRecordGuard& operator=(const NoRecordGuard&) = delete;

 private:
  ExecutorEntry* const entered_;
};

inline Executor& Executor::current() noexcept {
  const ExecutorEntry* entry = detail::t_entry;
  if (MT_LIKELY(entry == nullptr)) return detail::g_immediate;
  Executor* executor = entry->executor.load(std::memory_order_acquire);
  if (MT_LIKELY(executor != nullptr)) return *executor;
  entry = innermost_executor();
  // Another thread may have left that one, too, a moment ago.
  executor = entry == nullptr ? nullptr : entry->executor.load(std::memory_order_acquire);
  return executor == nullptr ? detail::g_immediate : *executor;
}

inline bool Executor::is_immediate() const noexcept { return this == &detail::g_immediate; }

}  // namespace mindtorch::dispatch
