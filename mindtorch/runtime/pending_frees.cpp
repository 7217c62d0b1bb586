#include "mindtorch/runtime/pending_frees.h"

#include <utility>

namespace mindtorch::runtime {
namespace {

// Queues this thread looks at, of all allocators: a driver may come back here. Two threads that
// each look at a queue must not wait for each other's.
constinit thread_local int t_draining = 0;

}  // namespace

PendingFrees::PendingFrees(driver::DeviceDriver& driver,
                           int device,
                           EventPool& events,
                           AsyncErrors& async_errors,
                           std::function<void(Block*)> finish)
    : driver_(driver),
      device_(device),
      events_(events),
      async_errors_(async_errors),
      finish_(std::move(finish)) {}

PendingFrees::~PendingFrees() {
  for (auto& [stream, queue] : queues_) {
    for (const Entry& entry : queue.entries) {
      if (entry.event != nullptr) events_.give(entry.event);
    }
  }
}

void PendingFrees::add(Block* block) noexcept {
  {
    std::lock_guard lock(mutex_);
    block->event_count = static_cast<uint32_t>(block->streams.size());
    if (paused_ > 0) {
      paused_blocks_.push_back(block);
      return;
    }
  }
  record(block);
}

void PendingFrees::record(Block* block) noexcept {
  // The list is copied: the block may be gone as soon as its last event is in the queue.
  const std::vector<driver::StreamHandle> streams = block->streams;
  for (driver::StreamHandle stream : streams) {
    driver::EventHandle event = nullptr;
    try {
      event = events_.take();
      driver_.record_event(event, device_, stream);
    } catch (...) {
      if (event != nullptr) events_.give(event);
      event = nullptr;
      async_errors_.keep(stream, std::current_exception());
    }
    std::lock_guard lock(mutex_);
    queues_[stream].entries.push_back({event, block});
    count_.fetch_add(1, std::memory_order_relaxed);
  }
}

void PendingFrees::pause() noexcept {
  std::lock_guard lock(mutex_);
  ++paused_;
}

void PendingFrees::resume() noexcept {
  std::vector<Block*> blocks;
  {
    std::lock_guard lock(mutex_);
    if (--paused_ > 0) return;
    blocks.swap(paused_blocks_);
  }
  for (Block* block : blocks) record(block);
}

std::vector<driver::StreamHandle> PendingFrees::busy_streams() {
  std::lock_guard lock(mutex_);
  std::vector<driver::StreamHandle> streams;
  for (const auto& [stream, queue] : queues_) {
    if (!queue.entries.empty()) streams.push_back(stream);
  }
  return streams;
}

void PendingFrees::poll() {
  if (empty()) return;
  for (driver::StreamHandle stream : busy_streams()) {
    try {
      drain(stream, false);
    } catch (...) {  // somebody else's allocation is the wrong place to raise it
      async_errors_.keep(stream, std::current_exception());
    }
  }
}

void PendingFrees::wait_all() {
  if (empty()) return;
  for (driver::StreamHandle stream : busy_streams()) drain(stream, true);
}

// Finishes entries from the front of the stream's queue. Only one thread at a time looks at a
// queue; what it has in hand stays at the front until it is known to be reached.
void PendingFrees::drain(driver::StreamHandle stream, bool wait) {
  Relockable lock(mutex_);
  Queue& queue = queues_[stream];
  if (wait && t_draining == 0) left_.wait(lock.waiting(), [&queue] { return !queue.busy; });
  if (queue.busy) return;
  queue.busy = true;
  ++t_draining;
  // After an error the lock is held or not.
  const auto leave = [&]() MT_UNCHECKED_LOCKS {
    if (!lock.owns_lock()) lock.lock();
    queue.busy = false;
    --t_draining;
    left_.notify_all();
  };
  try {
    while (!queue.entries.empty()) {
      Entry entry = queue.entries.front();
      lock.unlock();
      if (entry.event == nullptr) {  // recording failed when the block was freed
        entry.event = events_.take();
        try {
          driver_.record_event(entry.event, device_, stream);
        } catch (...) {
          events_.give(entry.event);
          throw;
        }
        lock.lock();
        queue.entries.front().event = entry.event;
        lock.unlock();
      }
      if (!driver_.query_event(device_, entry.event)) {
        if (!wait) break;
        driver_.wait_event(device_, entry.event);
      }
      lock.lock();
      queue.entries.pop_front();
      count_.fetch_sub(1, std::memory_order_relaxed);
      const bool last = --entry.block->event_count == 0;
      lock.unlock();
      events_.give(entry.event);
      if (last) finish_(entry.block);
      lock.lock();
    }
  } catch (...) {
    leave();
    throw;
  }
  leave();
}

}  // namespace mindtorch::runtime
