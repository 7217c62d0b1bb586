// The rules and counters of the caching allocator, one by one.
#include "mindtorch/runtime/caching_allocator.h"

#include <gtest/gtest.h>

#include "mindtorch/runtime/hooks.h"
#include "tests/cpp/support/allocator_fixture.h"
#include "tests/cpp/support/failing_new.h"

namespace mindtorch::test {
namespace {

using runtime::AllocConf;
using runtime::Block;
using runtime::BlockState;
using runtime::MemoryStats;
using runtime::Metric;

struct Single {
  size_t request;
  int64_t allocated;
  int64_t reserved;
};

// What torch 2.11 does with one request from an empty cache.
TEST(CachingAllocator, RoundsAndReservesAsTorchDoes) {
  for (const Single& want : std::vector<Single>{{1, 512, 2097152},
                                                {511, 512, 2097152},
                                                {512, 512, 2097152},
                                                {513, 1024, 2097152},
                                                {1048576, 1048576, 2097152},
                                                {1048577, 1049088, 20971520},
                                                {10485248, 10485248, 20971520},
                                                {10485249, 10485760, 10485760},
                                                {10485761, 10486272, 12582912},
                                                {22020096, 23068672, 23068672},
                                                {209715201, 209715712, 211812352}}) {
    TestDevice device;
    Block* block = device.allocator->allocate(want.request, nullptr);
    ASSERT_NE(block, nullptr);
    const MemoryStats stats = device.allocator->stats();
    EXPECT_EQ(stats.all(Metric::kAllocatedBytes).current, want.allocated) << want.request;
    EXPECT_EQ(stats.all(Metric::kReservedBytes).current, want.reserved) << want.request;
    EXPECT_EQ(stats.all(Metric::kRequestedBytes).current, static_cast<int64_t>(want.request));
    EXPECT_EQ(device.problems(), "");
    device.allocator->release(block);
  }
}

TEST(CachingAllocator, NoBytesNoBlock) {
  TestDevice device;
  EXPECT_EQ(device.allocator->allocate(0, nullptr), nullptr);
  device.allocator->release(nullptr);
  EXPECT_EQ(device.driver.count(Call::allocate), 0);
}

TEST(CachingAllocator, MoreThanAnExabyteFailsAtOnce) {
  TestDevice device;
  EXPECT_THROW(device.allocator->allocate(size_t{1} << 60, nullptr), OutOfMemoryError);
  EXPECT_THROW(device.allocator->allocate(SIZE_MAX, nullptr), OutOfMemoryError);
  EXPECT_EQ(device.driver.count(Call::allocate), 0);
  EXPECT_EQ(device.allocator->stats().num_ooms, 0);
  try {
    device.allocator->allocate(SIZE_MAX, nullptr);
  } catch (const OutOfMemoryError& error) {
    EXPECT_STREQ(error.what(), "FAKE out of memory. Tried to allocate more than 1EB memory.");
  }
}

// The sequence measured on torch 2.11: [allocated, active, requested, reserved, split bytes, split
// count, segments].
TEST(CachingAllocator, CountsAsTorchDoes) {
  TestDevice device;
  auto& allocator = *device.allocator;
  const auto state = [&] {
    const MemoryStats stats = allocator.stats();
    EXPECT_EQ(device.problems(), "");
    return std::vector<int64_t>{stats.all(Metric::kAllocatedBytes).current,
                                stats.all(Metric::kActiveBytes).current,
                                stats.all(Metric::kRequestedBytes).current,
                                stats.all(Metric::kReservedBytes).current,
                                stats.all(Metric::kInactiveSplitBytes).current,
                                stats.all(Metric::kInactiveSplit).current,
                                stats.all(Metric::kSegment).current};
  };
  const int64_t m = kMiB;
  using Row = std::vector<int64_t>;
  Block* first = allocator.allocate(3 * kMiB, nullptr);
  EXPECT_EQ(state(), (Row{3 * m, 3 * m, 3 * m, 20 * m, 17 * m, 1, 1}));
  Block* second = allocator.allocate(3 * kMiB, nullptr);
  EXPECT_EQ(state(), (Row{6 * m, 6 * m, 6 * m, 20 * m, 14 * m, 1, 1}));
  allocator.release(first);
  EXPECT_EQ(state(), (Row{3 * m, 3 * m, 3 * m, 20 * m, 17 * m, 2, 1}));
  allocator.release(second);
  EXPECT_EQ(state(), (Row{0, 0, 0, 20 * m, 0, 0, 1}));
  allocator.empty_cache();
  EXPECT_EQ(state(), (Row{0, 0, 0, 0, 0, 0, 0}));

  driver::StreamHandle side = device.new_stream();
  Block* shared = allocator.allocate(700, nullptr);
  device.driver.use(0, side, shared->data, 700);
  allocator.record_stream(shared, side);
  allocator.release(shared);
  EXPECT_EQ(state(), (Row{0, 1024, 700, 2 * m, 2096128, 1, 1}));
  Block* third = allocator.allocate(600, nullptr);
  EXPECT_EQ(state(), (Row{1024, 2048, 1300, 2 * m, 2095104, 1, 1}));
  device.driver.finish(side);
  Block* fourth = allocator.allocate(100, nullptr);
  EXPECT_EQ(state(), (Row{1536, 1536, 700, 2 * m, 2095616, 2, 1}));
  allocator.release(third);
  allocator.release(fourth);
}

TEST(CachingAllocator, PeaksAndResets) {
  TestDevice device;
  auto& allocator = *device.allocator;
  Block* a = allocator.allocate(3 * kMiB, nullptr);
  Block* b = allocator.allocate(5 * kMiB, nullptr);
  allocator.release(a);
  MemoryStats stats = allocator.stats();
  EXPECT_EQ(stats.all(Metric::kAllocatedBytes).peak, static_cast<int64_t>(8 * kMiB));
  EXPECT_EQ(stats.all(Metric::kAllocatedBytes).allocated, static_cast<int64_t>(8 * kMiB));
  EXPECT_EQ(stats.all(Metric::kAllocatedBytes).freed, static_cast<int64_t>(3 * kMiB));
  allocator.reset_peak_stats();
  stats = allocator.stats();
  EXPECT_EQ(stats.all(Metric::kAllocatedBytes).peak, static_cast<int64_t>(5 * kMiB));
  EXPECT_EQ(stats.all(Metric::kReservedBytes).peak, static_cast<int64_t>(20 * kMiB));
  allocator.reset_accumulated_stats();
  stats = allocator.stats();
  EXPECT_EQ(stats.all(Metric::kAllocatedBytes).allocated, 0);
  EXPECT_EQ(stats.all(Metric::kAllocatedBytes).freed, 0);
  EXPECT_EQ(stats.all(Metric::kAllocatedBytes).current, static_cast<int64_t>(5 * kMiB));
  EXPECT_EQ(stats.num_device_alloc, 0);
  allocator.release(b);
  EXPECT_EQ(allocator.stats().all(Metric::kAllocatedBytes).freed, static_cast<int64_t>(5 * kMiB));
}

// The peak of the sum, not the sum of the peaks.
TEST(CachingAllocator, PeaksAreExactOverStreams) {
  TestDevice device;
  auto& allocator = *device.allocator;
  std::vector<driver::StreamHandle> streams = {nullptr, device.new_stream(), device.new_stream()};
  int64_t current = 0;
  int64_t peak = 0;
  uint64_t random = 1;
  std::vector<Block*> live;
  for (int step = 0; step < 3000; ++step) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    if (live.size() < 40 && (random >> 33) % 2 == 0) {
      live.push_back(
          allocator.allocate(512 * (1 + (random >> 40) % 64), streams[(random >> 50) % 3]));
      current += static_cast<int64_t>(live.back()->size);
    } else if (!live.empty()) {
      const size_t at = (random >> 40) % live.size();
      current -= static_cast<int64_t>(live[at]->size);
      allocator.release(live[at]);
      live.erase(live.begin() + static_cast<ptrdiff_t>(at));
    }
    peak = std::max(peak, current);
    if (step % 500 == 499) {
      EXPECT_EQ(allocator.stats().all(Metric::kAllocatedBytes).peak, peak) << step;
      allocator.reset_peak_stats();
      peak = current;
    }
  }
  for (Block* block : live) allocator.release(block);
}

TEST(CachingAllocator, TakesTheBestFit) {
  TestDevice device;
  auto& allocator = *device.allocator;
  Block* blocks[3];
  for (int i = 0; i < 3; ++i)
    blocks[i] = allocator.allocate((30 - 5 * static_cast<size_t>(i)) * kMiB, nullptr);
  char* const smallest = blocks[2]->data;
  for (Block* block : blocks) allocator.release(block);
  Block* block = allocator.allocate(19 * kMiB, nullptr);
  EXPECT_EQ(block->data, smallest);
  allocator.release(block);
  EXPECT_EQ(device.driver.count(Call::allocate), 3);
}

TEST(CachingAllocator, StreamsDoNotShareBlocks) {
  TestDevice device;
  auto& allocator = *device.allocator;
  driver::StreamHandle side = device.new_stream();
  Block* block = allocator.allocate(4 * kMiB, nullptr);
  allocator.release(block);
  Block* other = allocator.allocate(4 * kMiB, side);
  EXPECT_EQ(device.driver.count(Call::allocate), 2);
  allocator.release(other);
}

TEST(CachingAllocator, OversizeBlocksServeOnlyOversizeRequests) {
  AllocConf conf;
  conf.max_split_size = 40 * kMiB;
  TestDevice device(1024 * kMiB, conf);
  auto& allocator = *device.allocator;
  Block* big = allocator.allocate(100 * kMiB, nullptr);
  EXPECT_EQ(allocator.stats().all(Metric::kOversizeAllocations).current, 1);
  EXPECT_EQ(allocator.stats().oversize_segments.current, 1);
  char* const address = big->data;
  allocator.release(big);
  Block* small = allocator.allocate(30 * kMiB, nullptr);  // rule A
  EXPECT_NE(small->data, address);
  Block* medium = allocator.allocate(60 * kMiB, nullptr);  // rule B: 40 MiB to spare
  EXPECT_NE(medium->data, address);
  Block* close = allocator.allocate(90 * kMiB, nullptr);
  EXPECT_EQ(close->data, address);
  EXPECT_EQ(close->size, 100 * kMiB);  // not cut
  EXPECT_EQ(device.problems(), "");
  for (Block* block : {small, medium, close}) allocator.release(block);
}

TEST(CachingAllocator, RecordedStreamsAreASet) {
  TestDevice device;
  auto& allocator = *device.allocator;
  driver::StreamHandle a = device.new_stream();
  driver::StreamHandle b = device.new_stream();
  Block* block = allocator.allocate(1000, nullptr);
  char* const address = block->data;
  device.driver.use(0, a, block->data, 1000);
  device.driver.use(0, b, block->data, 1000);
  allocator.record_stream(block, a);
  allocator.record_stream(block, b);
  allocator.record_stream(block, a);
  allocator.record_stream(block, nullptr);  // its own
  EXPECT_EQ(device.driver.count(Call::record_event), 0);
  allocator.release(block);
  EXPECT_EQ(device.driver.count(Call::record_event), 2);
  device.driver.finish(a);
  allocator.process_events();
  EXPECT_EQ(device.current(Metric::kActive), 1);
  device.driver.finish(b);
  allocator.process_events();
  EXPECT_EQ(device.current(Metric::kActive), 0);
  Block* again = allocator.allocate(1000, nullptr);
  EXPECT_EQ(again->data, address);
  allocator.release(again);
}

// A request beyond the device: everything is tried in order, and counted by our contract.
TEST(CachingAllocator, RetriesOnceWithTheCacheReleased) {
  TestDevice device(200 * kMiB);
  auto& allocator = *device.allocator;
  allocator.release(allocator.allocate(100 * kMiB, nullptr));
  Block* block = allocator.allocate(150 * kMiB, nullptr);
  MemoryStats stats = allocator.stats();
  EXPECT_EQ(stats.num_ooms, 1);
  EXPECT_EQ(stats.num_alloc_retries, 1);
  EXPECT_EQ(stats.num_sync_all_streams, 1);
  EXPECT_EQ(stats.num_device_alloc, 2);
  EXPECT_EQ(stats.num_device_free, 1);
  EXPECT_EQ(device.driver.count(Call::allocate), 3);
  EXPECT_THROW(allocator.allocate(150 * kMiB, nullptr), OutOfMemoryError);
  stats = allocator.stats();
  EXPECT_EQ(stats.num_ooms, 2);
  EXPECT_EQ(stats.num_alloc_retries, 1);  // counts retries that helped
  EXPECT_EQ(device.driver.count(Call::allocate), 5);
  EXPECT_EQ(device.problems(), "");
  allocator.release(block);
}

// The block that fits waits for another stream when memory runs out: it is searched for again.
TEST(CachingAllocator, FindsWhatTheLastWaitGaveBack) {
  TestDevice device(100 * kMiB);
  auto& allocator = *device.allocator;
  driver::StreamHandle side = device.new_stream();
  Block* big = allocator.allocate(80 * kMiB, nullptr);
  Block* part = allocator.allocate(12 * kMiB, nullptr);
  device.driver.use(0, side, big->data, 80 * kMiB);
  allocator.record_stream(big, side);
  allocator.release(big);
  Block* again = allocator.allocate(70 * kMiB, nullptr);
  EXPECT_EQ(device.driver.count(Call::allocate), 3);  // two, and the one that failed
  for (Block* block : {part, again}) allocator.release(block);
}

TEST(CachingAllocator, BorrowsFromAnIdleStream) {
  TestDevice device(120 * kMiB);
  auto& allocator = *device.allocator;
  driver::StreamHandle side = device.new_stream();
  // The side stream holds a segment that a small block keeps from being released.
  Block* held = allocator.allocate(2 * kMiB, side);
  Block* large = allocator.allocate(80 * kMiB, side);
  Block* tail = allocator.allocate(2 * kMiB, nullptr);
  allocator.release(large);
  Block* inner = allocator.allocate(40 * kMiB, side);
  EXPECT_EQ(device.driver.count(Call::allocate), 3);
  // 40 MiB of the side stream's segment are free; the device has none left.
  Block* borrowed = allocator.allocate(30 * kMiB, nullptr);
  EXPECT_EQ(borrowed->segment, inner->segment);
  EXPECT_EQ(device.problems(), "");
  device.driver.use(0, nullptr, borrowed->data, 30 * kMiB);
  allocator.release(borrowed);
  EXPECT_EQ(borrowed->state, BlockState::kPending);  // until the borrower's stream is done with it
  device.driver.finish_all();
  allocator.process_events();
  EXPECT_EQ(device.problems(), "");
  for (Block* block : {held, tail, inner}) allocator.release(block);
}

TEST(CachingAllocator, DoesNotBorrowFromABusyStream) {
  TestDevice device(100 * kMiB);
  auto& allocator = *device.allocator;
  driver::StreamHandle side = device.new_stream();
  Block* large = allocator.allocate(90 * kMiB, side);
  allocator.release(large);
  Block* inner = allocator.allocate(40 * kMiB, side);
  device.driver.set_on_call([&, busy = false](Call call) mutable {
    // New work arrives after the waits of the OOM policy.
    if (call == Call::query_stream && !busy) {
      busy = true;
      device.driver.use(0, side, inner->data, 1);
    }
  });
  EXPECT_THROW(allocator.allocate(30 * kMiB, nullptr), OutOfMemoryError);
  device.driver.set_on_call(nullptr);
  EXPECT_EQ(device.problems(), "");
  device.driver.finish_all();
  allocator.release(inner);
}

Block* relief_block = nullptr;
runtime::CachingAllocator* relief_allocator = nullptr;

TEST(CachingAllocator, AsksForReliefBeforeItFails) {
  TestDevice device(100 * kMiB);
  relief_allocator = device.allocator.get();
  relief_block = relief_allocator->allocate(80 * kMiB, nullptr);
  const auto relieve = [] {
    if (relief_block == nullptr) return false;
    relief_allocator->release(std::exchange(relief_block, nullptr));
    return true;
  };
  runtime::hooks().on_memory_pressure.add(+relieve);
  Block* block = device.allocator->allocate(60 * kMiB, nullptr);
  EXPECT_NE(block, nullptr);
  EXPECT_THROW(device.allocator->allocate(60 * kMiB, nullptr), OutOfMemoryError);
  runtime::hooks().on_memory_pressure.remove(+relieve);
  device.allocator->release(block);
}

TEST(CachingAllocator, EnforcesTheMemoryFraction) {
  TestDevice device(1000 * kMiB);
  auto& allocator = *device.allocator;
  EXPECT_EQ(allocator.memory_fraction(), 1.0);
  allocator.set_memory_fraction(0.2);
  Block* block = allocator.allocate(150 * kMiB, nullptr);
  const int64_t calls = device.driver.count(Call::allocate);
  EXPECT_THROW(allocator.allocate(60 * kMiB, nullptr), OutOfMemoryError);
  EXPECT_EQ(device.driver.count(Call::allocate), calls);  // the device is not asked
  EXPECT_THROW(allocator.check_memory_fraction(60 * kMiB), OutOfMemoryError);
  allocator.check_memory_fraction(50 * kMiB);
  allocator.set_memory_fraction(1.0);
  Block* more = allocator.allocate(60 * kMiB, nullptr);
  allocator.set_memory_fraction(0.1);  // below what is reserved: nothing is freed
  EXPECT_EQ(device.current(Metric::kReservedBytes), static_cast<int64_t>(210 * kMiB));
  EXPECT_THROW(allocator.set_memory_fraction(1.5), ValueError);
  EXPECT_THROW(allocator.set_memory_fraction(-0.1), ValueError);
  for (Block* b : {block, more}) allocator.release(b);
}

TEST(CachingAllocator, CollectsTheOldestFirst) {
  AllocConf conf;
  conf.garbage_collection_threshold = 0.5;
  TestDevice device(200 * kMiB, conf);
  auto& allocator = *device.allocator;
  Block* blocks[4];
  for (Block*& block : blocks) block = allocator.allocate(30 * kMiB, nullptr);
  char* const oldest = blocks[1]->data;
  char* const newest = blocks[2]->data;
  allocator.release(blocks[1]);
  allocator.release(allocator.allocate(512, nullptr));  // time passes
  allocator.release(blocks[2]);
  Block* miss = allocator.allocate(31 * kMiB, nullptr);  // 122 MiB reserved, 100 allowed
  EXPECT_FALSE(device.driver.is_live(oldest));
  EXPECT_TRUE(device.driver.is_live(newest));
  EXPECT_EQ(allocator.stats().num_device_free, 1);
  EXPECT_EQ(device.driver.count(Call::wait_device), 0);
  for (Block* block : {blocks[0], blocks[3], miss}) allocator.release(block);
}

TEST(CachingAllocator, CollectsSmallSegmentsToo) {
  AllocConf conf;
  conf.garbage_collection_threshold = 0.1;
  TestDevice device(10 * kMiB, conf);
  auto& allocator = *device.allocator;
  allocator.release(allocator.allocate(512, nullptr));
  allocator.collect_garbage();
  EXPECT_EQ(device.current(Metric::kReservedBytes), 0);
}

// A program whose tensors grow must not pay for every size it has outgrown.
TEST(CachingAllocator, GivesBackOutgrownSegments) {
  const auto peak_with = [](uint64_t age) {
    AllocConf conf;
    conf.outgrown_segment_age = age;
    TestDevice device(4096 * kMiB, conf);
    auto& allocator = *device.allocator;
    Block* cache = allocator.allocate(20 * kMiB, nullptr);
    for (size_t step = 1; step < 60; ++step) {
      for (int i = 0; i < 50; ++i) allocator.release(allocator.allocate(4096, nullptr));
      Block* larger = allocator.allocate((20 + step) * kMiB, nullptr);
      device.driver.use(0, nullptr, larger->data, larger->size);
      allocator.release(cache);
      cache = larger;
    }
    device.driver.finish_all();
    allocator.release(cache);
    return allocator.stats().all(Metric::kReservedBytes).peak;
  };
  EXPECT_LT(peak_with(100), peak_with(0) / 4);
}

TEST(CachingAllocator, WaitsForTheStreamBeforeGivingBack) {
  TestDevice device;
  auto& allocator = *device.allocator;
  driver::StreamHandle side = device.new_stream();
  Block* block = allocator.allocate(30 * kMiB, side);
  device.driver.use(0, side, block->data, block->size);  // a failure if it runs too late
  allocator.release(block);
  allocator.empty_cache();
  EXPECT_EQ(device.current(Metric::kReservedBytes), 0);
  EXPECT_TRUE(device.driver.idle(0, side));
}

TEST(CachingAllocator, EmptyCacheKeepsWhatIsUsed) {
  TestDevice device;
  auto& allocator = *device.allocator;
  Block* small = allocator.allocate(512, nullptr);
  Block* large = allocator.allocate(30 * kMiB, nullptr);
  allocator.release(large);
  allocator.empty_cache();
  EXPECT_EQ(device.current(Metric::kReservedBytes), static_cast<int64_t>(2 * kMiB));
  EXPECT_EQ(allocator.stats().num_sync_all_streams, 1);
  allocator.release(small);
}

TEST(CachingAllocator, TellsWhatRanOut) {
  TestDevice device(100 * kMiB);
  auto& allocator = *device.allocator;
  Block* block = allocator.allocate(60 * kMiB, nullptr);
  try {
    allocator.allocate(50 * kMiB, nullptr);
    FAIL();
  } catch (const OutOfMemoryError& error) {
    const std::string text = error.what();
    for (const char* part :
         {"FAKE out of memory. Tried to allocate 50.00 MiB", "total capacity of 100.00 MiB",
          "40.00 MiB is free", "60.00 MiB is allocated by mindtorch", "largest free block",
          "What would help"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
    }
  }
  allocator.release(block);
}

std::string failure_text(TestDevice& device, size_t bytes, driver::StreamHandle stream = nullptr) {
  try {
    device.allocator->release(device.allocator->allocate(bytes, stream));
  } catch (const OutOfMemoryError& error) {
    return error.what();
  }
  return "";
}

::testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != text.npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no \"" << part << "\" in: " << text;
}

TEST(CachingAllocator, TellsWhatWouldHelp) {
  {
    TestDevice device(100 * kMiB);
    device.driver.take_outside(0, 90 * static_cast<int64_t>(kMiB));
    EXPECT_TRUE(says(failure_text(device, 20 * kMiB), "held by other programs"));
    device.allocator->set_memory_fraction(0.05);
    EXPECT_TRUE(says(failure_text(device, 8 * kMiB), "5.00 MiB allowed"));
  }
  {
    TestDevice device(100 * kMiB);
    device.allocator->set_memory_fraction(0.5);
    EXPECT_TRUE(says(failure_text(device, 60 * kMiB), "set_per_process_memory_fraction"));
  }
  for (const bool virtual_memory : {false, true}) {
    FakeOptions options;
    options.virtual_memory = virtual_memory;
    TestDevice device(100 * kMiB, {}, options);
    auto& allocator = *device.allocator;
    Block* whole = allocator.allocate(98 * kMiB, nullptr);
    allocator.release(whole);
    Block* blocks[4];
    for (Block*& block : blocks) block = allocator.allocate(24 * kMiB, nullptr);
    allocator.release(blocks[0]);
    allocator.release(blocks[2]);
    const std::string text = failure_text(device, 40 * kMiB);
    EXPECT_TRUE(says(text, virtual_memory ? "expandable_segments:True in FAKE_ALLOC_CONF"
                                          : "max_split_size_mb in FAKE_ALLOC_CONF"));
    EXPECT_TRUE(says(text, "largest free block has 24.00 MiB of 50.00 MiB"));
    EXPECT_TRUE(says(text, "fragmentation 52%"));
    allocator.release(blocks[1]);
    allocator.release(blocks[3]);
  }
}

TEST(CachingAllocator, TellsWhatOtherStreamsHold) {
  TestDevice device(100 * kMiB);
  auto& allocator = *device.allocator;
  driver::StreamHandle side = device.new_stream();
  allocator.release(allocator.allocate(90 * kMiB, side));
  Block* inner = allocator.allocate(40 * kMiB, side);
  const std::string text = failure_text(device, 60 * kMiB);
  EXPECT_TRUE(says(text, "50.00 MiB of it belongs to other streams"));
  allocator.release(inner);
}

TEST(CachingAllocator, TellsThatAGraphIsCaptured) {
  TestDevice device(100 * kMiB);
  auto& allocator = *device.allocator;
  driver::StreamHandle side = device.new_stream();
  allocator.release(allocator.allocate(90 * kMiB, nullptr));
  allocator.begin_capture_scope({1, 0}, side);
  EXPECT_TRUE(says(failure_text(device, 60 * kMiB, side), "a graph is captured"));
  allocator.end_scope({1, 0});
}

TEST(CachingAllocator, CountsOversizeSegmentsByTheLimitTheyWereMadeUnder) {
  AllocConf conf;
  conf.max_split_size = 8 * kMiB;
  TestDevice device(1024 * kMiB, conf);
  auto& allocator = *device.allocator;
  Block* block = allocator.allocate(30 * kMiB, nullptr);
  EXPECT_EQ(allocator.stats().oversize_segments.current, 1);
  allocator.set_conf({});
  Block* other = allocator.allocate(40 * kMiB, nullptr);
  allocator.release(block);
  allocator.set_conf(conf);
  allocator.release(other);
  allocator.empty_cache();
  EXPECT_EQ(allocator.stats().oversize_segments.current, 0);
  EXPECT_EQ(device.problems(), "");
}

// A stream that turns out to be busy leaves no trace of the attempt to borrow from it.
TEST(CachingAllocator, BorrowingInVainIsNotCounted) {
  TestDevice device(100 * kMiB);
  auto& allocator = *device.allocator;
  driver::StreamHandle side = device.new_stream();
  allocator.release(allocator.allocate(90 * kMiB, side));
  Block* inner = allocator.allocate(40 * kMiB, side);
  allocator.reset_accumulated_stats();
  device.driver.set_on_call([&, busy = false](Call call) mutable {
    if (call == Call::query_stream && !busy) {
      busy = true;
      device.driver.use(0, side, inner->data, 1);
    }
  });
  EXPECT_NE(failure_text(device, 30 * kMiB), "");
  device.driver.set_on_call(nullptr);
  EXPECT_EQ(allocator.stats().all(Metric::kAllocation).allocated, 0);
  EXPECT_EQ(allocator.stats().all(Metric::kAllocatedBytes).peak, static_cast<int64_t>(90 * kMiB));
  device.driver.finish_all();
  allocator.release(inner);
}

// Without host memory for its own records the allocator fails, keeps no lock and loses nothing.
TEST(CachingAllocator, SurvivesWithoutHostMemory) {
  if (!::mindtorch::testing::kCanFailNew) GTEST_SKIP();
  TestDevice device;
  auto& allocator = *device.allocator;
  driver::StreamHandle side = device.new_stream();
  Block* block = allocator.allocate(1000, nullptr);
  {
    const ::mindtorch::testing::FailNew fail(1);
    EXPECT_THROW(allocator.record_stream(block, side), std::bad_alloc);
  }
  for (size_t nth = 1;; ++nth) {
    const ::mindtorch::testing::FailNew fail(nth);
    try {
      (void)allocator.snapshot();
    } catch (const std::bad_alloc&) {
      continue;
    }
    break;
  }
  {
    const ::mindtorch::testing::FailNew fail(1);
    EXPECT_THROW(allocator.allocate(30 * kMiB, side), std::bad_alloc);
  }
  allocator.release(block);
  allocator.release(allocator.allocate(30 * kMiB, side));
  allocator.empty_cache();
  EXPECT_EQ(device.driver.allocated_bytes(0), 0u);
  EXPECT_EQ(device.problems(), "");
}

}  // namespace
}  // namespace mindtorch::test
