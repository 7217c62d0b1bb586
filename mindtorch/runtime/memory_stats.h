#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/runtime/block.h"

namespace mindtorch::runtime {

// What is counted, per pool. The first kLaneCount change with every allocation and live in the
// arenas; the last two change only with segments.
enum class Metric : uint8_t {
  kAllocation,
  kAllocatedBytes,
  kActive,
  kActiveBytes,
  kRequestedBytes,
  kOversizeAllocations,  // reported without a pool
  kInactiveSplit,
  kInactiveSplitBytes,
  kSegment,
  kReservedBytes,
};
inline constexpr int kLaneCount = 8;
inline constexpr int kMetricCount = 10;
inline constexpr int kPoolCount = 2;
inline constexpr int kAllPools = 2;  // after kSmall and kLarge

struct Stat {
  int64_t current = 0;
  int64_t peak = 0;
  int64_t allocated = 0;  // sum of all increases
  int64_t freed = 0;      // sum of all decreases

  void add(int64_t change) noexcept {
    current += change;
    if (current > peak) peak = current;
    (change > 0 ? allocated : freed) += change > 0 ? change : -change;
  }
};

// One consistent reading of an allocator's counters.
struct MT_API MemoryStats {
  std::array<std::array<Stat, 3>, kMetricCount> metrics;  // [metric][small, large, all]
  Stat oversize_segments;
  int64_t num_alloc_retries = 0;
  int64_t num_ooms = 0;
  int64_t num_sync_all_streams = 0;
  int64_t num_device_alloc = 0;
  int64_t num_device_free = 0;
  int64_t max_split_size = -1;

  const Stat& all(Metric metric) const { return metrics[static_cast<size_t>(metric)][kAllPools]; }
  // torch's flat keys ("allocated_bytes.all.peak"), and "allocated.*" beside "allocation.*".
  // Sorted.
  std::vector<std::pair<std::string, int64_t>> flat() const;
};

// Counters that move in pairs (a count and its bytes): two to a vector register.
using StatPair = int64_t __attribute__((vector_size(16)));
inline constexpr int kPairCount = kLaneCount / 2;

struct StatPairs {
  StatPair pair[kPairCount] = {};

  int64_t operator[](int lane) const { return pair[lane / 2][lane % 2]; }
  void set(int lane, int64_t value) { pair[lane / 2][lane % 2] = value; }
};

// The counters of one arena. Note [Exact peaks without a shared counter]: the peak of a sum over
// arenas cannot be known by any one arena. Each arena holds an allowance, `high`: while its own
// values stay at or below it the sum stays at or below the device's peak, whatever the others do.
// Only an arena that passes its allowance makes the allocator look at all of them together. With a
// single arena `high` is the peak itself.
class ArenaStats {
 public:
  StatPairs current[kPoolCount];
  StatPairs freed[kPoolCount];  // increases are current + freed: they need no counter of their own
  StatPairs high[kPoolCount + 1];

  // Each returns whether a value passed the allowance.
  [[nodiscard]] bool add_active(PoolKind pool, int64_t bytes, int64_t requested, bool oversize) {
    const StatPair use = {1, bytes};
    StatPair room = increase(pool, 0, use);
    room |= increase(pool, 1, use);
    room |= increase(pool, 2, StatPair{requested, oversize});
    return (room[0] | room[1]) < 0;
  }
  [[nodiscard]] bool add_split(PoolKind pool, int64_t count, int64_t bytes) {
    const StatPair change = {count, bytes};
    const StatPair decrease_by = {count < 0 ? -count : 0, bytes < 0 ? -bytes : 0};
    freed[static_cast<int>(pool)].pair[3] += decrease_by;
    const StatPair room = increase(pool, 3, change);
    return (room[0] | room[1]) < 0;
  }
  void remove_allocated(PoolKind pool, int64_t bytes, bool oversize) {
    decrease(pool, 0, StatPair{1, bytes});
    decrease(pool, 2, StatPair{0, oversize});
  }
  void remove_active(PoolKind pool, int64_t bytes, int64_t requested) {
    decrease(pool, 1, StatPair{1, bytes});
    decrease(pool, 2, StatPair{requested, 0});
  }

 private:
  // Negative lanes: no room left under the allowance.
  StatPair increase(PoolKind pool, int k, StatPair change) {
    const int p = static_cast<int>(pool);
    const StatPair now = current[p].pair[k] + change;
    current[p].pair[k] = now;
    return (high[p].pair[k] - now) | (high[kAllPools].pair[k] - (now + current[1 - p].pair[k]));
  }
  void decrease(PoolKind pool, int k, StatPair change) {
    const int p = static_cast<int>(pool);
    current[p].pair[k] -= change;
    freed[p].pair[k] += change;
  }
};

}  // namespace mindtorch::runtime
