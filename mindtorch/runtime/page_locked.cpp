#include "mindtorch/runtime/page_locked.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "mindtorch/base/error.h"

namespace mindtorch::runtime {

Allocation PageLockedMemory::allocate(size_t bytes) {
  if (bytes == 0) return {};
  void* const data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MT_CHECK(data != MAP_FAILED, OutOfMemoryError, "the system has no ", bytes, " bytes left");
  if (mlock(data, bytes) != 0) {
    const int reason = errno;
    munmap(data, bytes);
    MT_THROW(RuntimeError, "the system does not pin ", bytes, " bytes: ", std::strerror(reason),
             ". `ulimit -l` shows and sets its limit.");
  }
  const std::lock_guard lock(mutex_);
  blocks_[static_cast<const char*>(data)] = bytes;
  return {data, bytes};
}

void PageLockedMemory::release(Allocation allocation) noexcept {
  if (allocation.data == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    blocks_.erase(static_cast<const char*>(allocation.data));
  }
  munmap(allocation.data, allocation.capacity_bytes);
}

bool PageLockedMemory::owns(const void* data) const {
  const std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(static_cast<const char*>(data));
  if (after == blocks_.begin()) return false;
  const auto& [start, bytes] = *--after;
  return static_cast<const char*>(data) < start + bytes;
}

PageLockedMemory& page_locked_memory() {
  static PageLockedMemory& memory = *new PageLockedMemory;
  return memory;
}

}  // namespace mindtorch::runtime
