#include "simulator/ascend/core/queue.h"

#include <algorithm>
#include <thread>

#include "mindtorch/base/cpu_relax.h"
#include "simulator/ascend/core/stream.h"

namespace sim {

static constexpr size_t kFirstCapacity = 64;
// A worker that runs out of entries looks for new ones a while before it sleeps, because waking it
// costs the caller a system call. It gives its core away to whoever wants it meanwhile.
static constexpr int kLooks = 64;
static constexpr int kPausesPerLook = 32;

void SpinLock::lock() {
  for (int tries = 0; taken_.exchange(true, std::memory_order_acquire); ++tries) {
    while (taken_.load(std::memory_order_relaxed)) {
      if (++tries % kPausesPerLook) {
        mindtorch::cpu_relax();
      } else {
        std::this_thread::yield();  // the holder may have lost its core
      }
    }
  }
}

QueueEntry& WorkQueue::next_free() {
  const size_t waiting = waiting_.load(std::memory_order_relaxed);
  if (waiting == ring_.size()) {
    std::vector<QueueEntry> larger(std::max(kFirstCapacity, 2 * waiting));
    for (size_t i = 0; i < waiting; ++i) larger[i] = std::move(ring_[(first_ + i) % waiting]);
    ring_.swap(larger);
    first_ = 0;
  }
  QueueEntry& entry = ring_[(first_ + waiting) & (ring_.size() - 1)];
  entry.number = issued_.load(std::memory_order_relaxed);
  return entry;
}

static thread_local uint64_t last_task = 0;

uint64_t last_task_of_thread() { return last_task; }

void WorkQueue::add() {
  last_task = issued_.load(std::memory_order_relaxed);
  issued_.store(last_task + 1, std::memory_order_relaxed);
  waiting_ = waiting_.load(std::memory_order_relaxed) + 1;
}

void WorkQueue::wake() {
  // The worker says that it sleeps before it looks for the last time; both are sequentially
  // consistent, so one of the two sees the other.
  if (!sleeping_) return;
  const std::lock_guard hold(sleep_);
  bell_.notify_one();
}

void WorkQueue::push(std::shared_ptr<Work> work) {
  {
    const std::lock_guard hold(lock_);
    next_free().work = std::move(work);
    add();
  }
  wake();
}

void WorkQueue::push(std::shared_ptr<const Kernel> kernel, void* const* arguments, size_t count) {
  {
    const std::lock_guard hold(lock_);
    QueueEntry& entry = next_free();
    entry.kernel = std::move(kernel);
    std::copy_n(arguments, count, entry.arguments.begin());
    add();
  }
  wake();
}

void WorkQueue::push(std::shared_ptr<const Model> model) {
  {
    const std::lock_guard hold(lock_);
    next_free().model = std::move(model);
    add();
  }
  wake();
}

bool WorkQueue::take(QueueEntry& entry) {
  static const int looks = std::thread::hardware_concurrency() > 1 ? kLooks : 0;
  while (true) {
    for (int look = 0; look < looks && !ready(); ++look) {
      for (int i = 0; i < kPausesPerLook && !ready(); ++i) mindtorch::cpu_relax();
      std::this_thread::yield();
    }
    if (!ready()) {
      std::unique_lock hold(sleep_);
      sleeping_ = true;
      bell_.wait(hold, [&] { return ready(); });
      sleeping_ = false;
    }
    const std::lock_guard hold(lock_);
    if (waiting_ != 0) {
      entry = std::move(ring_[first_]);
      first_ = (first_ + 1) & (ring_.size() - 1);
      --waiting_;
      if (entry.work) taken_ = entry.work;
      return true;
    }
    if (stopping_) return false;
  }
}

void WorkQueue::finish() {
  if (taken_) {  // only the worker changes it
    const std::lock_guard hold(lock_);
    taken_ = nullptr;
  }
  ++finished_;
}

std::shared_ptr<const Work> WorkQueue::front() {
  const std::lock_guard hold(lock_);
  if (taken_ || waiting_ == 0) return taken_;
  return ring_[first_].work;
}

std::vector<QueueEntry> WorkQueue::drop() {
  std::vector<QueueEntry> dropped;
  const std::lock_guard hold(lock_);
  for (; waiting_ != 0; --waiting_) {
    dropped.push_back(std::move(ring_[first_]));
    first_ = (first_ + 1) & (ring_.size() - 1);
  }
  finished_ += dropped.size();
  return dropped;
}

void WorkQueue::stop() {
  stopping_ = true;
  wake();
}

}  // namespace sim
