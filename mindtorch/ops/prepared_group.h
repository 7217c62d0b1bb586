#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/ops/fusion.h"

namespace mindtorch::ops {

// Note [Groups are prepared]
// A group is looked up by its structure in a cache of the process, so that all plans of all queues
// share what its device's engine makes of it. The engine is asked each time the group is about to
// run, until its answer is final; without a program the ops run one by one. An engine that compiles
// is asked on a thread of its own, which holds no lock and knows no interpreter: whoever wanted to
// run the group runs its ops meanwhile, or the program before, and a process that forks does not
// wait; in the child it is asked again. Results do not tell: a fused group computes what its ops
// do.
class MT_API PreparedGroup : public std::enable_shared_from_this<PreparedGroup> {
 public:
  // The one of the cache, which keeps those that were looked up last.
  static std::shared_ptr<PreparedGroup> find(const FusedGroup& group, const FusionEngine& engine);
  static constexpr size_t kCacheCapacity = 512;
  static size_t cached();  // how many there are
  // Waits until no group is with an engine that compiles.
  static void wait_for_engines();

  PreparedGroup(const FusedGroup& group, const FusionEngine& engine)
      : group_(group), engine_(engine) {}

  // What runs the group now; null: nothing but its ops. Valid as long as this.
  const FusedProgram* program() {
    if (MT_LIKELY(is_final())) return program_.load(std::memory_order_relaxed);
    return ask();
  }
  // The same for a call that runs by itself: there are no ops to run instead, so that this waits
  // for the engine, and throws its error. Null: the engine refuses.
  const FusedProgram* program_now();
  // program() stays what it is.
  bool is_final() const { return state_.load(std::memory_order_acquire) == State::kFinal; }

 private:
  class Turn;
  friend class CompilerThread;
  friend class ForkHandlers;
  enum class State : uint8_t { kOpen, kAsking, kFinal };

  bool compiles_next() const {
    return engine_.limits.compiles ||
           (engine_.limits.compiles_later && program_.load(std::memory_order_relaxed) != nullptr);
  }
  const FusedProgram* ask();
  void ask_engine() noexcept;
  void take(Preparation answer);

  const FusedGroup group_;
  const FusionEngine& engine_;
  std::atomic<State> state_{State::kOpen};
  std::atomic<const FusedProgram*> program_{nullptr};
  std::mutex mutex_;  // held while an engine that does not compile is asked
  std::vector<std::shared_ptr<const FusedProgram>> programs_;  // a run may still be in an early one
  int failures_ = 0;
};

}  // namespace mindtorch::ops
