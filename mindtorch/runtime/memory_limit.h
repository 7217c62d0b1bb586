#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "mindtorch/base/thread_safety.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/allocator_stats.h"

namespace mindtorch::runtime {

// How much of the device this process may reserve, as a fraction of its memory. Thread-safe.
class MemoryLimit {
 public:
  MemoryLimit(driver::DeviceDriver& driver, int device, AllocatorStats& stats, double fraction)
      : driver_(driver), device_(device), stats_(stats), fraction_(fraction) {}

  // 1.0: no limit. Memory already reserved stays. Throws ValueError outside of 0 to 1.
  void set_fraction(double fraction);
  double fraction() const;
  // The fraction of the device's memory, in bytes.
  int64_t bytes() const;

  // Counts against the limit from before the driver is asked until the segment is in the
  // statistics.
  class Reservation {
   public:
    Reservation(MemoryLimit& limit, size_t bytes)
        : limit_(limit), bytes_(bytes), granted_(limit.reserve(bytes)) {}
    ~Reservation() {
      if (granted_) limit_.unreserve(bytes_);
    }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    bool granted() const noexcept { return granted_; }

   private:
    MemoryLimit& limit_;
    const size_t bytes_;
    const bool granted_;
  };

 private:
  bool reserve(size_t bytes);
  void unreserve(size_t bytes) noexcept;

  driver::DeviceDriver& driver_;
  const int device_;
  AllocatorStats& stats_;
  mutable std::mutex mutex_;
  double fraction_ MT_GUARDED_BY(mutex_);
  size_t reserving_ MT_GUARDED_BY(mutex_) = 0;  // by the reservations there are
};

}  // namespace mindtorch::runtime
