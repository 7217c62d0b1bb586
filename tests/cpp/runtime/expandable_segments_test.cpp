#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/cpp/support/allocator_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::AllocConf;
using runtime::Block;
using runtime::MemoryStats;
using runtime::Metric;

struct ExpandableDevice : TestDevice {
  explicit ExpandableDevice(size_t memory_bytes = 1024 * kMiB)
      : TestDevice(memory_bytes, conf(), options()) {}
  static AllocConf conf() {
    AllocConf conf;
    conf.expandable_segments = true;
    return conf;
  }
  static FakeOptions options() {
    FakeOptions options;
    options.virtual_memory = true;
    return options;
  }
};

TEST(ExpandableSegments, GrowInPlace) {
  ExpandableDevice device;
  auto& allocator = *device.allocator;
  Block* first = allocator.allocate(15 * kMiB, nullptr);
  char* const start = first->data;
  EXPECT_EQ(device.current(Metric::kReservedBytes), static_cast<int64_t>(20 * kMiB));
  allocator.release(first);
  Block* larger = allocator.allocate(30 * kMiB, nullptr);  // what is there and what is added join
  EXPECT_EQ(larger->data, start);
  const MemoryStats stats = allocator.stats();
  EXPECT_EQ(stats.all(Metric::kReservedBytes).current, static_cast<int64_t>(40 * kMiB));
  EXPECT_EQ(stats.all(Metric::kSegment).current, 0);
  EXPECT_EQ(stats.all(Metric::kInactiveSplit).current, 0);
  EXPECT_EQ(stats.num_device_alloc, 2);
  EXPECT_EQ(device.driver.count(Call::allocate), 0);
  EXPECT_EQ(device.problems(), "");
  const auto snapshot = allocator.snapshot();
  ASSERT_EQ(snapshot.size(), 1u);
  EXPECT_TRUE(snapshot[0].is_expandable);
  EXPECT_EQ(snapshot[0].total_size, 40 * kMiB);
  allocator.release(larger);
}

TEST(ExpandableSegments, UseSmallPagesForSmallBlocks) {
  ExpandableDevice device;
  Block* block = device.allocator->allocate(1000, nullptr);
  EXPECT_EQ(device.current(Metric::kReservedBytes), static_cast<int64_t>(2 * kMiB));
  device.allocator->release(block);
}

TEST(ExpandableSegments, GiveBackWholeFreePages) {
  ExpandableDevice device;
  auto& allocator = *device.allocator;
  Block* a = allocator.allocate(30 * kMiB, nullptr);
  Block* b = allocator.allocate(5 * kMiB, nullptr);
  Block* c = allocator.allocate(45 * kMiB, nullptr);
  device.driver.use(0, nullptr, c->data, c->size);
  EXPECT_EQ(device.current(Metric::kReservedBytes), static_cast<int64_t>(80 * kMiB));
  allocator.release(c);
  allocator.empty_cache();  // waits for the stream
  EXPECT_EQ(device.current(Metric::kReservedBytes), static_cast<int64_t>(40 * kMiB));
  allocator.release(a);
  allocator.empty_cache();
  EXPECT_EQ(device.current(Metric::kReservedBytes), static_cast<int64_t>(20 * kMiB));
  EXPECT_EQ(device.problems(), "");
  Block* again = allocator.allocate(30 * kMiB, nullptr);  // the gap at the front is too small
  EXPECT_EQ(device.problems(), "");
  EXPECT_EQ(allocator.snapshot().size(), 1u);
  allocator.release(again);
  allocator.release(b);
  allocator.empty_cache();
  EXPECT_EQ(device.current(Metric::kReservedBytes), 0);
}

TEST(ExpandableSegments, AvoidWhatSegmentsCannot) {
  // 60 MiB free in two pieces serve 50 MiB only if they can join.
  const auto runs = [](bool expandable) {
    AllocConf conf;
    conf.expandable_segments = expandable;
    FakeOptions options;
    options.virtual_memory = true;
    TestDevice device(100 * kMiB, conf, options);
    auto& allocator = *device.allocator;
    Block* a = allocator.allocate(20 * kMiB, nullptr);
    Block* b = allocator.allocate(40 * kMiB, nullptr);
    allocator.release(a);
    allocator.release(b);
    Block* keep = allocator.allocate(30 * kMiB, nullptr);
    Block* big = nullptr;
    try {
      big = allocator.allocate(70 * kMiB, nullptr);
    } catch (const OutOfMemoryError&) {
    }
    const bool worked = big != nullptr;
    allocator.release(keep);
    allocator.release(big);
    return worked;
  };
  EXPECT_TRUE(runs(true));
  EXPECT_FALSE(runs(false));
}

