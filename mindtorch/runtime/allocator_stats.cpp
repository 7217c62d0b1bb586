#include "mindtorch/runtime/allocator_stats.h"

#include <algorithm>

namespace mindtorch::runtime {

void AllocatorStats::count(int64_t MemoryStats::* counter) {
  std::lock_guard lock(mutex_);
  ++(counters_.*counter);
}

void AllocatorStats::count_segment(const Segment& segment, int sign) {
  const auto pool = static_cast<size_t>(segment.pool);
  const int64_t bytes = sign * static_cast<int64_t>(segment.size);
  std::lock_guard lock(mutex_);
  for (size_t p : {pool, size_t{kAllPools}}) {
    counters_.metrics[static_cast<size_t>(Metric::kSegment)][p].add(sign);
    counters_.metrics[static_cast<size_t>(Metric::kReservedBytes)][p].add(bytes);
  }
  if (segment.oversize) counters_.oversize_segments.add(sign);
  ++(sign > 0 ? counters_.num_device_alloc : counters_.num_device_free);
}

void AllocatorStats::count_mapping(PoolKind pool, int64_t bytes) {
  std::lock_guard lock(mutex_);
  for (size_t p : {static_cast<size_t>(pool), size_t{kAllPools}}) {
    counters_.metrics[static_cast<size_t>(Metric::kReservedBytes)][p].add(bytes);
  }
  ++(bytes > 0 ? counters_.num_device_alloc : counters_.num_device_free);
}

int64_t AllocatorStats::reserved_bytes() const {
  std::lock_guard lock(mutex_);
  return counters_.all(Metric::kReservedBytes).current;
}

int64_t AllocatorStats::device_allocations() const {
  std::lock_guard lock(mutex_);
  return counters_.num_device_alloc;
}

int64_t AllocatorStats::blocks_freed() {
  int64_t freed = 0;
  arenas_.with_all_locked([&freed](const auto& arenas) {
    for (const auto& arena : arenas) {
      arena->is_held();
      for (const StatPairs& pool : arena->stats().freed) {
        freed += pool[static_cast<int>(Metric::kAllocation)];
      }
    }
  });
  return freed;
}

MemoryStats AllocatorStats::read() {
  MemoryStats result;
  arenas_.with_all_locked([&](const auto& arenas) {
    for (const auto& arena : arenas) {
      arena->is_held();
      arena->coalesce();
    }
    PeakTracker& peaks = arenas_.peaks();
    peaks.rebalance();
    std::lock_guard lock(mutex_);
    result = counters_;
    for (int lane = 0; lane < kLaneCount; ++lane) {
      auto& metric = result.metrics[static_cast<size_t>(lane)];
      for (int pool = 0; pool < kPoolCount; ++pool) {
        Stat& stat = metric[static_cast<size_t>(pool)];
        for (const auto& arena : arenas) {
          arena->is_held();
          stat.current += arena->stats().current[pool][lane];
          stat.freed += arena->stats().freed[pool][lane];
        }
        stat.allocated = stat.current + stat.freed - allocated_base_[pool][lane];
        stat.freed -= freed_base_[pool][lane];
        stat.peak = peaks.peak(pool, lane);
        metric[kAllPools].current += stat.current;
        metric[kAllPools].allocated += stat.allocated;
        metric[kAllPools].freed += stat.freed;
      }
      metric[kAllPools].peak = peaks.peak(kAllPools, lane);
    }
  });
  return result;
}

void AllocatorStats::reset_peaks() {
  arenas_.with_all_locked([&](const auto& arenas) {
    for (const auto& arena : arenas) {
      arena->is_held();
      arena->coalesce();
    }
    arenas_.peaks().reset();
    std::lock_guard lock(mutex_);
    for (auto& metric : counters_.metrics) {
      for (Stat& stat : metric) stat.peak = stat.current;
    }
    counters_.oversize_segments.peak = counters_.oversize_segments.current;
  });
}

void AllocatorStats::reset_accumulated() {
  arenas_.with_all_locked([&](const auto& arenas) {
    for (const auto& arena : arenas) {
      arena->is_held();
      arena->coalesce();
    }
    std::lock_guard lock(mutex_);
    for (int pool = 0; pool < kPoolCount; ++pool) {
      for (int lane = 0; lane < kLaneCount; ++lane) {
        int64_t freed = 0;
        int64_t current = 0;
        for (const auto& arena : arenas) {
          arena->is_held();
          freed += arena->stats().freed[pool][lane];
          current += arena->stats().current[pool][lane];
        }
        freed_base_[pool].set(lane, freed);
        allocated_base_[pool].set(lane, current + freed);
      }
    }
    for (auto& metric : counters_.metrics) {
      for (Stat& stat : metric) stat.allocated = stat.freed = 0;
    }
    Stat& oversize = counters_.oversize_segments;
    oversize.allocated = oversize.freed = 0;
    counters_.num_alloc_retries = counters_.num_ooms = counters_.num_sync_all_streams = 0;
    counters_.num_device_alloc = counters_.num_device_free = 0;
  });
}

void AllocatorStats::set_max_split_size(int64_t bytes) {
  std::lock_guard lock(mutex_);
  counters_.max_split_size = bytes;
}

void AllocatorStats::set_reserved_bytes(int64_t bytes) {
  std::lock_guard lock(mutex_);
  Stat& stat = counters_.metrics[static_cast<size_t>(Metric::kReservedBytes)][kAllPools];
  stat.current = bytes;
  stat.peak = std::max(stat.peak, bytes);
}

}  // namespace mindtorch::runtime
