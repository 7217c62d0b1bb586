#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "mindtorch/base/thread_safety.h"
#include "mindtorch/dispatch/record/op_queue.h"

namespace mindtorch::dispatch {

// Flushes queues whose first op has waited for max_wait_us: a thread, started when it is first
// needed; a child process has its own.
class PipelineTimer {
 public:
  static PipelineTimer& instance();

  // Flushes the queue when the time has passed, unless that has happened before.
  void watch(OpQueue& queue, std::chrono::microseconds wait);
  void forget(const OpQueue& queue);

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    OpQueue* queue;
    uint64_t generation;
    Clock::time_point due;
  };

  void start() MT_REQUIRES(mutex_);
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watched> watched_ MT_GUARDED_BY(mutex_);
  bool is_started_ MT_GUARDED_BY(mutex_) = false;
};

}  // namespace mindtorch::dispatch
