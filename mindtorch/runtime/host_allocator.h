#pragma once

#include <chrono>
#include <cstddef>

#include "mindtorch/base/macros.h"
#include "mindtorch/runtime/allocator.h"

namespace mindtorch::runtime {

// CPU memory is pooled, because page faults on memory just given back to the kernel cost more than
// the arithmetic done on it.
//  - Up to kSmallLimit: one free list per size class and thread, no lock.
//  - Above: one process-wide best-fit cache, bounded (a quarter of the machine's memory, or
//    MINDTORCH_CPU_CACHE_MB), oldest blocks dropped first, given back whole when an allocation
//    fails or the machine runs low on memory. A block that nobody wanted for kKeepSeconds goes back
//    to the system at the next allocation or release of a large one: there is no thread that waits
//    for it, so that a process that does nothing at all keeps what it has until empty_cache().
// Blocks are aligned to 64 bytes, from 2 MiB on to huge pages. Any thread may release any block.
class MT_API HostAllocator final : public Allocator {
 public:
  static constexpr size_t kSmallLimit = 32 * 1024;
  static constexpr int kKeepSeconds = 30;

  Allocation allocate(size_t bytes) override;
  void release(Allocation allocation) noexcept override;

  // Gives all cached memory of this thread and of the shared cache back to the system.
  void empty_cache() noexcept;
  // How long large blocks are kept, instead of kKeepSeconds.
  void set_keep_time(std::chrono::milliseconds time) noexcept;

  struct Stats {
    size_t allocated_bytes;  // large blocks in use
    size_t cached_bytes;     // large blocks kept for reuse
    size_t cache_limit_bytes;
  };
  Stats stats() const;
};

MT_API HostAllocator& host_allocator();

// The small-object pool on its own: for the tensor and storage objects themselves.
MT_API void* allocate_small(size_t bytes);
MT_API void release_small(void* data, size_t bytes) noexcept;

}  // namespace mindtorch::runtime
