// Segments that grow in place: a long range of addresses, with memory put behind it page by page.
// What was freed and what is added join into one block, which separate segments never do.
#include <algorithm>

#include "mindtorch/runtime/caching_allocator.h"

namespace mindtorch::runtime {
namespace {

constexpr size_t kSmallPage = size_t{2} << 20;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

bool is_free(const Block* block) { return block != nullptr && block->state == BlockState::kFree; }

}  // namespace

size_t CachingAllocator::page_size(PoolKind pool) {
  const size_t wanted = pool == PoolKind::kSmall ? kSmallPage : conf().large_segment_size;
  return round_up(wanted, driver_.virtual_memory()->granularity(device_));
}

// Room for all of the device's memory and an eighth, so that one range is enough. False for a
// request beyond that, too: no memory could be put behind it, and the range would stay.
bool CachingAllocator::add_address_range(Arena& arena, PoolKind pool, size_t needed) {
  driver::VirtualMemory& memory = *driver_.virtual_memory();
  const size_t total = driver_.memory_info(device_).total_bytes;
  const size_t page = page_size(pool);
  const size_t bytes = round_up(total + total / 8, page);
  if (needed > bytes) return false;
  void* data = memory.reserve(device_, bytes);
  if (data == nullptr) return false;
  try {
    const std::lock_guard lock(arena);
    arena.add_segment(static_cast<char*>(data), bytes, pool, page);
  } catch (...) {
    memory.unreserve(device_, data, bytes);
    throw;
  }
  return true;
}

// Page by page, so that every page can go back on its own. All or nothing.
bool CachingAllocator::map_pages(char* data, size_t bytes, size_t page) {
  driver::VirtualMemory& memory = *driver_.virtual_memory();
  size_t done = 0;
  try {
    while (done < bytes && memory.map(device_, data + done, page)) done += page;
  } catch (...) {
    if (done > 0) memory.unmap(device_, data, done);
    throw;
  }
  if (done == bytes) return true;
  if (done > 0) memory.unmap(device_, data, done);
  return false;
}

// The lowest unmapped addresses that give `size` bytes together with the free block before them.
static Block* find_room(Arena& arena, PoolKind pool, size_t size) {
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

Block* CachingAllocator::grow_expandable(Request& request) {
  Arena& arena = *request.arena;
  arena.lock();
  arena.settle();
  Block* room = find_room(arena, request.pool, request.size);
  if (room == nullptr) {
    arena.unlock();
    if (!add_address_range(arena, request.pool, request.size)) return nullptr;
    arena.lock();
    arena.settle();
    room = find_room(arena, request.pool, request.size);
    if (room == nullptr) {  // other threads were faster
      arena.unlock();
      return nullptr;
    }
  }
  // While the driver is asked, other threads must neither take nor merge what takes part.
  Block* before = is_free(room->previous) ? room->previous : nullptr;
  const size_t have = before == nullptr ? 0 : before->size;
  const size_t page = room->segment->page;
  const size_t bytes = std::min(room->size, round_up(request.size - have, page));
  if (bytes < room->size) arena.split(room, bytes);
  room->state = BlockState::kMapping;
  if (before != nullptr) {
    arena.withdraw(before);
    before->state = BlockState::kMapping;
  }
  leave(arena);

  bool mapped = false;
  const auto undo = [&] {
    arena.lock();
    arena.settle();
    room->state = BlockState::kUnmapped;
    room->segment->has_gaps = true;
    arena.merge_with_neighbours(room);
    if (before != nullptr) {
      before->state = BlockState::kFree;
      arena.make_available(arena.merge_with_neighbours(before));
    }
    leave(arena);
  };
  try {
    if (reserve(bytes)) {
      try {
        mapped = map_pages(room->data, bytes, page);
      } catch (...) {
        unreserve(bytes);
        throw;
      }
      if (!mapped) unreserve(bytes);
    }
  } catch (...) {
    undo();
    throw;
  }
  if (!mapped) {
    undo();
    return nullptr;
  }
  count_mapping(request.pool, static_cast<int64_t>(bytes));
  unreserve(bytes);
  arena.lock();
  arena.settle();
  trace(TraceAction::kSegmentMap, room->data, bytes, arena, request.context);
  room->state = BlockState::kFree;
  if (before != nullptr) before->state = BlockState::kFree;
  // Blocks freed meanwhile, before or after, join as well. `before` itself is in no index.
  Block* block = arena.join(before, room);
  block->segment->context = request.context;
  block = arena.claim(block, request.size, request.requested);
  trace_allocation(block, request);
  leave(arena);
  return block;
}

// Gives back the pages that lie wholly inside free blocks.
size_t CachingAllocator::unmap_free_pages(Arena& arena) {
  driver::VirtualMemory* const memory = driver_.virtual_memory();
  if (memory == nullptr) return 0;
  std::vector<Block*> victims;
  arena.lock();
  arena.settle();
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
  leave(arena);
  if (victims.empty()) return 0;

  const auto return_as = [&](BlockState state) {
    arena.lock();
    arena.settle();
    for (Block* block : victims) {
      if (state == BlockState::kUnmapped) {
        trace(TraceAction::kSegmentUnmap, block->data, block->size, arena, nullptr);
      }
      block->state = state;
      block->segment->has_gaps = true;
      block = arena.merge_with_neighbours(block);
      if (state == BlockState::kFree) arena.make_available(block);
    }
    leave(arena);
  };
  try {
    wait_for(arena);
  } catch (...) {
    return_as(BlockState::kFree);
    throw;
  }
  size_t freed = 0;
  for (Block* block : victims) {
    memory->unmap(device_, block->data, block->size);
    count_mapping(block->segment->pool, -static_cast<int64_t>(block->size));
    freed += block->size;
  }
  return_as(BlockState::kUnmapped);
  return freed;
}

}  // namespace mindtorch::runtime
