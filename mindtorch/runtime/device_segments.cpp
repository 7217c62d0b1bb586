#include "mindtorch/runtime/device_segments.h"

#include <algorithm>
#include <mutex>

#include "mindtorch/base/error.h"

namespace mindtorch::runtime {

Block* DeviceSegments::grow(const AllocationRequest& request) {
  const size_t bytes = request.segment_size;
  const MemoryLimit::Reservation reservation(state_.limit, bytes);
  if (!reservation.granted()) return nullptr;
  auto* const data = static_cast<char*>(state_.driver.allocate(state_.device, bytes));
  if (data == nullptr) return nullptr;
  Arena& arena = *request.arena;
  try {
    const ArenaLock lock(state_.arenas, arena);
    Segment* const segment = arena.add_segment(data, bytes, request.pool);
    state_.history.trace(TraceAction::kSegmentAlloc, data, bytes, arena, request.context);
    segment->context = request.context;
    state_.stats.count_segment_alloc(*segment);
    Block* const block = arena.claim(segment->first, request.size, request.requested);
    state_.history.trace_allocation(*block, request.context);
    return block;
  } catch (...) {  // add_segment() had no memory
    state_.driver.release(state_.device, data);
    throw;
  }
}

void DeviceSegments::adopt(
    Arena& arena, void* data, size_t bytes, size_t requested, PoolKind pool) {
  MT_CHECK(data != nullptr && bytes > 0, ValueError, "a cached block needs an address and a size");
  const std::lock_guard lock(arena);
  Segment* const segment = arena.add_segment(static_cast<char*>(data), bytes, pool);
  state_.stats.count_segment_alloc(*segment);
  segment->first->requested = requested;
  arena.make_available(segment->first);
}

void DeviceSegments::detach(Arena& arena, Segment* segment, std::vector<Segment*>& victims) {
  victims.push_back(segment);
  state_.history.trace(TraceAction::kSegmentFree, segment->data, segment->size, arena,
                       segment->context);
  arena.detach(segment);
}

// What the stream did with the segments has to be over. They are out of the arena already, so that
// nobody takes a block of them meanwhile; if the wait fails they return to it.
size_t DeviceSegments::give_to_driver(Arena& arena, const std::vector<Segment*>& segments) {
  if (segments.empty()) return 0;
  try {
    state_.wait_for_stream(arena);
  } catch (...) {
    const std::lock_guard lock(arena);
    for (Segment* segment : segments) {
      state_.history.trace(TraceAction::kSegmentAlloc, segment->data, segment->size, arena,
                           segment->context);
      arena.attach(segment);
    }
    throw;
  }
  size_t freed = 0;
  for (Segment* segment : segments) {
    state_.driver.release(state_.device, segment->data);
    state_.stats.count_segment_free(*segment);
    freed += segment->size;
    Arena::destroy(segment);
  }
  return freed;
}

size_t DeviceSegments::release_free(Arena& arena, const Victims& which) {
  std::vector<Segment*> victims;
  size_t bytes = 0;
  {
    const ArenaLock lock(state_.arenas, arena);
    arena.coalesce();
    for (PoolKind pool : {PoolKind::kLarge, PoolKind::kSmall}) {
      Segment* segment = arena.oldest_free(pool);
      while (segment != nullptr && bytes < which.enough && arena.age(segment) >= which.min_age) {
        Segment* const next = segment->free_next;
        if (segment->size < which.smaller_than) {
          bytes += segment->size;
          detach(arena, segment, victims);
        }
        segment = next;
      }
    }
  }
  return give_to_driver(arena, victims);
}

bool DeviceSegments::release_oversize(const AllocationRequest& request) {
  const size_t max_split_size = state_.conf.get()->max_split_size;
  if (max_split_size == AllocConf::kUnlimited) return false;
  const size_t wanted = std::max(request.segment_size, max_split_size);
  std::vector<Segment*> victims;
  size_t bytes = 0;
  Arena& arena = *request.arena;
  {
    const ArenaLock lock(state_.arenas, arena);
    arena.coalesce();
    const SizeIndex& free_blocks = arena.index(request.pool);
    const auto take_out = [&](Block* block) {
      arena.is_held();
      bytes += block->size;
      detach(arena, block->segment, victims);
    };
    const auto is_segment = [](const Block* block) {
      return !block->segment->expandable && !block->is_split();
    };
    if (Block* block = free_blocks.find(wanted); block != nullptr && is_segment(block)) {
      take_out(block);
    } else {
      for (Block* largest = free_blocks.largest();
           largest != nullptr && bytes < wanted && largest->size >= max_split_size &&
           is_segment(largest);
           largest = free_blocks.largest()) {
        take_out(largest);
      }
    }
  }
  give_to_driver(arena, victims);
  return bytes >= wanted;
}

}  // namespace mindtorch::runtime
