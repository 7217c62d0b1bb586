#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "simulator/ascend/core/task.h"

namespace sim {

struct Model;
struct Work;

// One entry of a stream's queue: checked work, or a bare launch or replay (Note [Quick path]).
struct QueueEntry {
  std::shared_ptr<Work> work;
  std::shared_ptr<const Kernel> kernel;  // of a bare launch
  std::shared_ptr<const Model> model;    // of a bare replay
  std::array<void*, kMostArguments> arguments;
  uint64_t number = 0;  // counts the stream's entries
};

// For a few instructions, between two threads that both mean to go on at once.
class SpinLock {
 public:
  void lock();
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

// What a stream has to do, in order. Any thread pushes; the stream's worker takes. The storage is a
// ring that only grows.
class WorkQueue {
 public:
  // The number of the entry is kept as the thread's last (last_task_of_thread).
  void push(std::shared_ptr<Work> work);
  void push(std::shared_ptr<const Kernel> kernel, void* const* arguments, size_t count);
  void push(std::shared_ptr<const Model> model);

  // Of the worker. Waits for an entry; false: the queue was stopped and nothing is left.
  bool take(QueueEntry& entry);
  // What was taken is done.
  void finish();

  // Takes away everything that the worker has not taken.
  std::vector<QueueEntry> drop();
  void stop();

  uint64_t issued() const { return issued_; }
  // How many are done or dropped.
  uint64_t finished() const { return finished_; }
  bool idle() const { return finished() == issued(); }
  // What the worker took, or will take next; null when idle, or for what is bare.
  std::shared_ptr<const Work> front();

 private:
  QueueEntry& next_free();
  void add();
  void wake();
  bool ready() const { return waiting_ != 0 || stopping_; }

  SpinLock lock_;
  std::shared_ptr<const Work> taken_;
  std::vector<QueueEntry> ring_;  // of a power of two
  size_t first_ = 0;
  std::atomic<size_t> waiting_{0};
  std::atomic<uint64_t> issued_{0};

  std::mutex sleep_;
  std::condition_variable bell_;
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<uint64_t> finished_{0};  // the worker's; others look at it now and then
};

uint64_t last_task_of_thread();

}  // namespace sim
