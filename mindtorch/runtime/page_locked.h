#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "mindtorch/base/macros.h"
#include "mindtorch/base/thread_safety.h"
#include "mindtorch/runtime/allocator.h"

namespace mindtorch::runtime {

// Host memory whose pages the system keeps in place: what pinned memory is where no device's driver
// gives any. Thread-safe. Throws RuntimeError when the system refuses, as it does above a limit.
class MT_API PageLockedMemory final : public Allocator {
 public:
  Allocation allocate(size_t bytes) override;  // null for 0 bytes
  void release(Allocation allocation) noexcept override;
  bool owns(const void* data) const;

 private:
  mutable std::mutex mutex_;
  std::map<const char*, size_t> blocks_ MT_GUARDED_BY(mutex_);
};

// The process's one. Never destroyed.
MT_API PageLockedMemory& page_locked_memory();

}  // namespace mindtorch::runtime
