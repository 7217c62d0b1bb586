// What the caching allocator does when no cached block fits: grow, and when the device is full,
// give back and try again.
#include <algorithm>
#include <cmath>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/caching_allocator.h"
#include "mindtorch/runtime/hooks.h"

namespace mindtorch::runtime {
namespace {

constexpr size_t kSmallSegment = size_t{2} << 20;
constexpr size_t kDirectLimit = size_t{10} << 20;
constexpr size_t kLargeGranularity = size_t{2} << 20;

size_t segment_size(size_t size, const AllocConf& conf) {
  if (size <= kSmallLimit) return kSmallSegment;
  if (size < kDirectLimit) return conf.large_segment_size;
  return (size + kLargeGranularity - 1) / kLargeGranularity * kLargeGranularity;
}

}  // namespace

Block* CachingAllocator::allocate_slowly(Request& request) {
  if (owner_calls_.before_growth) owner_calls_.before_growth();
  request.alloc_size = segment_size(request.size, conf());
  const bool capturing = captures_.load(std::memory_order_relaxed) > 0;
  if (!capturing) {
    collect_garbage();
    release_outgrown(request);
  }
  if (Block* block = grow(request)) return block;

  {
    std::lock_guard lock(counters_mutex_);
    ++counters_.num_ooms;
  }
  if (Block* block = take_from_pools_for_oom(request)) return block;
  if (!capturing) {
    if (release_available(request)) {
      if (Block* block = grow(request)) return block;
    }
    // Something above may hold memory it does not need: deferred work, unreachable tensors. Others
    // may have freed something since it was last looked for; a few times is enough of that.
    constexpr int kRounds = 4;
    for (int round = 0; round < kRounds; ++round) {
      const int64_t freed = blocks_freed();
      if (Block* block = reclaim_and_allocate(request)) return block;
      if (!hooks().on_memory_pressure() && blocks_freed() == freed) break;
      if (Block* block = take(request)) return block;
    }
  }
  throw_out_of_memory(request);
}

int64_t CachingAllocator::blocks_freed() {
  int64_t freed = 0;
  with_all_arenas_locked([&freed](const auto& arenas) {
    for (const auto& arena : arenas) {
      for (const StatPairs& pool : arena->stats().freed) {
        freed += pool[static_cast<int>(Metric::kAllocation)];
      }
    }
  });
  return freed;
}

// Waits for the device, so that everything freed is free; then the cache, then the driver again.
Block* CachingAllocator::reclaim_and_allocate(Request& request) {
  if (owner_calls_.wait_device) {
    owner_calls_.wait_device();
  } else {
    driver_.wait_device(device_);
  }
  pending_.wait_all();
  // A block that waited for another stream may be the one that fits.
  if (Block* block = take(request)) return block;
  release_cached();
  if (Block* block = grow(request)) {
    std::lock_guard lock(counters_mutex_);
    ++counters_.num_alloc_retries;
    return block;
  }
  return borrow_from_idle_streams(request);
}

// Growing.

bool CachingAllocator::reserve(size_t bytes) {
  double fraction;
  {
    std::lock_guard lock(counters_mutex_);
    fraction = fraction_;
    if (fraction >= 1.0) {
      reserving_ += bytes;
      return true;
    }
  }
  const auto total = static_cast<double>(driver_.memory_info(device_).total_bytes);
  const auto limit = static_cast<int64_t>(std::floor(fraction * total));
  std::lock_guard lock(counters_mutex_);
  const int64_t reserved = counters_.all(Metric::kReservedBytes).current;
  if (reserved + static_cast<int64_t>(reserving_ + bytes) > limit) return false;
  reserving_ += bytes;
  return true;
}

void CachingAllocator::unreserve(size_t bytes) {
  std::lock_guard lock(counters_mutex_);
  reserving_ -= bytes;
}

void CachingAllocator::check_memory_fraction(size_t bytes) {
  if (reserve(bytes)) {
    unreserve(bytes);
    return;
  }
  Request request{};
  request.alloc_size = request.requested = request.size = bytes;
  throw_out_of_memory(request);
}

Block* CachingAllocator::grow(Request& request) {
  bool expandable;
  {
    std::lock_guard lock(counters_mutex_);
    expandable = conf_.expandable_segments && driver_.virtual_memory() != nullptr;
  }
  return expandable ? grow_expandable(request) : grow_segment(request);
}

Block* CachingAllocator::grow_segment(Request& request) {
  const size_t bytes = request.alloc_size;
  if (!reserve(bytes)) return nullptr;
  char* data = nullptr;
  try {
    data = static_cast<char*>(driver_.allocate(device_, bytes));
  } catch (...) {
    unreserve(bytes);
    throw;
  }
  if (data == nullptr) {
    unreserve(bytes);
    return nullptr;
  }
  Arena& arena = *request.arena;
  arena.lock();
  Segment* segment = nullptr;
  try {
    segment = arena.add_segment(data, bytes, request.pool);
  } catch (...) {
    arena.unlock();
    driver_.release(device_, data);
    unreserve(bytes);
    throw;
  }
  trace(TraceAction::kSegmentAlloc, data, bytes, arena, request.context);
  segment->context = request.context;
  count_segment(*segment, 1);
  Block* block = arena.claim(segment->first, request.size, request.requested);
  trace_allocation(block, request);
  leave(arena);
  unreserve(bytes);
  return block;
}

void CachingAllocator::adopt(
    void* data, size_t bytes, size_t requested, PoolKind pool, driver::StreamHandle stream) {
  MT_CHECK(data != nullptr && bytes > 0, ValueError, "a cached block needs an address and a size");
  Arena& arena = arena_for(stream);
  const std::lock_guard lock(arena);
  Segment* segment = arena.add_segment(static_cast<char*>(data), bytes, pool);
  count_segment(*segment, 1);
  segment->first->requested = requested;
  arena.make_available(segment->first);
}

void CachingAllocator::count_segment(Segment& segment, int sign) {
  const auto pool = static_cast<size_t>(segment.pool);
  const int64_t bytes = sign * static_cast<int64_t>(segment.size);
  std::lock_guard lock(counters_mutex_);
  for (size_t p : {pool, size_t{kAllPools}}) {
    counters_.metrics[static_cast<size_t>(Metric::kSegment)][p].add(sign);
    counters_.metrics[static_cast<size_t>(Metric::kReservedBytes)][p].add(bytes);
  }
  if (sign > 0) segment.oversize = segment.size >= conf_.max_split_size;
  if (segment.oversize) counters_.oversize_segments.add(sign);
  ++(sign > 0 ? counters_.num_device_alloc : counters_.num_device_free);
}

void CachingAllocator::count_mapping(PoolKind pool, int64_t bytes) {
  std::lock_guard lock(counters_mutex_);
  for (size_t p : {static_cast<size_t>(pool), size_t{kAllPools}}) {
    counters_.metrics[static_cast<size_t>(Metric::kReservedBytes)][p].add(bytes);
  }
  ++(bytes > 0 ? counters_.num_device_alloc : counters_.num_device_free);
}

// Giving back.

void CachingAllocator::wait_for(Arena& arena) {
  if (!driver_.query_stream(device_, arena.stream())) driver_.wait_stream(device_, arena.stream());
}

// What the stream did with the segments has to be over. They are out of the arena already, so that
// nobody takes a block of them meanwhile; if the wait fails they return to it.
size_t CachingAllocator::give_to_driver(Arena& arena, const std::vector<Segment*>& segments) {
  if (segments.empty()) return 0;
  try {
    wait_for(arena);
  } catch (...) {
    arena.lock();
    for (Segment* segment : segments) {
      trace(TraceAction::kSegmentAlloc, segment->data, segment->size, arena, segment->context);
      arena.attach(segment);
    }
    arena.unlock();
    throw;
  }
  size_t freed = 0;
  for (Segment* segment : segments) {
    driver_.release(device_, segment->data);
    count_segment(*segment, -1);
    freed += segment->size;
    Arena::destroy(segment);
  }
  return freed;
}

size_t CachingAllocator::release_free_segments(Arena& arena, const Victims& which) {
  std::vector<Segment*> victims;
  size_t bytes = 0;
  arena.lock();
  arena.settle();
  for (PoolKind pool : {PoolKind::kLarge, PoolKind::kSmall}) {
    Segment* segment = arena.oldest_free(pool);
    while (segment != nullptr && bytes < which.enough && arena.age(segment) >= which.min_age) {
      Segment* const next = segment->free_next;
      if (segment->size < which.smaller_than) {
        trace(TraceAction::kSegmentFree, segment->data, segment->size, arena, segment->context);
        arena.detach(segment);
        victims.push_back(segment);
        bytes += segment->size;
      }
      segment = next;
    }
  }
  leave(arena);
  return give_to_driver(arena, victims);
}

size_t CachingAllocator::release_cached() {
  {
    std::lock_guard lock(counters_mutex_);
    ++counters_.num_sync_all_streams;
  }
  pending_.wait_all();
  size_t freed = 0;
  const auto unused = [](const Arena& arena) {
    return arena.owner() == nullptr || arena.owner()->use_count == 0;
  };
  for (Arena* arena : arenas(unused)) {
    freed += release_free_segments(*arena, Victims{});
    freed += unmap_free_pages(*arena);
  }
  forget_unused_pools();
  return freed;
}

void CachingAllocator::empty_cache() {
  hooks().before_empty_cache();
  if (captures_.load(std::memory_order_relaxed) > 0) return;
  release_cached();
}

// torch's rule for max_split_size: one block large enough, or else the largest ones until they
// would be enough together.
bool CachingAllocator::release_available(const Request& request) {
  const AllocConf conf = this->conf();
  if (conf.max_split_size == AllocConf::kUnlimited) return false;
  const size_t key = std::max(request.alloc_size, conf.max_split_size);
  std::vector<Segment*> victims;
  size_t bytes = 0;
  Arena& arena = *request.arena;
  arena.lock();
  arena.settle();
  const SizeIndex& free_blocks = arena.index(request.pool);
  const auto take_out = [&](Block* block) {
    bytes += block->size;
    Segment* const segment = block->segment;
    trace(TraceAction::kSegmentFree, segment->data, segment->size, arena, segment->context);
    victims.push_back(segment);
    arena.detach(segment);
  };
  const auto whole = [](const Block* block) {
    return !block->segment->expandable && !block->is_split();
  };
  if (Block* block = free_blocks.find(key); block != nullptr && whole(block)) {
    take_out(block);
  } else {
    for (Block* largest = free_blocks.largest();
         largest != nullptr && bytes < key && largest->size >= conf.max_split_size &&
         whole(largest);
         largest = free_blocks.largest()) {
      take_out(largest);
    }
  }
  leave(arena);
  give_to_driver(arena, victims);
  return bytes >= key;
}

// A program whose tensors grow leaves segments behind that are too small for what comes. Those
// unused for long go back when a larger one is needed, instead of when the device is full.
void CachingAllocator::release_outgrown(const Request& request) {
  const AllocConf conf = this->conf();
  if (conf.outgrown_segment_age == 0 || request.pool == PoolKind::kSmall) return;
  if (request.arena->owner() != nullptr) return;
  release_free_segments(*request.arena, {.min_age = conf.outgrown_segment_age,
                                         .smaller_than = request.alloc_size,
                                         .enough = request.alloc_size});
}

void CachingAllocator::collect_garbage() {
  double threshold;
  double fraction;
  int64_t reserved;
  {
    std::lock_guard lock(counters_mutex_);
    threshold = conf_.garbage_collection_threshold;
    fraction = fraction_;
    reserved = counters_.all(Metric::kReservedBytes).current;
  }
  if (threshold <= 0) return;
  const auto total = static_cast<double>(driver_.memory_info(device_).total_bytes);
  const auto limit = static_cast<int64_t>(threshold * std::floor(fraction * total));
  if (reserved <= limit) return;
  auto wanted = static_cast<size_t>(reserved - limit);

  struct Candidate {
    uint64_t age;
    size_t bytes;
    Arena* arena;
  };
  std::vector<Candidate> candidates;
  for (Arena* arena : arenas([](const Arena& arena) { return arena.owner() == nullptr; })) {
    arena->lock();
    arena->settle();
    for (PoolKind pool : {PoolKind::kSmall, PoolKind::kLarge}) {
      for (Segment* segment = arena->oldest_free(pool); segment != nullptr;
           segment = segment->free_next) {
        candidates.push_back({arena->age(segment), segment->size, arena});
      }
    }
    leave(*arena);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.age > b.age; });
  for (const Candidate& candidate : candidates) {
    const size_t freed = release_free_segments(
        *candidate.arena, {.min_age = candidate.age, .enough = candidate.bytes});
    if (freed >= wanted) break;
    wanted -= freed;
  }
}

