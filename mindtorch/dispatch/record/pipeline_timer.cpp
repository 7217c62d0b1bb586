#include "mindtorch/dispatch/record/pipeline_timer.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace mindtorch::dispatch {

PipelineTimer& PipelineTimer::instance() {
  static PipelineTimer* timer = new PipelineTimer;  // its thread may outlive main()
  // A condition that threads of the parent wait for is of no use to a child.
  static const int registered = pthread_atfork(nullptr, nullptr, [] { timer = new PipelineTimer; });
  (void)registered;
  return *timer;
}

void PipelineTimer::start() {
  if (std::exchange(is_started_, true)) return;
  std::thread([this] { work(); }).detach();
}

void PipelineTimer::watch(OpQueue& queue, std::chrono::microseconds wait) {
  constexpr std::chrono::microseconds kForever = std::chrono::hours(24 * 365);
  const std::scoped_lock lock(mutex_);
  start();
  std::erase_if(watched_, [&](const Watched& each) { return each.queue == &queue; });
  watched_.push_back({&queue, queue.generation(), Clock::now() + std::min(wait, kForever)});
  changed_.notify_one();
}

void PipelineTimer::forget(const OpQueue& queue) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(watched_, [&](const Watched& each) { return each.queue == &queue; });
}

void PipelineTimer::work() {
  Relockable lock(mutex_);
  for (;;) {
    const auto next = std::ranges::min_element(watched_, {}, &Watched::due);
    if (next == watched_.end()) {
      changed_.wait(lock.waiting());
      continue;
    }
    const Watched due = *next;
    if (due.due > Clock::now()) {
      changed_.wait_until(lock.waiting(), due.due);
      continue;
    }
    watched_.erase(next);
    lock.unlock();
    if (due.queue->generation() == due.generation) due.queue->flush("wait");
    lock.lock();
  }
}

}  // namespace mindtorch::dispatch
