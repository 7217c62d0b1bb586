#pragma once

#include <atomic>
#include <cstdint>

namespace mindtorch::runtime {

// Why an allocation cannot take the short path. One load shows that none applies. Thread-safe.
class SlowPathFlags {
 public:
  enum Flag : uint32_t {
    kHistory = 1,     // every allocation and free is recorded
    kPoolScopes = 2,  // some allocations go to a private pool
    kRounding = 4,    // sizes are rounded by roundup_power2_divisions
  };

  bool any() const noexcept { return bits_.load(std::memory_order_relaxed) != 0; }
  bool has(Flag flag) const noexcept { return (bits_.load(std::memory_order_relaxed) & flag) != 0; }
  void set(Flag flag, bool on) noexcept {
    if (on) {
      bits_.fetch_or(flag, std::memory_order_relaxed);
    } else {
      bits_.fetch_and(~uint32_t{flag}, std::memory_order_relaxed);
    }
  }

 private:
  std::atomic<uint32_t> bits_{0};
};

}  // namespace mindtorch::runtime
