#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mindtorch/runtime/allocator_state.h"

namespace mindtorch::runtime {

// Segments that are one allocation of the driver each: how they come, and how they go back.
// Thread-safe; the driver is called without a lock.
class DeviceSegments {
 public:
  explicit DeviceSegments(AllocatorState& state) : state_(state) {}

  // A block of a new segment; null when the device or the limit has no more. Throws what the driver
  // throws.
  Block* grow(const AllocationRequest& request);
  // Adds memory that the caller got from the driver as a cached segment.
  void adopt(Arena& arena, void* data, size_t bytes, size_t requested, PoolKind pool);

  // Which free segments go back.
  struct Victims {
    uint64_t min_age = 0;  // in searches of the arena
    size_t smaller_than = SIZE_MAX;
    size_t enough = SIZE_MAX;  // stop once this many bytes are freed
  };
  // Oldest first; waits for the arena's stream. Returns the bytes given back.
  size_t release_free(Arena& arena, const Victims& which);
  // torch's rule for max_split_size: the smallest segment that is large enough by itself, or else
  // the largest ones until they are enough together. False: they were not.
  bool release_oversize(const AllocationRequest& request);
  // The arena goes with its allocator.
  void destroy(const Segment& segment) noexcept {
    state_.driver.release(state_.device, segment.data);
  }

 private:
  void detach(Arena& arena, Segment* segment, std::vector<Segment*>& victims) MT_REQUIRES(arena);
  size_t give_to_driver(Arena& arena, const std::vector<Segment*>& segments);

  AllocatorState& state_;
};

}  // namespace mindtorch::runtime
