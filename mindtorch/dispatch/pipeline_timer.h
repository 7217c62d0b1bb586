#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "mindtorch/dispatch/window.h"

namespace mindtorch::dispatch {

// Makes windows run that nobody has touched for max_wait_us: a thread, started when it is first
// needed; a child process has its own.
class PipelineTimer {
 public:
  static PipelineTimer& instance();

  // Runs the window when the time has passed, unless it has run before.
  void watch(Window& window, std::chrono::microseconds wait);
  void forget(const Window& window);

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    Window* window;
    uint64_t epoch;  // of its recording
    Clock::time_point due;
  };

  void start();
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watched> watched_;
  bool is_started_ = false;
};

}  // namespace mindtorch::dispatch
