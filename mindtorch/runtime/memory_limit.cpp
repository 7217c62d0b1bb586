#include "mindtorch/runtime/memory_limit.h"

#include <cmath>

#include "mindtorch/base/error.h"

namespace mindtorch::runtime {

void MemoryLimit::set_fraction(double fraction) {
  MT_CHECK(fraction >= 0 && fraction <= 1, ValueError, "Invalid fraction value: ", fraction,
           ". Allowed range: 0~1");
  std::lock_guard lock(mutex_);
  fraction_ = fraction;
}

double MemoryLimit::fraction() const {
  std::lock_guard lock(mutex_);
  return fraction_;
}

int64_t MemoryLimit::bytes() const {
  const auto total = static_cast<double>(driver_.memory_info(device_).total_bytes);
  return static_cast<int64_t>(std::floor(fraction() * total));
}

bool MemoryLimit::reserve(size_t bytes) {
  {
    std::lock_guard lock(mutex_);
    if (fraction_ >= 1.0) {
      reserving_ += bytes;
      return true;
    }
  }
  const int64_t limit = this->bytes();  // asks the driver: without the lock
  std::lock_guard lock(mutex_);
  if (stats_.reserved_bytes() + static_cast<int64_t>(reserving_ + bytes) > limit) return false;
  reserving_ += bytes;
  return true;
}

void MemoryLimit::unreserve(size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  reserving_ -= bytes;
}

}  // namespace mindtorch::runtime
