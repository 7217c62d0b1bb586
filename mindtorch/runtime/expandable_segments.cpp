#include "mindtorch/runtime/expandable_segments.h"

#include "mindtorch/base/round_up.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace mindtorch::runtime {
namespace {

constexpr size_t kSmallPage = size_t{2} << 20;

bool is_free(const Block* block) { return block != nullptr && block->state == BlockState::kFree; }

}  // namespace

bool ExpandableSegments::enabled() const {
  return state_.conf.get()->expandable_segments && state_.driver.virtual_memory() != nullptr;
}

size_t ExpandableSegments::page_size(PoolKind pool) const {
  const size_t wanted =
      pool == PoolKind::kSmall ? kSmallPage : state_.conf.get()->large_segment_size;
  return round_up(wanted, memory().granularity(state_.device));
}

// Room for all of the device's memory and an eighth, so that one range is enough. False for a
// request beyond that, too: no memory could be put behind it, and the range would stay.
bool ExpandableSegments::add_address_range(Arena& arena, PoolKind pool, size_t needed) {
  const size_t total = state_.driver.memory_info(state_.device).total_bytes;
  const size_t page = page_size(pool);
  const size_t bytes = round_up(total + total / 8, page);
  if (needed > bytes) return false;
  void* const data = memory().reserve(state_.device, bytes);
  if (data == nullptr) return false;
  try {
    const std::lock_guard lock(arena);
    arena.add_segment(static_cast<char*>(data), bytes, pool, page);
  } catch (...) {
    memory().unreserve(state_.device, data, bytes);
    throw;
  }
  return true;
}

// Page by page, so that every page can go back on its own. All or nothing.
bool ExpandableSegments::map_pages(char* data, size_t bytes, size_t page) {
  size_t done = 0;
  try {
    while (done < bytes && memory().map(state_.device, data + done, page)) done += page;
  } catch (...) {
    if (done > 0) memory().unmap(state_.device, data, done);
    throw;
  }
  if (done == bytes) return true;
  if (done > 0) memory().unmap(state_.device, data, done);
  return false;
}

// The lowest unmapped addresses that give `size` bytes together with the free block before them.
static Block* find_room(Arena& arena, PoolKind pool, size_t size) MT_REQUIRES(arena) {
  Block* lowest = nullptr;
  for (Segment* segment = arena.segments(); segment != nullptr; segment = segment->next) {
    if (!segment->expandable || segment->pool != pool) continue;
    // Without gaps only the end is unmapped: no need to walk over all blocks.
    Block* block = segment->has_gaps ? segment->first : segment->last;
    segment->has_gaps = false;
    for (; block != nullptr; block = block->next) {
      if (block->state != BlockState::kUnmapped) continue;
      if (block->next != nullptr) segment->has_gaps = true;
      const size_t before = is_free(block->previous) ? block->previous->size : 0;
      if (before + block->size < size) continue;
      if (lowest == nullptr || block->data < lowest->data) lowest = block;
      break;
    }
  }
  return lowest;
}

Block* ExpandableSegments::grow(const AllocationRequest& request) {
  Mapping mapping = begin_mapping(request);
  if (mapping.pages == nullptr) {
    if (!add_address_range(*request.arena, request.pool, request.size)) return nullptr;
    mapping = begin_mapping(request);
    if (mapping.pages == nullptr) return nullptr;  // other threads were faster
  }
  try {
    const MemoryLimit::Reservation reservation(state_.limit, mapping.bytes);
    const bool mapped = reservation.granted() &&
                        map_pages(mapping.pages->data, mapping.bytes, mapping.pages->segment->page);
    if (!mapped) {
      cancel_mapping(*request.arena, mapping);
      return nullptr;
    }
    state_.stats.count_map(request.pool, mapping.bytes);
  } catch (...) {
    cancel_mapping(*request.arena, mapping);
    throw;
  }
  return finish_mapping(request, mapping);
}

