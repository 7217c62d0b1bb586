#pragma once

#include <atomic>
#include <span>
#include <thread>

#include "mindtorch/dispatch/trace/trace.h"
#include "mindtorch/ops/op.h"

namespace mindtorch::dispatch {

// A call that eager mode has prepared: devices and shapes are checked, a kernel is there, outputs
// are made.
struct PreparedCall {
  const ops::Op& op;
  ops::Args args;
  Device device;
  std::span<Tensor> outputs;                      // none: a mutation writes its first argument
  const ops::PointwiseCall* pointwise = nullptr;  // null: the op's kernel
  Writes writes = Writes::kOther;

  bool is_mutation() const { return op.kind == ops::OpKind::kMutation; }
};

// Runs prepared calls: now, or later.
class MT_API Executor {
 public:
  // A tensor for a result, with memory no later than the call that writes it.
  virtual Tensor make_output(const ops::TensorSpec& spec) = 0;
  virtual void run(const PreparedCall& call) = 0;
  // An op that repeats an earlier trace needs no preparation: true, with its outputs. For an op
  // that writes into its first argument, likewise.
  virtual bool replay(const ops::Op& op, ops::Args args, ops::Outputs& outputs) = 0;
  virtual bool replay_in_place(const ops::Op& op, ops::Args args) = 0;

  // This thread's.
  static Executor& current() noexcept;

 protected:
  ~Executor() = default;
};

// Runs calls at once, after the recorded ops that read what they write.
class ImmediateExecutor final : public Executor {
 public:
  static ImmediateExecutor& instance();
  Tensor make_output(const ops::TensorSpec& spec) override;
  void run(const PreparedCall& call) override;
  bool replay(const ops::Op&, ops::Args, ops::Outputs&) override { return false; }
  bool replay_in_place(const ops::Op&, ops::Args) override { return false; }
};

// Note [Blocks left out of order]
// The executors that a thread has entered, innermost first. Generators and tasks leave their blocks
// in any order, and the garbage collector may close one on another thread. Whoever leaves only
// clears the entry; its own thread, which alone walks and frees the list, drops it later.
struct ExecutorEntry {
  std::atomic<Executor*> executor;  // null: left
  ExecutorEntry* outer;
  std::thread::id thread;
};

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

}  // namespace mindtorch::dispatch
