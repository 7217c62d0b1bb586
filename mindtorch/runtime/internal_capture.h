#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <thread>

#include "mindtorch/base/macros.h"
#include "mindtorch/runtime/private_pool.h"

namespace mindtorch::runtime {

class DeviceRuntime;
class Graph;

// Graph captures of one device that this library makes for itself, unseen by the user. While one is
// under way no thread can wait for the whole device, and the allocator gives no memory back: both
// wait for its end.
class MT_API InternalCapture {
 public:
  // What `work` gives the current stream, instead of being run; memory for it comes from the pool.
  // Null: a thread waits for the device, or captures. If it throws, nothing is left of the capture.
  static std::unique_ptr<Graph> capture(DeviceRuntime& runtime,
                                        PoolId pool,
                                        const std::function<void()>& work);

  // None begins while this is held.
  std::shared_lock<std::shared_mutex> keep_out() {
    if (is_mine()) return {};
    return std::shared_lock(mutex_);
  }
  void await_end() { (void)keep_out(); }

 private:
  bool is_mine() const {
    return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  std::shared_mutex mutex_;  // exclusive: a capture goes on
  std::atomic<std::thread::id> thread_{};
};

}  // namespace mindtorch::runtime
