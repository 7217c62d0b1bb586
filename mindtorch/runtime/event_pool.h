#pragma once

#include <mutex>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/base/thread_safety.h"
#include "mindtorch/driver/driver.h"

namespace mindtorch::runtime {

// Events without timing, kept for reuse: creating one is a slow call on every device. Thread-safe.
class MT_API EventPool {
 public:
  EventPool(driver::DeviceDriver& driver, int device) : driver_(driver), device_(device) {}
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  driver::EventHandle take();
  void give(driver::EventHandle event) noexcept;

 private:
  driver::DeviceDriver& driver_;
  const int device_;
  std::mutex mutex_;
  std::vector<driver::EventHandle> idle_ MT_GUARDED_BY(mutex_);
};

}  // namespace mindtorch::runtime