// While the driver is asked, other threads must neither take nor merge what takes part.
ExpandableSegments::Mapping ExpandableSegments::begin_mapping(const AllocationRequest& request) {
  Arena& arena = *request.arena;
  const ArenaLock lock(state_.arenas, arena);
  arena.coalesce();
  Block* const pages = find_room(arena, request.pool, request.size);
  if (pages == nullptr) return {};
  Block* const before = is_free(pages->previous) ? pages->previous : nullptr;
  const size_t have = before == nullptr ? 0 : before->size;
  const size_t bytes = std::min(pages->size, round_up(request.size - have, pages->segment->page));
  if (bytes < pages->size) arena.split(pages, bytes);
  pages->state = BlockState::kMapping;
  if (before != nullptr) {
    arena.withdraw(before);
    before->state = BlockState::kMapping;
  }
  return {pages, before, bytes};
}

void ExpandableSegments::cancel_mapping(Arena& arena, const Mapping& mapping) {
  const ArenaLock lock(state_.arenas, arena);
  arena.coalesce();
  mapping.pages->state = BlockState::kUnmapped;
  mapping.pages->segment->has_gaps = true;
  arena.merge_with_neighbours(mapping.pages);
  if (mapping.before != nullptr) {
    mapping.before->state = BlockState::kFree;
    arena.make_available(arena.merge_with_neighbours(mapping.before));
  }
}

Block* ExpandableSegments::finish_mapping(const AllocationRequest& request,
                                          const Mapping& mapping) {
  Arena& arena = *request.arena;
  const ArenaLock lock(state_.arenas, arena);
  arena.coalesce();
  state_.history.trace(TraceAction::kSegmentMap, mapping.pages->data, mapping.bytes, arena,
                       request.context);
  mapping.pages->state = BlockState::kFree;
  if (mapping.before != nullptr) mapping.before->state = BlockState::kFree;
  // Blocks freed meanwhile, before or after, join as well. `before` itself is in no index.
  Block* block = arena.join(mapping.before, mapping.pages);
  block->segment->context = request.context;
  block = arena.claim(block, request.size, request.requested);
  state_.history.trace_allocation(*block, request.context);
  return block;
}

size_t ExpandableSegments::unmap_free_pages(Arena& arena) {
  if (state_.driver.virtual_memory() == nullptr) return 0;
  std::vector<Block*> victims;
  {
    const ArenaLock lock(state_.arenas, arena);
    arena.coalesce();
    for (Segment* segment = arena.segments(); segment != nullptr; segment = segment->next) {
      if (!segment->expandable) continue;
      const size_t page = segment->page;
      for (Block* block = segment->first; block != nullptr; block = block->next) {
        if (block->state != BlockState::kFree) continue;
        const auto offset = static_cast<size_t>(block->data - segment->data);
        const size_t start = round_up(offset, page);
        const size_t end = (offset + block->size) / page * page;
        if (end <= start) continue;
        arena.withdraw(block);
        if (start > offset) {
          Block* head = block;
          block = arena.split(head, start - offset);
          arena.make_available(head);
        }
        if (end - start < block->size) arena.make_available(arena.split(block, end - start));
        block->state = BlockState::kMapping;
        victims.push_back(block);
      }
    }
  }
  if (victims.empty()) return 0;

  const auto return_as = [&](BlockState state) {
    const ArenaLock lock(state_.arenas, arena);
    arena.coalesce();
    for (Block* block : victims) {
      if (state == BlockState::kUnmapped) {
        state_.history.trace(TraceAction::kSegmentUnmap, block->data, block->size, arena, nullptr);
      }
      block->state = state;
      block->segment->has_gaps = true;
      block = arena.merge_with_neighbours(block);
      if (state == BlockState::kFree) arena.make_available(block);
    }
  };
  try {
    state_.wait_for_stream(arena);
  } catch (...) {
    return_as(BlockState::kFree);
    throw;
  }
  size_t freed = 0;
  for (Block* block : victims) {
    memory().unmap(state_.device, block->data, block->size);
    state_.stats.count_unmap(block->segment->pool, block->size);
    freed += block->size;
  }
  return_as(BlockState::kUnmapped);
  return freed;
}

void ExpandableSegments::destroy(const Segment& segment) noexcept {
  for (const Block* block = segment.first; block != nullptr;) {
    char* const start = block->data;
    size_t bytes = 0;
    for (; block != nullptr && block->state != BlockState::kUnmapped; block = block->next) {
      bytes += block->size;
    }
    if (bytes != 0) memory().unmap(state_.device, start, bytes);
    if (block != nullptr) block = block->next;
  }
  memory().unreserve(state_.device, segment.data, segment.size);
}

}  // namespace mindtorch::runtime
