#pragma once

#include <atomic>
#include <mutex>

#include "mindtorch/base/macros.h"

namespace mindtorch::runtime {

class Accelerator;

// What a program asks of how ops compute, of every device. Kernels and drivers read it; each device
// says in its row what it can do about it. Changing it runs what was recorded before under the old
// mode, and drops what was prepared or captured under it. Thread-safe.
class MT_API MathMode {
 public:
  static MathMode& instance();

  // Products of float32 matrices may be computed with fewer bits, where the device is quicker so.
  bool reduces_float32() const noexcept { return reduces_float32_.load(std::memory_order_relaxed); }
  void set_reduces_float32(bool on);
  // The same call gives the same bits each time.
  bool is_deterministic() const noexcept {
    return is_deterministic_.load(std::memory_order_relaxed);
  }
  void set_deterministic(bool on);
  // A device comes into use, under the mode in force.
  void apply(Accelerator& accelerator);

 private:
  std::mutex mutex_;
  std::atomic<bool> reduces_float32_{false};
  std::atomic<bool> is_deterministic_{false};
};

}  // namespace mindtorch::runtime
