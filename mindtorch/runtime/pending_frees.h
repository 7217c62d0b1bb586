#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/base/thread_safety.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/async_errors.h"
#include "mindtorch/runtime/block.h"
#include "mindtorch/runtime/event_pool.h"

namespace mindtorch::runtime {

// Freed blocks that other streams may still use. Per stream a queue of (event, block), looked at in
// order. An event that fails is never taken for reached: its error is kept for the stream, and the
// block waits on. Thread-safe; the driver is called without a lock.
class MT_API PendingFrees {
 public:
  // `finish(block)` is called once the last event of a block is reached, without a lock.
  PendingFrees(driver::DeviceDriver& driver,
               int device,
               EventPool& events,
               AsyncErrors& async_errors,
               std::function<void(Block*)> finish);
  ~PendingFrees();

  // Records an event on every stream of block->streams.
  void add(Block* block) noexcept;
  // While a graph is captured events must not be recorded: blocks are kept until resume().
  void pause() noexcept;
  void resume() noexcept;

  bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }
  // Finishes what is reached; never waits.
  void poll();
  // Waits for every event, and for threads that are looking at one. Throws what the driver throws;
  // what was reached before is finished.
  void wait_all();

 private:
  struct Entry {
    driver::EventHandle event;  // null: recording failed; tried again later
    Block* block;
  };
  struct Queue {
    std::deque<Entry> entries;
    bool busy = false;  // a thread looks at it: others leave it alone, or wait
  };

  void record(Block* block) noexcept;
  void drain(driver::StreamHandle stream, bool wait);
  std::vector<driver::StreamHandle> busy_streams();

  driver::DeviceDriver& driver_;
  const int device_;
  EventPool& events_;
  AsyncErrors& async_errors_;
  const std::function<void(Block*)> finish_;
  std::atomic<size_t> count_{0};
  std::mutex mutex_;
  std::condition_variable left_;  // a queue is busy no longer
  std::unordered_map<driver::StreamHandle, Queue> queues_ MT_GUARDED_BY(mutex_);
  int paused_ MT_GUARDED_BY(mutex_) = 0;
  std::vector<Block*> paused_blocks_ MT_GUARDED_BY(mutex_);
};

}  // namespace mindtorch::runtime
