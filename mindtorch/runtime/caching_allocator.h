#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/alloc_conf.h"
#include "mindtorch/runtime/allocator_state.h"
#include "mindtorch/runtime/async_errors.h"
#include "mindtorch/runtime/device_segments.h"
#include "mindtorch/runtime/event_pool.h"
#include "mindtorch/runtime/expandable_segments.h"
#include "mindtorch/runtime/memory_history.h"
#include "mindtorch/runtime/memory_stats.h"
#include "mindtorch/runtime/oom_policy.h"
#include "mindtorch/runtime/pending_frees.h"
#include "mindtorch/runtime/private_pools.h"
#include "mindtorch/runtime/slow_path_flags.h"
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
// Device memory for one device: the fast path, in front of the parts listed at the end of the
// class. Thread-safe; any thread may free any block. No lock is held while the driver, a hook or
// the interpreter is called.
class MT_API CachingAllocator {
 public:
  CachingAllocator(driver::DeviceDriver& driver,
                   int device,
                   EventPool& events,
                   AsyncErrors& async_errors,
                   const AllocConf& conf);
  // Gives every segment back, in use or not.
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // Memory for work on `stream`. Null for 0 bytes. Throws OutOfMemoryError, or what the driver
  // throws.
  Block* allocate(size_t bytes, driver::StreamHandle stream);
  // The same memory as before: null if it is in use, or if it takes more than a look at the cache.
  Block* allocate_at(const void* address, size_t bytes, driver::StreamHandle stream);
  // Null is allowed.
  void release(Block* block) noexcept;
  // Work queued on `stream` uses the block too.
  void record_stream(Block* block, driver::StreamHandle stream);

  // Gives unused segments back to the driver; waits for the streams they belong to.
  void empty_cache();
  // Returns blocks whose events are reached; never waits.
  void process_events() { pending_.poll(); }
  // Above the threshold: frees cached segments, oldest first, without a wait for the device.
  void collect_garbage();
  // Adds memory that the caller got from the driver as a cached segment.
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
  MemoryHistory& history() noexcept { return state_.history; }
  void configure_history(const HistorySettings& settings, bool clear);

  // Settings. The conf replaces all that can change while the allocator lives.
  AllocConf conf() const { return *state_.conf.get(); }
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
  bool capturing() const noexcept { return pools_.capturing(); }

  void set_callbacks(AllocatorCallbacks callbacks) {
    oom_policy_.set_callbacks(std::move(callbacks));
  }

  int device() const noexcept { return state_.device; }
  driver::DeviceDriver& driver() noexcept { return state_.driver; }

 private:
  friend class AllocatorInspector;  // tests/cpp/support: the invariant walker

  // Out of line, to keep the fast path short.
  [[gnu::noinline]] Block* allocate_instrumented(size_t bytes, driver::StreamHandle stream);
  [[gnu::noinline]] Block* allocate_uncached(Arena& arena, size_t size, size_t bytes);
  [[gnu::noinline]] void release_instrumented(Block* block) noexcept;
  void finish_pending(Block* block);
  // Memory was taken or, with bytes below 0, given back.
  void tell_profiler(const void* data, int64_t bytes) noexcept;

  SlowPathFlags slow_path_;
  AllocatorState state_;  // driver, settings, arenas, statistics, limit, history
  PrivatePools pools_;    // of graphs and users, and which allocations go there
  PendingFrees pending_;  // freed blocks that other streams still use
  DeviceSegments segments_;
  ExpandableSegments expandable_segments_;
  OomPolicy oom_policy_;  // what happens when no cached block fits
};

}  // namespace mindtorch::runtime
