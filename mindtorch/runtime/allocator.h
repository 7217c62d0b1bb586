#pragma once

#include <cstddef>

namespace mindtorch::runtime {

struct Allocation {
  void* data = nullptr;
  size_t capacity_bytes = 0;  // at least what was asked for
  void* block = nullptr;      // the allocator's own
};

// Where a storage gets its bytes. One object per device; outlives every storage.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // Throws OutOfMemoryError or RuntimeError; never returns null for bytes > 0.
  virtual Allocation allocate(size_t bytes) = 0;
  virtual void release(Allocation allocation) noexcept = 0;
};

}  // namespace mindtorch::runtime
