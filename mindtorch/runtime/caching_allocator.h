#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/alloc_conf.h"
#include "mindtorch/runtime/arena.h"
#include "mindtorch/runtime/event_pool.h"
#include "mindtorch/runtime/late_errors.h"
#include "mindtorch/runtime/memory_history.h"
#include "mindtorch/runtime/memory_stats.h"
#include "mindtorch/runtime/pending_frees.h"
#include "mindtorch/runtime/private_pool.h"
#include "mindtorch/runtime/snapshot.h"

namespace mindtorch::runtime {

// Note [Block lifetime]
// The driver gives segments, segments are cut into blocks, a block belongs to one allocation at a
// time. A block freed is free at once for its own stream: what that stream does later runs after
// what it did with the block. A block that other streams used too (record_stream) is pending until
// an event recorded on each of them at the time of the free is reached. Free neighbours merge;
// only a segment that is free as a whole can go back to the driver, and before it does, its stream
// has run dry. An arena is the memory of one stream; streams share nothing on the fast path.
//
// Device memory for one device. Thread-safe; any thread may free any block. No lock is held while
// the driver, a hook or the interpreter is called.
class MT_API CachingAllocator {
 public:
  CachingAllocator(driver::DeviceDriver& driver,
                   int device,
                   EventPool& events,
                   LateErrors& late_errors,
                   const AllocConf& conf);
  // Gives every segment back, in use or not.
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // Memory for work on `stream`. Null for 0 bytes. Throws OutOfMemoryError, or what the driver
  // throws.
  Block* allocate(size_t bytes, driver::StreamHandle stream);
  // Null is allowed.
  void release(Block* block) noexcept;
  // Work queued on `stream` uses the block too.
  void record_stream(Block* block, driver::StreamHandle stream);

  // Gives the segments nobody uses back to the driver; waits for the streams they belong to.
  void empty_cache();
  // Returns blocks whose events are reached; never waits.
  void process_events() { pending_.poll(); }
  // Above the threshold: frees cached segments, oldest first, without a wait for the device.
  void collect_garbage();
  // Adds memory that somebody got from the driver as a cached segment.
  void adopt(
      void* data, size_t bytes, size_t requested, PoolKind pool, driver::StreamHandle stream);

  // 1.0: no limit. Memory already reserved stays.
  void set_memory_fraction(double fraction);
  double memory_fraction() const;
  // Throws OutOfMemoryError if reserving `bytes` more would pass the limit.
  void check_memory_fraction(size_t bytes);

  MemoryStats stats();
  int64_t device_allocations() const;  // num_device_alloc alone, cheaply
  void reset_peak_stats();
  void reset_accumulated_stats();
  // Overwrites the reserved bytes of all pools: for tests of the rules that depend on them.
  void set_reserved_bytes(int64_t bytes);

  // What there is now; `trace`, if given, gets the history up to exactly this moment.
  std::vector<SegmentInfo> snapshot(const PoolId* pool = nullptr,
                                    std::vector<TraceEntry>* trace = nullptr);
  MemoryHistory& history() noexcept { return history_; }
  void configure_history(const HistorySettings& settings, bool clear);

  // Settings. The conf replaces all that can change while the allocator lives.
  AllocConf conf() const;
  void set_conf(const AllocConf& conf);

  // Private pools. A pool lives while its use count is above 0 or blocks of it are in use.
  void retain_pool(PoolId id, bool use_on_oom = false, bool no_split = false);
  void release_pool(PoolId id);
  int pool_use_count(PoolId id) const;
  // Until the matching end, what this thread allocates comes from the pool; with `capture`, what
  // any thread allocates for the capturing stream. Work that was only recorded gets its memory
  // from where it was recorded.
  void begin_pool_scope(PoolId id);
  void begin_capture_scope(PoolId id, driver::StreamHandle stream);
  void end_scope(PoolId id);
  bool capturing() const noexcept { return captures_.load(std::memory_order_relaxed) > 0; }

  // What the owner does itself: something before the driver is asked for memory (may throw), and
  // waiting for the device when memory has run out (may release blocks).
  struct OwnerCalls {
    std::function<void()> before_growth;
    std::function<void()> wait_device;
  };
  void set_owner_calls(OwnerCalls calls) { owner_calls_ = std::move(calls); }

  int device() const noexcept { return device_; }
  driver::DeviceDriver& driver() noexcept { return driver_; }

 private:
  friend class AllocatorInspector;  // tests/cpp/support: the invariant walker

  struct Request {
    Arena* arena;
    PoolKind pool;
    size_t size;        // rounded
    size_t requested;   // as asked for
    size_t alloc_size;  // of a new segment
    std::shared_ptr<const CallContext> context;
  };

  struct Scope {
    PrivatePool* pool;
    bool capture;
    driver::StreamHandle stream;  // of a capture
    std::thread::id thread;       // of a user's scope
  };

  enum Attention : uint32_t { kHistory = 1, kScopes = 2, kRounding = 4 };

  Arena& arena_for(driver::StreamHandle stream);
  Arena& find_or_add_arena(driver::StreamHandle stream, PrivatePool* owner);
  Arena& routed_arena(driver::StreamHandle stream);
  // The arenas for which `choose` is true, but for spare ones, which may get another owner at any
  // moment. While the list lives no pool is forgotten, so that an arena stays with its stream and
  // pool.
  class ArenaList {
   public:
    template <class Choose>
    ArenaList(CachingAllocator& allocator, Choose choose);
    ~ArenaList() { allocator_.arena_lists_.fetch_sub(1); }
    ArenaList(const ArenaList&) = delete;
    ArenaList& operator=(const ArenaList&) = delete;

    auto begin() const { return arenas_.begin(); }
    auto end() const { return arenas_.end(); }

