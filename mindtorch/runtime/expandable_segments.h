#pragma once

#include <cstddef>

#include "mindtorch/runtime/allocator_state.h"

namespace mindtorch::runtime {

// Segments that grow in place: a long range of addresses, with memory put behind it page by page.
// What was freed and what is added join into one block, which separate segments never do.
// Thread-safe; the driver is called without a lock.
class ExpandableSegments {
 public:
  explicit ExpandableSegments(AllocatorState& state) : state_(state) {}

  // The settings ask for them, and the driver can.
  bool enabled() const;
  // A block over new pages, and free ones before them; null when the device or the limit has no
  // more. Throws what the driver throws.
  Block* grow(const AllocationRequest& request);
  // Gives back the pages that lie wholly inside free blocks; waits for the arena's stream. Returns
  // the bytes given back.
  size_t unmap_free_pages(Arena& arena);
  // The arena goes with its allocator.
  void destroy(const Segment& segment) noexcept;

 private:
  // Unmapped addresses that some thread puts memory behind.
  struct Mapping {
    Block* pages = nullptr;
    Block* before = nullptr;  // the free block they continue, if there is one
    size_t bytes = 0;         // of the pages
  };

  Mapping begin_mapping(const AllocationRequest& request);  // no pages: no room
  void cancel_mapping(Arena& arena, const Mapping& mapping);
  Block* finish_mapping(const AllocationRequest& request, const Mapping& mapping);
  driver::VirtualMemory& memory() const { return *state_.driver.virtual_memory(); }
  size_t page_size(PoolKind pool) const;
  bool add_address_range(Arena& arena, PoolKind pool, size_t needed);
  bool map_pages(char* data, size_t bytes, size_t page);

  AllocatorState& state_;
};

}  // namespace mindtorch::runtime
