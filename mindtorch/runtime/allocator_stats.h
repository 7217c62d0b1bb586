#pragma once

#include <cstdint>
#include <mutex>

#include "mindtorch/base/thread_safety.h"
#include "mindtorch/runtime/arena_set.h"
#include "mindtorch/runtime/memory_stats.h"

namespace mindtorch::runtime {

// The statistics of one allocator: counts what happens to segments and when memory runs out, and
// adds up what the arenas count. Thread-safe.
class AllocatorStats {
 public:
  explicit AllocatorStats(ArenaSet& arenas) : arenas_(arenas) {}

  void count_segment_alloc(const Segment& segment) { count_segment(segment, 1); }
  void count_segment_free(const Segment& segment) { count_segment(segment, -1); }
  void count_map(PoolKind pool, size_t bytes) { count_mapping(pool, static_cast<int64_t>(bytes)); }
  void count_unmap(PoolKind pool, size_t bytes) {
    count_mapping(pool, -static_cast<int64_t>(bytes));
  }
  void count_oom() { count(&MemoryStats::num_ooms); }
  void count_alloc_retry() { count(&MemoryStats::num_alloc_retries); }
  void count_sync_all_streams() { count(&MemoryStats::num_sync_all_streams); }

  int64_t reserved_bytes() const;
  int64_t device_allocations() const;  // num_device_alloc alone, cheaply
  int64_t blocks_freed();              // so far, by any thread

  // One consistent reading.
  MemoryStats read();
  void reset_peaks();
  void reset_accumulated();

  void set_max_split_size(int64_t bytes);  // reported only; -1: unlimited
  void set_reserved_bytes(int64_t bytes);  // for tests of rules that depend on them

 private:
  void count_segment(const Segment& segment, int sign);
  void count_mapping(PoolKind pool, int64_t bytes);
  void count(int64_t MemoryStats::* counter);

  ArenaSet& arenas_;
  mutable std::mutex mutex_;
  MemoryStats counters_ MT_GUARDED_BY(mutex_);  // without the arenas' part
  StatPairs allocated_base_[kPoolCount] MT_GUARDED_BY(
      mutex_);  // what the arenas had counted at the last reset
  StatPairs freed_base_[kPoolCount] MT_GUARDED_BY(mutex_);
};

}  // namespace mindtorch::runtime
