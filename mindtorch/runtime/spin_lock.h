#pragma once

#include <sched.h>

#include <atomic>

#include "mindtorch/base/cpu_relax.h"
#include "mindtorch/base/macros.h"
#include "mindtorch/base/thread_safety.h"

namespace mindtorch::runtime {

// A lock for sections of a few dozen instructions: one locked instruction to take it, none to
// give it back. A thread that waits long yields. Never held across a driver call.
class MT_MUTEX SpinLock {
 public:
  void lock() noexcept MT_ACQUIRE() {
    while (taken_.exchange(true, std::memory_order_acquire)) wait();
  }
  bool try_lock() noexcept MT_TRY_ACQUIRE(true) {
    return !taken_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept MT_RELEASE() { taken_.store(false, std::memory_order_release); }

 private:
  [[gnu::noinline]] void wait() const noexcept {
    for (int spins = 0; taken_.load(std::memory_order_relaxed); ++spins) {
      if (spins < 64) {
        cpu_relax();
      } else {
        sched_yield();
      }
    }
  }

  std::atomic<bool> taken_{false};
};

}  // namespace mindtorch::runtime
