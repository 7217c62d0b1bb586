#include "mindtorch/runtime/replay.h"

#include <gtest/gtest.h>

#include "tests/cpp/support/allocator_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::AllocConf;
using runtime::Block;
using runtime::HistorySettings;
using runtime::ReplayResult;
using runtime::ReplaySettings;
using runtime::TraceAction;
using runtime::TraceEntry;

TraceEntry entry(TraceAction action, uint64_t address, size_t size) {
  TraceEntry result{};
  result.action = action;
  result.address = address;
  result.size = size;
  return result;
}

ReplaySettings with(AllocConf conf, size_t device_bytes = SIZE_MAX) {
  ReplaySettings settings;
  settings.conf = conf;
  settings.device_bytes = device_bytes;
  return settings;
}

// What the allocator itself did is what the replay of its history says.
TEST(Replay, AgreesWithTheRun) {
  TestDevice device;
  auto& allocator = *device.allocator;
  HistorySettings history;
  history.enabled = true;
  allocator.configure_history(history, true);
  driver::StreamHandle side = device.new_stream();
  std::vector<Block*> blocks;
  uint64_t random = 7;
  for (int i = 0; i < 2000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    if (blocks.size() < 30 && (random >> 40) % 5 < 3) {
      blocks.push_back(allocator.allocate(1 + (random >> 33) % (4 * kMiB),
                                          (random >> 50) % 4 == 0 ? side : nullptr));
    } else if (!blocks.empty()) {
      allocator.release(blocks.front());
      blocks.erase(blocks.begin());
    }
  }
  const runtime::MemoryStats stats = allocator.stats();
  const ReplayResult result = runtime::replay(allocator.history().entries(), with({}));
  EXPECT_EQ(result.peak_reserved_bytes,
            static_cast<size_t>(stats.all(runtime::Metric::kReservedBytes).peak));
  EXPECT_EQ(result.peak_active_bytes,
            static_cast<size_t>(stats.all(runtime::Metric::kActiveBytes).peak));
  EXPECT_EQ(result.device_allocations, stats.num_device_alloc);
  EXPECT_FALSE(result.out_of_memory);
  for (Block* block : blocks) allocator.release(block);
}

TEST(Replay, TellsWhereMemoryRunsOut) {
  std::vector<TraceEntry> trace;
  for (uint64_t i = 0; i < 10; ++i) {
    trace.push_back(entry(TraceAction::kAlloc, 1000 + i, 30 * kMiB));
  }
  const ReplayResult result = runtime::replay(trace, with({}, 100 * kMiB));
  EXPECT_TRUE(result.out_of_memory);
  EXPECT_EQ(result.out_of_memory_at, 3u);
  EXPECT_EQ(result.out_of_memory_bytes, 30 * kMiB);
  EXPECT_EQ(result.peak_reserved_bytes, 90 * kMiB);
}

// A block that waited for another stream is in use until its free was completed.
TEST(Replay, KeepsPendingBlocks) {
  std::vector<TraceEntry> trace = {
      entry(TraceAction::kAlloc, 1, 30 * kMiB), entry(TraceAction::kFreeRequested, 1, 30 * kMiB),
      entry(TraceAction::kAlloc, 2, 30 * kMiB), entry(TraceAction::kFreeCompleted, 1, 30 * kMiB)};
  EXPECT_EQ(runtime::replay(trace, with({})).peak_reserved_bytes, 60 * kMiB);
  trace.pop_back();  // cut off before the completion: free when asked for
  EXPECT_EQ(runtime::replay(trace, with({})).peak_reserved_bytes, 30 * kMiB);
}

TEST(Replay, ShowsWhatASettingBuys) {
  std::vector<TraceEntry> trace;
  uint64_t id = 1;
  uint64_t cache = 0;
  for (size_t step = 0; step < 200; ++step) {
    trace.push_back(entry(TraceAction::kAlloc, ++id, (20 + step) * kMiB));
    if (cache != 0) trace.push_back(entry(TraceAction::kFreeRequested, cache, 0));
    cache = id;
  }
  AllocConf torch_rules;
  torch_rules.outgrown_segment_age = 0;
  AllocConf expandable;
  expandable.expandable_segments = true;
  AllocConf young;
  young.outgrown_segment_age = 16;
  const size_t plain = runtime::replay(trace, with(torch_rules)).peak_reserved_bytes;
  EXPECT_LT(runtime::replay(trace, with(expandable)).peak_reserved_bytes, plain / 4);
  EXPECT_LT(runtime::replay(trace, with(young)).peak_reserved_bytes, plain / 2);
}

TEST(Replay, SkipsWhatItCannotKnow) {
  const std::vector<TraceEntry> trace = {entry(TraceAction::kFreeRequested, 5, 512),
                                         entry(TraceAction::kSegmentAlloc, 6, kMiB),
                                         entry(TraceAction::kSnapshot, 0, 0)};
  const ReplayResult result = runtime::replay(trace, with({}));
  EXPECT_EQ(result.allocations, 0);
  EXPECT_EQ(runtime::replay({}, with({})).peak_reserved_bytes, 0u);
}

// A recording that left out the frees: an address that comes again has been freed before.
TEST(Replay, AnAddressThatComesAgainWasFreed) {
  const std::vector<TraceEntry> trace(10, entry(TraceAction::kAlloc, 4096, 30 * kMiB));
  const ReplayResult result = runtime::replay(trace, {});
  EXPECT_EQ(result.peak_reserved_bytes, 30 * kMiB);
  EXPECT_EQ(result.allocations, 10);
}

}  // namespace
}  // namespace mindtorch::test