   private:
    CachingAllocator& allocator_;
    std::vector<Arena*> arenas_;
  };
  template <class Choose>
  ArenaList arenas(Choose choose) {
    return ArenaList(*this, choose);
  }
  void forget_unused_pools();
  PrivatePool* find_pool(PoolId id) const;  // needs arenas_mutex_

  Block* allocate_attentively(size_t bytes, driver::StreamHandle stream);
  Block* allocate_slowly(Request& request);
  Block* take(Request& request);
  Block* reclaim_and_allocate(Request& request);
  int64_t blocks_freed();  // so far, by anybody
  Block* grow(Request& request);
  Block* grow_segment(Request& request);
  Block* grow_expandable(Request& request);
  Block* borrow_from_idle_streams(Request& request);
  Block* take_from_pools_for_oom(Request& request);
  Request make_request(size_t bytes, driver::StreamHandle stream, Arena* arena) const;
  [[noreturn]] void throw_out_of_memory(const Request& request);
  [[noreturn]] void throw_more_than_any_device() const;

  bool reserve(size_t bytes);  // against the fraction's limit
  void unreserve(size_t bytes);
  void count_segment(Segment& segment, int sign);
  void count_mapping(PoolKind pool, int64_t bytes);

  // Which free segments to give back.
  struct Victims {
    uint64_t min_age = 0;  // in searches of the arena
    size_t smaller_than = SIZE_MAX;
    size_t enough = SIZE_MAX;  // stop once this many bytes are freed
  };
  // Each returns the bytes given back.
  size_t release_free_segments(Arena& arena, const Victims& which);
  size_t release_cached();
  bool release_available(const Request& request);
  void release_outgrown(const Request& request);
  // Expandable segments, see expandable_segments.cpp.
  size_t unmap_free_pages(Arena& arena);
  bool add_address_range(Arena& arena, PoolKind pool, size_t needed);
  size_t page_size(PoolKind pool);
  bool map_pages(char* data, size_t bytes, size_t page);
  void begin_scope(Scope scope, PoolId id);
  size_t give_to_driver(Arena& arena, const std::vector<Segment*>& segments);
  void wait_for(Arena& arena);

  void settle_peaks(Arena* asking) noexcept;
  void settle_peaks_locked(Arena* asking) noexcept;
  void leave(Arena& arena) noexcept;  // unlocks an arena whose statistics changed
  void set_attention(Attention bit, bool on) noexcept;
  template <class Function>
  void with_all_arenas_locked(Function function);
  void finish_pending(Block* block);
  void trace(TraceAction action,
             const void* address,
             size_t size,
             const Arena& arena,
             std::shared_ptr<const CallContext> context) noexcept;
  void trace_allocation(Block* block, const Request& request) noexcept;
  std::shared_ptr<const CallContext> release_context() const noexcept;
  void trace_release(Block* block,
                     const Arena& arena,
                     std::shared_ptr<const CallContext> context) noexcept;

  driver::DeviceDriver& driver_;
  const int device_;
  LateErrors& late_errors_;
  const uint64_t serial_;  // tells allocators apart in thread-local caches
  std::atomic<uint32_t> attention_{0};
  SplitRules rules_;
  AllocConf conf_;

  mutable std::mutex arenas_mutex_;  // the lists of arenas, pools and scopes
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::vector<Arena*> peak_order_;   // those who ask most for room below the peaks first
  bool single_arena_ = false;        // changes only with all arenas locked
  std::atomic<int> arena_lists_{0};  // rises under arenas_mutex_
  std::vector<Arena*> spare_arenas_;
  std::vector<std::unique_ptr<PrivatePool>> pools_;
  PrivatePool spare_pool_;  // owns the arenas of pools that are gone, until they are used again
  std::vector<Scope> scopes_;
  std::atomic<int> captures_{0};

  mutable std::mutex counters_mutex_;
  MemoryStats counters_;  // segments, reserved bytes, events of the ladder
  StatPairs peak_[kPoolCount + 1];
  StatPairs allocated_base_[kPoolCount];  // what was counted before the last reset
  StatPairs freed_base_[kPoolCount];
  size_t reserving_ = 0;  // reserved, but the driver has not answered yet
  double fraction_ = 1.0;

  OwnerCalls owner_calls_;
  MemoryHistory history_;
  PendingFrees pending_;
};

template <class Choose>
CachingAllocator::ArenaList::ArenaList(CachingAllocator& allocator, Choose choose)
    : allocator_(allocator) {
  std::lock_guard lock(allocator.arenas_mutex_);
  for (const auto& arena : allocator.arenas_) {
    if (arena->owner() != &allocator.spare_pool_ && choose(*arena)) arenas_.push_back(arena.get());
  }
  allocator.arena_lists_.fetch_add(1);
}

// In the order of the list, which only grows at its end: no two threads can wait for each other.
template <class Function>
void CachingAllocator::with_all_arenas_locked(Function function) {
  std::lock_guard list_lock(arenas_mutex_);
  struct Unlock {
    std::vector<std::unique_ptr<Arena>>& arenas;
    ~Unlock() {
      for (auto arena = arenas.rbegin(); arena != arenas.rend(); ++arena) (*arena)->unlock();
    }
  };
  for (const auto& arena : arenas_) arena->lock();
  const Unlock unlock{arenas_};
  function(arenas_);
}

inline void CachingAllocator::leave(Arena& arena) noexcept {
  bool settle = false;
  if (MT_UNLIKELY(arena.above_peak())) {
    if (single_arena_) {
      arena.raise_peak();
    } else {
      settle = true;
    }
  }
  arena.unlock();
  if (MT_UNLIKELY(settle)) settle_peaks(&arena);
}

}  // namespace mindtorch::runtime
