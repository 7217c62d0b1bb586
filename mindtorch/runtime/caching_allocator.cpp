#include "mindtorch/runtime/caching_allocator.h"

#include <algorithm>

#include "mindtorch/base/error.h"

namespace mindtorch::runtime {
namespace {

constexpr size_t kHuge = size_t{1} << 60;

std::atomic<uint64_t> next_serial{1};

// The arenas this thread used last.
struct CachedArena {
  uint64_t serial = 0;
  driver::StreamHandle stream = nullptr;
  Arena* arena = nullptr;
};
constexpr size_t kCachedArenas = 8;
constinit thread_local CachedArena t_arenas[kCachedArenas]
    __attribute__((tls_model("initial-exec")));

PoolKind pool_for(size_t size) { return size <= kSmallLimit ? PoolKind::kSmall : PoolKind::kLarge; }

}  // namespace

CachingAllocator::CachingAllocator(driver::DeviceDriver& driver,
                                   int device,
                                   EventPool& events,
                                   LateErrors& late_errors,
                                   const AllocConf& conf)
    : driver_(driver),
      device_(device),
      late_errors_(late_errors),
      serial_(next_serial.fetch_add(1)),
      conf_(conf),
      fraction_(conf.per_process_memory_fraction),
      pending_(
          driver, device, events, late_errors, [this](Block* block) { finish_pending(block); }) {
  set_conf(conf);
}

CachingAllocator::~CachingAllocator() {
  driver::VirtualMemory* const virtual_memory = driver_.virtual_memory();
  for (const auto& arena : arenas_) {
    for (Segment* segment = arena->segments(); segment != nullptr; segment = segment->next) {
      if (!segment->expandable) {
        driver_.release(device_, segment->data);
        continue;
      }
      for (Block* block = segment->first; block != nullptr;) {
        char* const start = block->data;
        size_t bytes = 0;
        for (; block != nullptr && block->state != BlockState::kUnmapped; block = block->next) {
          bytes += block->size;
        }
        if (bytes != 0) virtual_memory->unmap(device_, start, bytes);
        if (block != nullptr) block = block->next;
      }
      virtual_memory->unreserve(device_, segment->data, segment->size);
    }
  }
}

AllocConf CachingAllocator::conf() const {
  std::lock_guard lock(counters_mutex_);
  return conf_;
}

void CachingAllocator::set_conf(const AllocConf& conf) {
  with_all_arenas_locked([&](const auto&) {
    std::lock_guard lock(counters_mutex_);
    conf_ = conf;
    rules_.max_split_size = conf.max_split_size;
    rules_.max_non_split_rounding = conf.max_non_split_rounding;
    counters_.max_split_size = conf.max_split_size == AllocConf::kUnlimited
                                   ? -1
                                   : static_cast<int64_t>(conf.max_split_size);
  });
  bool rounds = false;
  for (uint32_t divisions : conf.roundup_power2_divisions) rounds |= divisions > 1;
  set_attention(kRounding, rounds);
}

void CachingAllocator::set_attention(Attention bit, bool on) noexcept {
  if (on) {
    attention_.fetch_or(bit, std::memory_order_relaxed);
  } else {
    attention_.fetch_and(~uint32_t{bit}, std::memory_order_relaxed);
  }
}

// Arenas.

Arena& CachingAllocator::arena_for(driver::StreamHandle stream) {
  const size_t slot = ((reinterpret_cast<uintptr_t>(stream) >> 4) ^ serial_) % kCachedArenas;
  CachedArena& cached = t_arenas[slot];
  if (MT_UNLIKELY(cached.serial != serial_ || cached.stream != stream)) {
    cached = {serial_, stream, &find_or_add_arena(stream, nullptr)};
  }
  return *cached.arena;
}

Arena& CachingAllocator::find_or_add_arena(driver::StreamHandle stream, PrivatePool* owner) {
  {
    std::lock_guard lock(arenas_mutex_);
    for (const auto& arena : arenas_) {
      if (arena->stream() == stream && arena->owner() == owner) return *arena;
    }
    if (!spare_arenas_.empty()) {
      Arena& arena = *spare_arenas_.back();
      spare_arenas_.pop_back();
      arena.reassign(stream, owner);
      return arena;
    }
  }
  auto arena = std::make_unique<Arena>(stream, owner, rules_);
  with_all_arenas_locked([&](auto& arenas) {
    settle_peaks_locked(nullptr);  // while a lone arena's allowance still is the peak
    arenas.reserve(arenas.size() + 1);
    peak_order_.reserve(arenas.size() + 1);
    single_arena_ = arenas.empty();
    arena->lock();
    peak_order_.push_back(arena.get());
    arenas.push_back(std::move(arena));
    if (!single_arena_) settle_peaks_locked(nullptr);
  });
  return find_or_add_arena(stream, owner);  // another thread may have been first
}

// Allocation and release.

Block* CachingAllocator::allocate(size_t bytes, driver::StreamHandle stream) {
  if (MT_UNLIKELY(attention_.load(std::memory_order_relaxed) != 0 || !pending_.empty() ||
                  bytes - 1 >= kHuge - 1)) {
    return allocate_attentively(bytes, stream);
  }
  const size_t size = (bytes + kMinBlock - 1) / kMinBlock * kMinBlock;
  Arena& arena = arena_for(stream);
  arena.lock();
  Block* block = arena.take(pool_for(size), size, bytes);
  leave(arena);
  if (MT_LIKELY(block != nullptr)) return block;
  Request request{&arena, pool_for(size), size, bytes, 0, nullptr};
  return allocate_slowly(request);
}

// With pending events, history, scopes or coarser rounding to look after.
Block* CachingAllocator::allocate_attentively(size_t bytes, driver::StreamHandle stream) {
  if (bytes == 0) return nullptr;
  if (bytes >= kHuge) throw_more_than_any_device();
  const uint32_t attention = attention_.load(std::memory_order_relaxed);
  Request request{};
  request.requested = bytes;
  if ((attention & kHistory) != 0) request.context = history_.context(ContextLevel::kState);
  if (captures_.load(std::memory_order_relaxed) == 0) pending_.poll();
  if ((attention & kRounding) != 0) {
    std::lock_guard lock(counters_mutex_);
    request.size = conf_.round(bytes);
  } else {
    request.size = (bytes + kMinBlock - 1) / kMinBlock * kMinBlock;
  }
  request.pool = pool_for(request.size);
  request.arena = (attention & kScopes) != 0 ? &routed_arena(stream) : &arena_for(stream);
  Block* block = take(request);
  return block != nullptr ? block : allocate_slowly(request);
}

Block* CachingAllocator::take(Request& request) {
  Arena& arena = *request.arena;
  arena.lock();
  Block* block = arena.take(request.pool, request.size, request.requested);
  if (block != nullptr) trace_allocation(block, request);
  leave(arena);
  return block;
}

void CachingAllocator::release(Block* block) noexcept {
  if (block == nullptr) return;
  Arena& arena = *block->segment->arena;
  std::shared_ptr<const CallContext> context;
  const bool traced = (attention_.load(std::memory_order_relaxed) & kHistory) != 0;
  if (MT_UNLIKELY(traced)) context = release_context();
  arena.lock();
  if (MT_UNLIKELY(traced)) trace_release(block, arena, std::move(context));
  const bool pending = arena.give_back(block);
  leave(arena);
  if (MT_UNLIKELY(pending)) pending_.add(block);
}

void CachingAllocator::finish_pending(Block* block) {
  Arena& arena = *block->segment->arena;
  arena.lock();
  trace(TraceAction::kFreeCompleted, block->data, block->requested, arena, nullptr);
  arena.finish_pending(block);
  leave(arena);
}

void CachingAllocator::record_stream(Block* block, driver::StreamHandle stream) {
  if (block == nullptr) return;
  Arena& arena = *block->segment->arena;
  if (arena.stream() == stream) return;
  const std::lock_guard lock(arena);
  const bool known =
      std::find(block->streams.begin(), block->streams.end(), stream) != block->streams.end();
  if (!known) block->streams.push_back(stream);
}

// Statistics.

// Makes the peaks true and shares out the room below them, see Note [Exact peaks without a shared
// counter]. Every arena gets half of the room that is left, those that asked most first.
void CachingAllocator::settle_peaks(Arena* asking) noexcept {
  with_all_arenas_locked([&](const auto&) { settle_peaks_locked(asking); });
}

void CachingAllocator::settle_peaks_locked(Arena* asking) noexcept {
  if (arenas_.empty()) return;
  std::vector<Arena*>& order = peak_order_;
  std::sort(order.begin(), order.end(), [asking](Arena* a, Arena* b) {
    if ((a == asking) != (b == asking)) return a == asking;
    return a->searches_since_settled() > b->searches_since_settled();
  });
  for (int lane = 0; lane < kLaneCount; ++lane) {
    for (int pool = 0; pool <= kAllPools; ++pool) {
      const auto value = [&](Arena* arena) {
        const ArenaStats& stats = arena->stats();
        return pool == kAllPools ? stats.current[0][lane] + stats.current[1][lane]
                                 : stats.current[pool][lane];
      };
      int64_t sum = 0;
      for (Arena* arena : order) sum += value(arena);
      int64_t peak = std::max(peak_[pool][lane], sum);
      if (single_arena_) peak = std::max(peak, order[0]->stats().high[pool][lane]);
      peak_[pool].set(lane, peak);
      int64_t room = peak - sum;
      for (Arena* arena : order) {
        const int64_t share = arena == order.back() ? room : room - room / 2;
        arena->stats().high[pool].set(lane, value(arena) + share);
        room -= share;
      }
    }
  }
  for (Arena* arena : order) arena->mark_settled();
}

MemoryStats CachingAllocator::stats() {
  MemoryStats result;
  with_all_arenas_locked([&](const auto& arenas) {
    for (const auto& arena : arenas) arena->settle();
    settle_peaks_locked(nullptr);
    std::lock_guard lock(counters_mutex_);
    result = counters_;
    for (int lane = 0; lane < kLaneCount; ++lane) {
      auto& metric = result.metrics[static_cast<size_t>(lane)];
      for (int pool = 0; pool < kPoolCount; ++pool) {
        Stat& stat = metric[static_cast<size_t>(pool)];
        for (const auto& arena : arenas) {
          stat.current += arena->stats().current[pool][lane];
          stat.freed += arena->stats().freed[pool][lane];
        }
        stat.allocated = stat.current + stat.freed - allocated_base_[pool][lane];
        stat.freed -= freed_base_[pool][lane];
        stat.peak = peak_[pool][lane];
        metric[kAllPools].current += stat.current;
        metric[kAllPools].allocated += stat.allocated;
        metric[kAllPools].freed += stat.freed;
      }
      metric[kAllPools].peak = peak_[kAllPools][lane];
    }
  });
  return result;
}

int64_t CachingAllocator::device_allocations() const {
  std::lock_guard lock(counters_mutex_);
  return counters_.num_device_alloc;
}

void CachingAllocator::reset_peak_stats() {
  with_all_arenas_locked([&](const auto& arenas) {
    for (const auto& arena : arenas) {
      arena->settle();
      for (StatPairs& high : arena->stats().high) high = StatPairs();
    }
    for (StatPairs& peak : peak_) peak = StatPairs();
    settle_peaks_locked(nullptr);
    std::lock_guard lock(counters_mutex_);
    for (auto& metric : counters_.metrics) {
      for (Stat& stat : metric) stat.peak = stat.current;
    }
    counters_.oversize_segments.peak = counters_.oversize_segments.current;
  });
}

void CachingAllocator::reset_accumulated_stats() {
  with_all_arenas_locked([&](const auto& arenas) {
    for (int pool = 0; pool < kPoolCount; ++pool) {
      for (int lane = 0; lane < kLaneCount; ++lane) {
        int64_t freed = 0;
        int64_t current = 0;
        for (const auto& arena : arenas) {
          arena->settle();
          freed += arena->stats().freed[pool][lane];
          current += arena->stats().current[pool][lane];
        }
        freed_base_[pool].set(lane, freed);
        allocated_base_[pool].set(lane, current + freed);
      }
    }
    std::lock_guard lock(counters_mutex_);
    for (auto& metric : counters_.metrics) {
      for (Stat& stat : metric) stat.allocated = stat.freed = 0;
    }
    Stat& oversize = counters_.oversize_segments;
    oversize.allocated = oversize.freed = 0;
    counters_.num_alloc_retries = counters_.num_ooms = counters_.num_sync_all_streams = 0;
    counters_.num_device_alloc = counters_.num_device_free = 0;
  });
}

void CachingAllocator::set_reserved_bytes(int64_t bytes) {
  std::lock_guard lock(counters_mutex_);
  Stat& stat = counters_.metrics[static_cast<size_t>(Metric::kReservedBytes)][kAllPools];
  stat.current = bytes;
  stat.peak = std::max(stat.peak, bytes);
}

// History.

void CachingAllocator::configure_history(const HistorySettings& settings, bool clear) {
  history_.configure(settings, clear);
  set_attention(kHistory, settings.enabled);
}

void CachingAllocator::trace(TraceAction action,
                             const void* address,
                             size_t size,
                             const Arena& arena,
                             std::shared_ptr<const CallContext> context) noexcept {
  if (!history_.enabled()) return;
  TraceEntry entry{};
  entry.action = action;
  entry.address = reinterpret_cast<uintptr_t>(address);
  entry.size = size;
  entry.stream = arena.stream();
  if (arena.owner() != nullptr) entry.pool_id = arena.owner()->id;
  entry.context = std::move(context);
  try {
    history_.record(std::move(entry));
  } catch (...) {  // no memory for the ring: the history has a gap, the program goes on
  }
}

// Under the arena's lock, so that a snapshot and the trace tell the same story.
void CachingAllocator::trace_allocation(Block* block, const Request& request) noexcept {
  if (!history_.enabled()) return;
  block->context = request.context;
  trace(TraceAction::kAlloc, block->data, request.requested, *block->segment->arena,
        request.context);
}

std::shared_ptr<const CallContext> CachingAllocator::release_context() const noexcept {
  try {
    return history_.context(ContextLevel::kAll);
  } catch (...) {
    return nullptr;
  }
}

void CachingAllocator::trace_release(Block* block,
                                     const Arena& arena,
                                     std::shared_ptr<const CallContext> context) noexcept {
  trace(TraceAction::kFreeRequested, block->data, block->requested, arena, context);
  if (block->streams.empty()) {
    trace(TraceAction::kFreeCompleted, block->data, block->requested, arena, std::move(context));
  }
}

}  // namespace mindtorch::runtime
