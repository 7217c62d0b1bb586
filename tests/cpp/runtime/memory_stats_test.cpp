#include "mindtorch/runtime/memory_stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace mindtorch::runtime {
namespace {

TEST(Stat, PeakFollowsAndSumsNeverFall) {
  Stat stat;
  stat.add(5);
  stat.add(-3);
  stat.add(2);
  EXPECT_EQ(stat.current, 4);
  EXPECT_EQ(stat.peak, 5);
  EXPECT_EQ(stat.allocated, 7);
  EXPECT_EQ(stat.freed, 3);
}

TEST(MemoryStats, FlatFormHasAllOfTorchsKeysSorted) {
  const auto flat = MemoryStats().flat();
  EXPECT_TRUE(std::ranges::is_sorted(flat));
  std::map<std::string, int64_t> values(flat.begin(), flat.end());
  EXPECT_EQ(values.size(), flat.size());
  EXPECT_EQ(flat.size(), 122u + 12u);  // torch's, and `allocated` beside `allocation`
  for (const char* metric :
       {"allocation", "allocated", "allocated_bytes", "requested_bytes", "active", "active_bytes",
        "segment", "reserved_bytes", "inactive_split", "inactive_split_bytes"}) {
    for (const char* pool : {"all", "small_pool", "large_pool"}) {
      for (const char* kind : {"current", "peak", "allocated", "freed"}) {
        EXPECT_EQ(values.count(std::string(metric) + "." + pool + "." + kind), 1u) << metric;
      }
    }
  }
  for (const char* key :
       {"oversize_allocations.current", "oversize_segments.freed", "num_ooms", "num_alloc_retries",
        "num_sync_all_streams", "num_device_alloc", "num_device_free"}) {
    EXPECT_EQ(values.count(key), 1u) << key;
  }
  EXPECT_EQ(values["max_split_size"], -1);
}

TEST(MemoryStats, EveryValueLandsUnderItsOwnKey) {
  MemoryStats stats;
  int64_t next = 1;
  for (auto& pools : stats.metrics) {
    for (Stat& stat : pools) {
      stat = {next, next + 1, next + 2, next + 3};
      next += 4;
    }
  }
  stats.oversize_segments = {-2, -3, -4, -5};
  stats.num_ooms = -6;
  stats.num_alloc_retries = -7;
  stats.num_sync_all_streams = -8;
  stats.num_device_alloc = -9;
  stats.num_device_free = -10;
  const auto flat = stats.flat();
  std::map<std::string, int64_t> values(flat.begin(), flat.end());
  const auto metric = [&stats](Metric which, int pool) {
    return stats.metrics[static_cast<size_t>(which)][static_cast<size_t>(pool)];
  };
  EXPECT_EQ(values["allocation.small_pool.current"], metric(Metric::kAllocation, 0).current);
  EXPECT_EQ(values["allocated.large_pool.peak"], metric(Metric::kAllocation, 1).peak);
  EXPECT_EQ(values["allocated_bytes.all.peak"], stats.all(Metric::kAllocatedBytes).peak);
  EXPECT_EQ(values["active.all.freed"], stats.all(Metric::kActive).freed);
  EXPECT_EQ(values["active_bytes.large_pool.allocated"], metric(Metric::kActiveBytes, 1).allocated);
  EXPECT_EQ(values["requested_bytes.all.freed"], stats.all(Metric::kRequestedBytes).freed);
  EXPECT_EQ(values["inactive_split.all.current"], stats.all(Metric::kInactiveSplit).current);
  EXPECT_EQ(values["inactive_split_bytes.small_pool.peak"],
            metric(Metric::kInactiveSplitBytes, 0).peak);
  EXPECT_EQ(values["segment.all.current"], stats.all(Metric::kSegment).current);
  EXPECT_EQ(values["reserved_bytes.all.current"], stats.all(Metric::kReservedBytes).current);
  EXPECT_EQ(values["oversize_allocations.peak"], stats.all(Metric::kOversizeAllocations).peak);
  EXPECT_EQ(values["oversize_segments.current"], -2);
  EXPECT_EQ(values["oversize_segments.freed"], -5);
  EXPECT_EQ(values["num_ooms"], -6);
  EXPECT_EQ(values["num_alloc_retries"], -7);
  EXPECT_EQ(values["num_sync_all_streams"], -8);
  EXPECT_EQ(values["num_device_alloc"], -9);
  EXPECT_EQ(values["num_device_free"], -10);
}

TEST(ArenaStats, TellsWhenAnAllowanceIsPassed) {
  ArenaStats stats;
  EXPECT_TRUE(stats.add_active(PoolKind::kSmall, 512, 100, false));
  for (auto& high : stats.high) {
    for (int lane = 0; lane < kLaneCount; ++lane) high.set(lane, 1024);
  }
  EXPECT_FALSE(stats.add_active(PoolKind::kSmall, 512, 100, false));
  EXPECT_TRUE(stats.add_active(PoolKind::kLarge, 512, 100, true));  // of all pools together
  stats.remove_allocated(PoolKind::kLarge, 512, true);
  stats.remove_active(PoolKind::kLarge, 512, 100);
  EXPECT_EQ(stats.current[1][static_cast<int>(Metric::kActiveBytes)], 0);
  EXPECT_EQ(stats.freed[1][static_cast<int>(Metric::kOversizeAllocations)], 1);
  EXPECT_EQ(stats.current[0][static_cast<int>(Metric::kRequestedBytes)], 200);
  EXPECT_FALSE(stats.add_split(PoolKind::kSmall, 1, 1024));
  EXPECT_FALSE(stats.add_split(PoolKind::kSmall, -1, -1024));
  EXPECT_EQ(stats.freed[0][static_cast<int>(Metric::kInactiveSplitBytes)], 1024);
}

}  // namespace
}  // namespace mindtorch::runtime