// Other memory of this process.

// Memory cached by a stream that has nothing to do any more. The block stays in its arena: for the
// time of the loan this stream counts as a foreign user of it.
Block* CachingAllocator::borrow_from_idle_streams(Request& request) {
  const auto eligible = [&](const Arena& arena) {
    return &arena != request.arena && arena.owner() == request.arena->owner();
  };
  for (Arena* arena : arenas(eligible)) {
    if (!driver_.query_stream(device_, arena->stream())) continue;
    Request other = request;
    other.arena = arena;
    Block* block = take(other);
    if (block == nullptr) continue;
    // Asked again: the block may have been freed, by work that still runs, since the first time.
    bool idle = false;
    try {
      idle = driver_.query_stream(device_, arena->stream());
      if (idle) record_stream(block, request.arena->stream());
    } catch (...) {
      release(block);
      throw;
    }
    if (idle) return block;
    release(block);
  }
  return nullptr;
}

Block* CachingAllocator::take_from_pools_for_oom(Request& request) {
  if (request.arena->owner() != nullptr) return nullptr;
  const auto eligible = [&](const Arena& arena) {
    return arena.owner() != nullptr && arena.owner()->use_on_oom &&
           arena.stream() == request.arena->stream();
  };
  for (Arena* arena : arenas(eligible)) {
    Request other = request;
    other.arena = arena;
    if (Block* block = take(other)) return block;
  }
  return nullptr;
}

void CachingAllocator::set_memory_fraction(double fraction) {
  MT_CHECK(fraction >= 0 && fraction <= 1, ValueError, "Invalid fraction value: ", fraction,
           ". Allowed range: 0~1");
  std::lock_guard lock(counters_mutex_);
  fraction_ = fraction;
}

double CachingAllocator::memory_fraction() const {
  std::lock_guard lock(counters_mutex_);
  return fraction_;
}

}  // namespace mindtorch::runtime