TEST(ExpandableSegments, FallBackWithoutVirtualMemory) {
  AllocConf conf;
  conf.expandable_segments = true;
  TestDevice device(1024 * kMiB, conf);
  Block* block = device.allocator->allocate(1000, nullptr);
  EXPECT_EQ(device.driver.count(Call::allocate), 1);
  device.allocator->release(block);
}

TEST(ExpandableSegments, CanBeSwitchedWhileBlocksLive) {
  ExpandableDevice device;
  auto& allocator = *device.allocator;
  Block* expandable = allocator.allocate(30 * kMiB, nullptr);
  allocator.set_conf(AllocConf{});
  Block* plain = allocator.allocate(30 * kMiB, nullptr);
  EXPECT_TRUE(expandable->segment->expandable);
  EXPECT_FALSE(plain->segment->expandable);
  allocator.release(expandable);
  allocator.release(plain);
  allocator.empty_cache();
  EXPECT_EQ(device.current(Metric::kReservedBytes), 0);
}

TEST(ExpandableSegments, RespectTheMemoryFraction) {
  ExpandableDevice device(100 * kMiB);
  device.allocator->set_memory_fraction(0.5);
  EXPECT_THROW(device.allocator->allocate(60 * kMiB, nullptr), OutOfMemoryError);
  EXPECT_EQ(device.driver.count(Call::map), 0);
  EXPECT_EQ(device.problems(), "");
}

// What fails for its size leaves no addresses behind, however often it is tried.
TEST(ExpandableSegments, ReserveNothingForRequestsBeyondTheDevice) {
  ExpandableDevice device;
  auto& allocator = *device.allocator;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(allocator.allocate(2048 * kMiB, nullptr), OutOfMemoryError);
  }
  EXPECT_EQ(device.driver.count(Call::reserve), 0);
  Block* block = allocator.allocate(1000 * kMiB, nullptr);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(allocator.allocate(1000 * kMiB, nullptr), OutOfMemoryError);
  }
  EXPECT_LE(device.driver.count(Call::reserve), 2);
  allocator.release(block);
}

// Memory goes back in the pieces in which it came, whatever their size is by then.
TEST(ExpandableSegments, KeepTheirPagesWhenTheSettingChanges) {
  ExpandableDevice device;
  auto& allocator = *device.allocator;
  Block* before = allocator.allocate(15 * kMiB, nullptr);
  AllocConf conf = ExpandableDevice::conf();
  conf.large_segment_size = 32 * kMiB;
  allocator.set_conf(conf);
  Block* after = allocator.allocate(30 * kMiB, nullptr);
  EXPECT_EQ(device.current(Metric::kReservedBytes), static_cast<int64_t>(60 * kMiB));
  for (Block* block : {before, after}) allocator.release(block);
  allocator.empty_cache();
  EXPECT_EQ(device.current(Metric::kReservedBytes), 0);
  EXPECT_EQ(device.driver.failures(), std::vector<std::string>());
  EXPECT_EQ(device.problems(), "");
}

// Growing costs the same however many blocks there are: ten times the blocks, not a hundred times
// the time.
// A search or a list that grew with every block would take hours.
TEST(ExpandableSegments, GrowToAMillionBlocks) {
  ExpandableDevice device(size_t{64} << 30);
  std::vector<Block*> blocks(1000000);
  for (Block*& block : blocks) block = device.allocator->allocate(512, nullptr);
  EXPECT_EQ(device.current(Metric::kActiveBytes), 512 * static_cast<int64_t>(blocks.size()));
  for (Block* block : blocks) device.allocator->release(block);
  EXPECT_EQ(device.current(Metric::kActiveBytes), 0);
}

}  // namespace
}  // namespace mindtorch::test
