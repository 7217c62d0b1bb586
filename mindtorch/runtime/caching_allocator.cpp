#include "mindtorch/runtime/caching_allocator.h"

#include <mutex>

#include "mindtorch/base/round_up.h"
#include "mindtorch/profiler/recorder.h"
#include "mindtorch/runtime/hooks.h"
#include "mindtorch/runtime/out_of_memory.h"

namespace mindtorch::runtime {
namespace {

constexpr size_t kBeyondAnyDevice = size_t{1} << 60;

PoolKind pool_for(size_t size) { return size <= kSmallLimit ? PoolKind::kSmall : PoolKind::kLarge; }

}  // namespace

CachingAllocator::CachingAllocator(driver::DeviceDriver& driver,
                                   int device,
                                   EventPool& events,
                                   AsyncErrors& async_errors,
                                   const AllocConf& conf)
    : state_(driver, device, conf),
      pools_(state_.arenas, slow_path_),
      pending_(
          driver, device, events, async_errors, [this](Block* block) { finish_pending(block); }),
      segments_(state_),
      expandable_segments_(state_),
      oom_policy_(state_, segments_, expandable_segments_, pools_, pending_) {
  set_conf(conf);
}

CachingAllocator::~CachingAllocator() {
  state_.arenas.with_all_locked([this](const auto& arenas) {
    for (const auto& arena : arenas) {
      arena->is_held();
      for (Segment* segment = arena->segments(); segment != nullptr; segment = segment->next) {
        if (segment->expandable) {
          expandable_segments_.destroy(*segment);
        } else {
          segments_.destroy(*segment);
        }
      }
    }
  });
}

void CachingAllocator::set_conf(const AllocConf& conf) {
  state_.arenas.with_all_locked([&](const auto&) {
    state_.conf.set(conf);
    state_.arenas.set_rules({conf.max_split_size, conf.max_non_split_rounding});
    state_.stats.set_max_split_size(conf.max_split_size == AllocConf::kUnlimited
                                        ? -1
                                        : static_cast<int64_t>(conf.max_split_size));
  });
  bool rounds = false;
  for (uint32_t divisions : conf.roundup_power2_divisions) rounds |= divisions > 1;
  slow_path_.set(SlowPathFlags::kRounding, rounds);
}

Block* CachingAllocator::allocate(size_t bytes, driver::StreamHandle stream) {
  if (MT_UNLIKELY(slow_path_.any() || !pending_.empty() || bytes - 1 >= kBeyondAnyDevice - 1 ||
                  profiler::wants(profiler::kMemory))) {
    return allocate_instrumented(bytes, stream);
  }
  const size_t size = round_up(bytes, kMinBlock);
  Arena& arena = state_.arenas.of_stream(stream);
  Block* block = nullptr;
  {
    const ArenaLock lock(state_.arenas, arena);
    block = arena.take(pool_for(size), size, bytes);
  }
  if (MT_LIKELY(block != nullptr)) return block;
  return allocate_uncached(arena, size, bytes);
}

Block* CachingAllocator::allocate_at(const void* address,
                                     size_t bytes,
                                     driver::StreamHandle stream) {
  if (slow_path_.any() || !pending_.empty() || bytes - 1 >= kBeyondAnyDevice - 1) return nullptr;
  const size_t size = round_up(bytes, kMinBlock);
  Arena& arena = state_.arenas.of_stream(stream);
  const ArenaLock lock(state_.arenas, arena);
  return arena.take_at(pool_for(size), size, bytes, static_cast<const char*>(address));
}

Block* CachingAllocator::allocate_uncached(Arena& arena, size_t size, size_t bytes) {
  return oom_policy_.allocate({&arena, pool_for(size), size, bytes, 0, nullptr});
}

// With pending events, history, scopes or coarser rounding to look after.
Block* CachingAllocator::allocate_instrumented(size_t bytes, driver::StreamHandle stream) {
  if (bytes == 0) return nullptr;
  if (bytes >= kBeyondAnyDevice) throw_beyond_any_device(state_.driver);
  AllocationRequest request;
  request.requested = bytes;
  if (slow_path_.has(SlowPathFlags::kHistory)) {
    request.context = state_.history.context(ContextLevel::kState);
  }
  if (!pools_.capturing()) pending_.poll();
  request.size = slow_path_.has(SlowPathFlags::kRounding) ? state_.conf.get()->round(bytes)
                                                          : round_up(bytes, kMinBlock);
  request.pool = pool_for(request.size);
  request.arena = slow_path_.has(SlowPathFlags::kPoolScopes) ? &pools_.route(stream)
                                                             : &state_.arenas.of_stream(stream);
  Block* block = state_.take_cached(request);
  if (block == nullptr) block = oom_policy_.allocate(std::move(request));
  if (profiler::wants(profiler::kMemory)) {
    tell_profiler(block->data, static_cast<int64_t>(block->size));
  }
  return block;
}

void CachingAllocator::tell_profiler(const void* data, int64_t bytes) noexcept {
  if (!profiler::is_thread_recorded()) return;
  try {
    const MemoryStats now = stats();
    profiler::note_memory({.address = data,
                           .bytes = bytes,
                           .allocated_bytes = now.all(Metric::kAllocatedBytes).current,
                           .reserved_bytes = now.all(Metric::kReservedBytes).current,
                           .device_kind = state_.driver.kind(),
                           .device_index = state_.device});
  } catch (...) {  // no memory: the event is lost
  }
}

void CachingAllocator::release(Block* block) noexcept {
  if (block == nullptr) return;
  if (MT_UNLIKELY(slow_path_.has(SlowPathFlags::kHistory) || profiler::wants(profiler::kMemory))) {
    return release_instrumented(block);
  }
  Arena& arena = *block->segment->arena;
  bool pending = false;
  {
    const ArenaLock lock(state_.arenas, arena);
    pending = arena.give_back(block);
  }
  if (MT_UNLIKELY(pending)) pending_.add(block);
}

void CachingAllocator::release_instrumented(Block* block) noexcept {
  const auto context = state_.history.try_context(ContextLevel::kAll);
  const void* const data = block->data;
  const auto bytes = static_cast<int64_t>(block->size);
  Arena& arena = *block->segment->arena;
  bool pending = false;
  {
    const ArenaLock lock(state_.arenas, arena);
    state_.history.trace_release(*block, context);
    pending = arena.give_back(block);
  }
  if (pending) pending_.add(block);
  if (profiler::wants(profiler::kMemory)) tell_profiler(data, -bytes);
}

void CachingAllocator::finish_pending(Block* block) {
  Arena& arena = *block->segment->arena;
  const ArenaLock lock(state_.arenas, arena);
  state_.history.trace(TraceAction::kFreeCompleted, block->data, block->requested, arena, nullptr);
  arena.finish_pending(block);
}

void CachingAllocator::record_stream(Block* block, driver::StreamHandle stream) {
  if (block == nullptr) return;
  Arena& arena = *block->segment->arena;
  if (arena.stream() == stream) return;
  const std::lock_guard lock(arena);
  arena.record_stream(block, stream);
}

void CachingAllocator::empty_cache() {
  hooks().before_empty_cache();
  oom_policy_.release_cache();
}

void CachingAllocator::adopt(
    void* data, size_t bytes, size_t requested, PoolKind pool, driver::StreamHandle stream) {
  segments_.adopt(state_.arenas.of_stream(stream), data, bytes, requested, pool);
}

void CachingAllocator::check_memory_fraction(size_t bytes) {
  if (MemoryLimit::Reservation(state_.limit, bytes).granted()) return;
  AllocationRequest request;
  request.segment_size = request.requested = request.size = bytes;
  throw_out_of_memory(state_, request, pools_.capturing());
}

void CachingAllocator::configure_history(const HistorySettings& settings, bool clear) {
  state_.history.configure(settings, clear);
  slow_path_.set(SlowPathFlags::kHistory, settings.enabled);
}

// Each part does its own.

void CachingAllocator::collect_garbage() { oom_policy_.collect_garbage(); }

void CachingAllocator::set_memory_fraction(double fraction) { state_.limit.set_fraction(fraction); }

double CachingAllocator::memory_fraction() const { return state_.limit.fraction(); }

MemoryStats CachingAllocator::stats() { return state_.stats.read(); }

int64_t CachingAllocator::device_allocations() const { return state_.stats.device_allocations(); }

void CachingAllocator::reset_peak_stats() { state_.stats.reset_peaks(); }

void CachingAllocator::reset_accumulated_stats() { state_.stats.reset_accumulated(); }

void CachingAllocator::set_reserved_bytes(int64_t bytes) { state_.stats.set_reserved_bytes(bytes); }

std::vector<SegmentInfo> CachingAllocator::snapshot(const PoolId* pool,
                                                    std::vector<TraceEntry>* trace) {
  return take_snapshot(state_, pool, trace);
}

void CachingAllocator::retain_pool(PoolId id, bool use_on_oom, bool no_split) {
  pools_.retain(id, use_on_oom, no_split);
}

void CachingAllocator::release_pool(PoolId id) { pools_.release(id); }

int CachingAllocator::pool_use_count(PoolId id) const { return pools_.use_count(id); }

// Work that was only recorded gets its memory from where it was recorded: it is flushed first.

void CachingAllocator::begin_pool_scope(PoolId id) {
  hooks().before_sync(SyncPoint::kSwitchStream);
  pools_.open_for_thread(id);
}

void CachingAllocator::begin_capture_scope(PoolId id, driver::StreamHandle stream) {
  pools_.open_for_capture(id, stream);
  pending_.pause();
}

void CachingAllocator::end_scope(PoolId id) {
  hooks().before_sync(SyncPoint::kSwitchStream);
  if (pools_.close(id)) pending_.resume();
}

}  // namespace mindtorch::runtime
