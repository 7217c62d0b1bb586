#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "mindtorch/base/thread_safety.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/arena_set.h"
#include "mindtorch/runtime/private_pool.h"
#include "mindtorch/runtime/slow_path_flags.h"

namespace mindtorch::runtime {

// The private pools of one allocator, and which allocations go to them. A pool lives while its use
// count is above 0 or blocks of it are in use. Thread-safe; its lock is taken before the arenas'.
class PrivatePools {
 public:
  PrivatePools(ArenaSet& arenas, SlowPathFlags& flags) : arenas_(arenas), flags_(flags) {}

  void retain(PoolId id, bool use_on_oom, bool no_split);
  void release(PoolId id);
  int use_count(PoolId id) const;

  // From now to close(), what this thread allocates comes from the pool.
  void open_for_thread(PoolId id);
  // The same for what any thread allocates for the capturing stream.
  void open_for_capture(PoolId id, driver::StreamHandle stream);
  // True: it was open for a capture.
  bool close(PoolId id);
  bool capturing() const noexcept { return captures_.load(std::memory_order_relaxed) > 0; }

  // The arena that serves this thread's allocations for the stream: the scope opened last decides.
  Arena& route(driver::StreamHandle stream);

  // Removes the pools that are not held and have no memory. Not while a selection of arenas is in
  // use: its segments belong to one of them, and to its stream.
  void forget_unused();

 private:
  struct Scope {
    PrivatePool* pool;
    bool capture;
    driver::StreamHandle stream;  // of a capture
    std::thread::id thread;       // of a user's scope
  };

  PrivatePool* find(PoolId id) const MT_REQUIRES(mutex_);
  PrivatePool& retain_locked(PoolId id, bool use_on_oom, bool no_split) MT_REQUIRES(mutex_);
  void open(Scope scope, PoolId id);

  ArenaSet& arenas_;
  SlowPathFlags& flags_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<PrivatePool>> pools_ MT_GUARDED_BY(mutex_);
  std::vector<Scope> scopes_ MT_GUARDED_BY(mutex_);
  std::atomic<int> captures_{0};  // scopes that are captures
};

}  // namespace mindtorch::runtime
