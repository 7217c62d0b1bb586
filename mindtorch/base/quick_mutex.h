#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "mindtorch/base/thread_safety.h"

namespace mindtorch {

// A mutex for what is nearly always free: then it costs an exchange to take and one to give back.
class MT_MUTEX QuickMutex {
 public:
  bool try_lock() noexcept MT_TRY_ACQUIRE(true) {
    uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void lock() noexcept MT_ACQUIRE() {
    uint32_t taken = kTaken;
    for (int tries = 0;;) {
      uint32_t seen = kFree;
      if (state_.compare_exchange_strong(seen, taken, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
        return;
      }
      if (seen == kBrief) {
        if (++tries < kYields) {
          std::this_thread::yield();
        } else {  // its holder does not run: yielding may not be enough
          std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        continue;
      }
      if (seen == kTaken && !state_.compare_exchange_strong(seen, kWanted)) continue;
      taken = kWanted;  // others may wait, too
      state_.wait(kWanted);
    }
  }
  void unlock() noexcept MT_RELEASE() {
    if (state_.exchange(kFree, std::memory_order_release) == kWanted) state_.notify_one();
  }
  // For some hundred instructions: nobody is told when it is given back, which is a plain store.
  // Whoever wants it meanwhile tries again and again.
  bool try_lock_briefly() noexcept MT_TRY_ACQUIRE(true) {
    uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kBrief, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void unlock_briefly() noexcept MT_RELEASE() { state_.store(kFree, std::memory_order_release); }
  // Nothing. Said by a holder whose lock the analysis cannot follow.
  void is_held() const noexcept MT_SAYS_HELD() {}

 private:
  static constexpr int kYields = 64;
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kTaken = 1;
  static constexpr uint32_t kWanted = 2;  // taken, and somebody waits
  static constexpr uint32_t kBrief = 3;   // taken briefly
  std::atomic<uint32_t> state_{kFree};
};

}  // namespace mindtorch
