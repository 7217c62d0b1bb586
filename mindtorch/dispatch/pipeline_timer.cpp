#include "mindtorch/dispatch/pipeline_timer.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "mindtorch/dispatch/pipeline.h"

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

void PipelineTimer::watch(Window& window, std::chrono::microseconds wait) {
  constexpr std::chrono::microseconds kForever = std::chrono::hours(24 * 365);
  const std::scoped_lock lock(mutex_);
  start();
  std::erase_if(watched_, [&](const Watched& each) { return each.window == &window; });
  watched_.push_back({&window, window.epoch(), Clock::now() + std::min(wait, kForever)});
  changed_.notify_one();
}

void PipelineTimer::forget(const Window& window) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(watched_, [&](const Watched& each) { return each.window == &window; });
}

void PipelineTimer::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto next = std::ranges::min_element(watched_, {}, &Watched::due);
    if (next == watched_.end()) {
      changed_.wait(lock);
      continue;
    }
    const Watched due = *next;
    if (due.due > Clock::now()) {
      changed_.wait_until(lock, due.due);
      continue;
    }
    watched_.erase(next);
    lock.unlock();
    if (due.window->epoch() == due.epoch) Pipeline::run_window(*due.window, "wait");
    lock.lock();
  }
}

}  // namespace mindtorch::dispatch
