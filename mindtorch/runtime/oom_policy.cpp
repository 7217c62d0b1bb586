#include "mindtorch/runtime/oom_policy.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "mindtorch/base/round_up.h"
#include "mindtorch/runtime/hooks.h"
#include "mindtorch/runtime/out_of_memory.h"

namespace mindtorch::runtime {

// The policy, in order. The first step that has a block ends it; after the last one
// OutOfMemoryError is thrown. While a graph is captured nothing may wait, nor go back to the
// driver.
const OomPolicy::Step OomPolicy::kGrowth[] = {
    {&OomPolicy::collect_garbage, When::kOutsideCapture},
    {&OomPolicy::release_outgrown_segments, When::kOutsideCapture},
    {&OomPolicy::grow, When::kAlways},
    // The device, or the process's limit, has no more.
    {&OomPolicy::count_oom, When::kAlways},
    {&OomPolicy::take_from_pools_for_oom, When::kAlways},
    {&OomPolicy::release_oversize_segments_and_grow, When::kOutsideCapture},
};
// Repeated up to kMaxReclaimRounds times, as long as a thread freed something meanwhile.
const OomPolicy::Step OomPolicy::kReclaimRound[] = {
    {&OomPolicy::wait_for_device_and_search, When::kOutsideCapture},
    {&OomPolicy::release_cache_and_grow, When::kOutsideCapture},
    {&OomPolicy::borrow_from_idle_streams, When::kOutsideCapture},
    {&OomPolicy::relieve_pressure_and_search, When::kOutsideCapture},
};

namespace {

constexpr size_t kSmallSegment = size_t{2} << 20;
constexpr size_t kDirectLimit = size_t{10} << 20;
constexpr size_t kLargeGranularity = size_t{2} << 20;

size_t segment_size(size_t size, const AllocConf& conf) {
  if (size <= kSmallLimit) return kSmallSegment;
  if (size < kDirectLimit) return conf.large_segment_size;
  return round_up(size, kLargeGranularity);
}

}  // namespace

Block* OomPolicy::allocate(AllocationRequest request) {
  if (callbacks_.before_growth) callbacks_.before_growth();
  request.segment_size = segment_size(request.size, *state_.conf.get());
  const bool capturing = pools_.capturing();
  Attempt attempt{request};
  for (const Step& step : kGrowth) {
    if (capturing && step.when == When::kOutsideCapture) continue;
    if (Block* block = (this->*step.run)(attempt)) return block;
  }
  for (int round = 0; round < kMaxReclaimRounds && !capturing && attempt.another_round; ++round) {
    attempt.blocks_freed = state_.stats.blocks_freed();
    for (const Step& step : kReclaimRound) {
      if (Block* block = (this->*step.run)(attempt)) return block;
    }
  }
  throw_out_of_memory(state_, request, capturing);
}

Block* OomPolicy::collect_garbage(Attempt&) {
  collect_garbage();
  return nullptr;
}

void OomPolicy::collect_garbage() {
  const double threshold = state_.conf.get()->garbage_collection_threshold;
  if (threshold <= 0) return;
  const int64_t reserved = state_.stats.reserved_bytes();
  const auto limit = static_cast<int64_t>(threshold * static_cast<double>(state_.limit.bytes()));
  if (reserved <= limit) return;
  auto wanted = static_cast<size_t>(reserved - limit);

  struct Candidate {
    uint64_t age;
    size_t bytes;
    Arena* arena;
  };
  std::vector<Candidate> candidates;
  const auto in_default_pool = [](const Arena& arena) { return arena.owner() == nullptr; };
  const ArenaSet::Selection chosen = state_.arenas.select(in_default_pool);
  for (Arena* arena : chosen) {
    const ArenaLock lock(state_.arenas, *arena);
    arena->coalesce();
    for (PoolKind pool : {PoolKind::kSmall, PoolKind::kLarge}) {
      for (Segment* segment = arena->oldest_free(pool); segment != nullptr;
           segment = segment->free_next) {
        candidates.push_back({arena->age(segment), segment->size, arena});
      }
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.age > b.age; });
  const auto kept_out = keep_captures_out();
  for (const Candidate& candidate : candidates) {
    const size_t freed = segments_.release_free(
        *candidate.arena, {.min_age = candidate.age, .enough = candidate.bytes});
    if (freed >= wanted) break;
    wanted -= freed;
  }
}

// A program whose tensors grow leaves segments behind that are too small for what comes. Those
// unused for long go back when a larger one is needed, instead of when the device is full.
Block* OomPolicy::release_outgrown_segments(Attempt& attempt) {
  const AllocationRequest& request = attempt.request;
  const uint64_t min_age = state_.conf.get()->outgrown_segment_age;
  if (min_age == 0 || request.pool == PoolKind::kSmall) return nullptr;
  if (request.arena->owner() != nullptr) return nullptr;
  const auto kept_out = keep_captures_out();
  segments_.release_free(
      *request.arena,
      {.min_age = min_age, .smaller_than = request.segment_size, .enough = request.segment_size});
  return nullptr;
}

Block* OomPolicy::grow(Attempt& attempt) {
  return expandable_segments_.enabled() ? expandable_segments_.grow(attempt.request)
                                        : segments_.grow(attempt.request);
}

Block* OomPolicy::count_oom(Attempt&) {
  state_.stats.count_oom();
  return nullptr;
}

// MemPool(use_on_oom=True) lends its free blocks to the default pool.
Block* OomPolicy::take_from_pools_for_oom(Attempt& attempt) {
  AllocationRequest other = attempt.request;
  const Arena& own = *attempt.request.arena;
  if (own.owner() != nullptr) return nullptr;
  const auto lends = [&own](const Arena& arena) {
    return arena.owner() != nullptr && arena.owner()->use_on_oom && arena.stream() == own.stream();
  };
  const ArenaSet::Selection lenders = state_.arenas.select(lends);
  for (Arena* arena : lenders) {
    other.arena = arena;
    if (Block* block = state_.take_cached(other)) return block;
  }
  return nullptr;
}

Block* OomPolicy::release_oversize_segments_and_grow(Attempt& attempt) {
  const auto kept_out = keep_captures_out();
  return segments_.release_oversize(attempt.request) ? grow(attempt) : nullptr;
}

// After the wait everything freed is free; a block that waited for another stream may be the one
// that fits.
Block* OomPolicy::wait_for_device_and_search(Attempt& attempt) {
  if (callbacks_.wait_device) {
    callbacks_.wait_device();
  } else {
    state_.driver.wait_device(state_.device);
  }
  pending_.wait_all();
  return state_.take_cached(attempt.request);
}

Block* OomPolicy::release_cache_and_grow(Attempt& attempt) {
  release_cache();
  Block* block = grow(attempt);
  if (block != nullptr) state_.stats.count_alloc_retry();
  return block;
}

void OomPolicy::release_cache() {
  const auto kept_out = keep_captures_out();
  if (pools_.capturing()) return;
  state_.stats.count_sync_all_streams();
  pending_.wait_all();
  const auto unheld = [](const Arena& arena) {
    return arena.owner() == nullptr || arena.owner()->use_count == 0;
  };
  {
    const ArenaSet::Selection chosen = state_.arenas.select(unheld);
    for (Arena* arena : chosen) {
      segments_.release_free(*arena, {});
      expandable_segments_.unmap_free_pages(*arena);
    }
  }
  pools_.forget_unused();
}

Block* OomPolicy::borrow_from_idle_streams(Attempt& attempt) {
  const Arena& own = *attempt.request.arena;
  const auto same_pool = [&own](const Arena& arena) {
    return &arena != &own && arena.owner() == own.owner();
  };
  const ArenaSet::Selection lenders = state_.arenas.select(same_pool);
  const auto kept_out = keep_captures_out();
  for (Arena* arena : lenders) {
    if (Block* block = borrow(*arena, attempt.request)) return block;
  }
  return nullptr;
}

// Memory cached by a stream that has nothing to do any more. The block stays in its arena: until it
// is freed the borrower counts as another stream that uses it.
Block* OomPolicy::borrow(Arena& arena, const AllocationRequest& request) {
  const auto idle = [&] { return state_.driver.query_stream(state_.device, arena.stream()); };
  if (!idle()) return nullptr;
  AllocationRequest other = request;
  other.arena = &arena;
  Block* const block = state_.take_cached(other);
  if (block == nullptr) return nullptr;
  const auto put_back = [&] {
    const auto context = state_.history.try_context(ContextLevel::kAll);
    const ArenaLock lock(state_.arenas, arena);
    state_.history.trace_release(*block, context);
    arena.give_back(block);  // nobody recorded a stream on it yet
  };
  try {
    // Asked again: the block may have been freed, by work that still runs, since the first time.
    if (idle()) {
      const std::lock_guard lock(arena);
      arena.record_stream(block, request.arena->stream());
      return block;
    }
  } catch (...) {
    put_back();
    throw;
  }
  put_back();
  return nullptr;
}

// Something above may hold memory it does not need: deferred work, unreachable tensors. Others may
// have freed something since the round began.
Block* OomPolicy::relieve_pressure_and_search(Attempt& attempt) {
  attempt.another_round =
      hooks().on_memory_pressure() || state_.stats.blocks_freed() != attempt.blocks_freed;
  return attempt.another_round ? state_.take_cached(attempt.request) : nullptr;
}

}  // namespace mindtorch::runtime
