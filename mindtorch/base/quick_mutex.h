#pragma once

#include <atomic>
#include <cstdint>

namespace mindtorch {

// A mutex for what is nearly always free: then it costs an exchange to take and one to give back.
class QuickMutex {
 public:
  bool try_lock() noexcept {
    uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void lock() noexcept {
    if (try_lock()) return;
    while (state_.exchange(kWanted, std::memory_order_acquire) != kFree) state_.wait(kWanted);
  }
  void unlock() noexcept {
    if (state_.exchange(kFree, std::memory_order_release) == kWanted) state_.notify_one();
  }

 private:
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kTaken = 1;
  static constexpr uint32_t kWanted = 2;  // taken, and somebody waits
  std::atomic<uint32_t> state_{kFree};
};

}  // namespace mindtorch
