#include "mindtorch/runtime/pinned_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <string>
#include <thread>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/hooks.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::Allocation;
using runtime::hooks;
using runtime::PinnedPool;
using runtime::PinnedSettings;

constexpr size_t kMiB = size_t{1} << 20;

class PinnedPoolTest : public RuntimeTest {
 protected:
  explicit PinnedPoolTest(FakeOptions options = {.device_count = 2}) : RuntimeTest(options) {}

  PinnedPool& pool() { return accelerator->pinned(); }
  std::map<std::string, int64_t> stats() {
    const auto flat = pool().stats().flat();
    return {flat.begin(), flat.end()};
  }
};

TEST_F(PinnedPoolTest, SizesLoseAtMostAnEighth) {
  const PinnedSettings settings;
  for (size_t bytes = 4096; bytes < 40 * kMiB; bytes += bytes / 37 + 1) {
    const size_t rounded = PinnedPool::round(bytes, settings);
    EXPECT_GE(rounded, bytes);
    EXPECT_LE(rounded, bytes + bytes / 8) << bytes;
  }
  EXPECT_EQ(PinnedPool::round(1, settings), 512u);
  EXPECT_EQ(PinnedPool::round(512, settings), 512u);
  EXPECT_EQ(PinnedPool::round(kMiB + 1, settings), kMiB + kMiB / 8);
  EXPECT_EQ(PinnedPool::round(SIZE_MAX - 5, settings), SIZE_MAX - 5);
  EXPECT_EQ(PinnedPool::round(5 * kMiB + 1, {.max_round_threshold = 5 * kMiB}), 5 * kMiB + 1);
  EXPECT_EQ(PinnedPool::round(5 * kMiB + 1, {.max_cached_size = kMiB}), 5 * kMiB + 1);
}

TEST_F(PinnedPoolTest, NothingForNothing) {
  const Allocation none = pool().allocate(0);
  EXPECT_EQ(none.data, nullptr);
  pool().release(none);
  EXPECT_EQ(fake.fallible_calls(), 0);
}

TEST_F(PinnedPoolTest, FreedBlocksComeBackLastInFirstOut) {
  const Allocation a = pool().allocate(kMiB);
  const Allocation b = pool().allocate(kMiB);
  EXPECT_NE(a.data, b.data);
  pool().release(a);
  pool().release(b);
  EXPECT_EQ(pool().allocate(kMiB - 5).data, b.data);
  EXPECT_EQ(pool().allocate(kMiB).data, a.data);
  EXPECT_EQ(fake.count(Call::allocate_pinned), 2);
  EXPECT_EQ(fake.count(Call::record_event), 0);
}

TEST_F(PinnedPoolTest, ACachedBlockServesRequestsDownToHalfItsSize) {
  const Allocation a = pool().allocate(4 * kMiB);
  pool().release(a);
  const Allocation half = pool().allocate(2 * kMiB);
  EXPECT_EQ(half.data, a.data);
  EXPECT_EQ(half.capacity_bytes, 4 * kMiB);
  pool().release(half);
  const Allocation small = pool().allocate(kMiB);
  EXPECT_NE(small.data, a.data);
  EXPECT_EQ(small.capacity_bytes, kMiB);
}

TEST_F(PinnedPoolTest, ABlockWaitsForEveryStreamThatUsedIt) {
  const Stream here = device(0).pool_stream();
  const Stream there = device(1).pool_stream();
  const Allocation a = pool().allocate(kMiB);
  EXPECT_TRUE(pool().record_use(a.data, here));
  EXPECT_TRUE(pool().record_use(static_cast<char*>(a.data) + 100, here));  // inside; once
  EXPECT_TRUE(pool().record_use(a.data, there));
  work(fake, here);
  work(fake, there);
  pool().release(a);
  EXPECT_EQ(fake.count(Call::record_event), 2);
  EXPECT_NE(pool().allocate(kMiB).data, a.data);
  fake.finish(0, here.handle());
  EXPECT_NE(pool().allocate(kMiB).data, a.data);
  fake.finish(1, there.handle());
  EXPECT_EQ(pool().allocate(kMiB).data, a.data);
}

TEST_F(PinnedPoolTest, ASlowStreamDoesNotHideTheOthers) {
  const Stream slow = device().pool_stream();
  const Stream fast = device().pool_stream();
  const Allocation a = pool().allocate(kMiB);
  const Allocation b = pool().allocate(kMiB);
  pool().record_use(a.data, slow);
  pool().record_use(b.data, fast);
  work(fake, slow);
  pool().release(a);
  pool().release(b);
  fake.finish(0, fast.handle());
  EXPECT_EQ(pool().allocate(kMiB).data, b.data);
}

TEST_F(PinnedPoolTest, OwnsKnowsEveryByteInUse) {
  const Allocation a = pool().allocate(1000);
  auto* bytes = static_cast<char*>(a.data);
  EXPECT_TRUE(pool().owns(bytes));
  EXPECT_TRUE(pool().owns(bytes + 1023));
  EXPECT_FALSE(pool().owns(bytes + 1024));
  EXPECT_FALSE(pool().owns(bytes - 1));
  EXPECT_FALSE(pool().owns(&a));
  EXPECT_FALSE(pool().record_use(&a, device().default_stream()));
  pool().release(a);
  EXPECT_FALSE(pool().owns(bytes));
  pool().release(a);  // twice: nothing happens
  EXPECT_EQ(stats()["active_requests.current"], 0);
}

TEST_F(PinnedPoolTest, EmptyCacheGivesBackWhatNobodyUses) {
  const Allocation kept = pool().allocate(kMiB);
  const Allocation waiting = pool().allocate(kMiB);
  const Allocation idle = pool().allocate(3 * kMiB);
  pool().record_use(waiting.data, device().default_stream());
  work(fake, device().default_stream());
  pool().release(waiting);
  pool().release(idle);
  pool().empty_cache();
  EXPECT_EQ(fake.pinned_bytes(), 2 * kMiB);
  EXPECT_EQ(fake.count(Call::wait_event), 0);
  fake.finish_all();
  pool().empty_cache();
  EXPECT_EQ(fake.pinned_bytes(), kMiB);
  pool().release(kept);
}

TEST_F(PinnedPoolTest, BlocksAboveTheLimitAreNotKept) {
  pool().configure({.max_cached_size = 2 * kMiB});
  const Allocation small = pool().allocate(2 * kMiB);
  const Allocation large = pool().allocate(2 * kMiB + 1);
  EXPECT_EQ(large.capacity_bytes, 2 * kMiB + 1);
  pool().record_use(large.data, device().default_stream());
  pool().release(small);
  pool().release(large);
  EXPECT_EQ(fake.pinned_bytes(), 4 * kMiB + 1);  // until its stream has passed
  fake.finish_all();
  pool().release(pool().allocate(1));
  EXPECT_EQ(fake.pinned_bytes(), 2 * kMiB + 512);
  pool().release(pool().allocate(3 * kMiB));
  EXPECT_EQ(fake.pinned_bytes(), 2 * kMiB + 512);
}

TEST_F(PinnedPoolTest, TheReservedSegmentServesTheFirstBlocks) {
  pool().configure({.reserve_segment_size = 4 * kMiB});
  const Allocation a = pool().allocate(kMiB);
  const Allocation b = pool().allocate(1);
  EXPECT_EQ(static_cast<char*>(b.data) - static_cast<char*>(a.data), int64_t{kMiB});
  EXPECT_EQ(fake.count(Call::allocate_pinned), 1);
  EXPECT_EQ(fake.pinned_bytes(), 4 * kMiB);
  const Allocation large = pool().allocate(4 * kMiB);  // does not fit
  EXPECT_EQ(fake.count(Call::allocate_pinned), 2);
  pool().release(a);
  EXPECT_EQ(pool().allocate(kMiB).data, a.data);
  pool().release(a);
  pool().release(large);
  pool().empty_cache();
  EXPECT_EQ(fake.pinned_bytes(), 4 * kMiB);  // b is in use
  pool().release(b);
  pool().empty_cache();
  EXPECT_EQ(fake.pinned_bytes(), 0u);
  const Allocation again = pool().allocate(kMiB);
  EXPECT_EQ(fake.pinned_bytes(), 4 * kMiB);
  pool().release(again);
}

TEST_F(PinnedPoolTest, ASegmentThatCannotBeHadIsDoneWithout) {
  pool().configure({.reserve_segment_size = 4 * kMiB});
  fake.fail(Call::allocate_pinned);
  const Allocation a = pool().allocate(kMiB);
  EXPECT_EQ(fake.pinned_bytes(), kMiB);
  pool().release(a);
}

TEST_F(PinnedPoolTest, StatisticsCarryTorchsTwentyEightKeys) {
  const Allocation a = pool().allocate(1000);
  const Allocation b = pool().allocate(kMiB);
  pool().record_use(b.data, device().default_stream());
  pool().release(a);
  pool().release(b);
  auto now = stats();
  EXPECT_EQ(now.size(), 28u);
  EXPECT_EQ(now["active_requests.current"], 1);  // b waits for its stream
  EXPECT_EQ(now["active_requests.peak"], 2);
  EXPECT_EQ(now["active_requests.allocated"], 2);
  EXPECT_EQ(now["active_requests.freed"], 1);
  EXPECT_EQ(now["active_bytes.current"], int64_t{kMiB});
  EXPECT_EQ(now["active_bytes.peak"], int64_t{kMiB + 1024});
  EXPECT_EQ(now["allocations.current"], 2);
  EXPECT_EQ(now["allocated_bytes.current"], int64_t{kMiB + 1024});
  EXPECT_EQ(now["num_host_alloc"], 2);
  EXPECT_EQ(now["num_host_free"], 0);
  EXPECT_EQ(now["host_alloc_time.count"], 2);
  EXPECT_EQ(now["host_alloc_time.avg"], now["host_alloc_time.total"] / 2);
  EXPECT_GE(now["host_alloc_time.max"], now["host_alloc_time.min"]);
  fake.finish_all();
  pool().empty_cache();
  now = stats();
  EXPECT_EQ(now["allocations.current"], 0);
  EXPECT_EQ(now["allocations.freed"], 2);
  EXPECT_EQ(now["num_host_free"], 2);
  EXPECT_EQ(now["host_free_time.count"], 2);
  pool().reset_peak_stats();
  EXPECT_EQ(stats()["active_bytes.peak"], 0);
  EXPECT_EQ(stats()["active_bytes.allocated"], int64_t{kMiB + 1024});
  pool().reset_accumulated_stats();
  EXPECT_EQ(stats()["active_bytes.allocated"], 0);
  EXPECT_EQ(stats()["host_alloc_time.count"], 0);
}

TEST_F(PinnedPoolTest, AFailedRecordKeepsTheBlockAndTellsLater) {
  const Stream stream = device().default_stream();
  for (const Call call : {Call::create_event, Call::record_event, Call::query_event}) {
    const Allocation a = pool().allocate(kMiB);
    pool().record_use(a.data, stream);
    work(fake, stream);
    fake.fail(call);
    pool().release(a);
    const Allocation b = pool().allocate(kMiB);
    EXPECT_NE(a.data, b.data);
    fake.finish_all();
    EXPECT_EQ(pool().allocate(kMiB).data, a.data);
    EXPECT_THROW(stream.synchronize(), DriverError);
    pool().release(a);
    pool().release(b);
    pool().empty_cache();
    EXPECT_EQ(fake.pinned_bytes(), 0u);
    // The next round needs a new event.
    const Event taken = stream.record_event();
    fake.finish_all();
  }
}

class SmallPinnedPoolTest : public PinnedPoolTest {
 protected:
  SmallPinnedPoolTest() : PinnedPoolTest({.pinned_bytes = 8 * kMiB}) {}
};

TEST_F(SmallPinnedPoolTest, TheCacheMakesRoomBeforeARequestFails) {
  const Allocation a = pool().allocate(5 * kMiB);
  pool().release(a);
  const Allocation b = pool().allocate(8 * kMiB);
  EXPECT_NE(b.data, nullptr);
  EXPECT_EQ(fake.pinned_bytes(), 8 * kMiB);
  pool().release(b);
}

TEST_F(SmallPinnedPoolTest, FreedBlocksAreWaitedForBeforeARequestFails) {
  const Allocation a = pool().allocate(5 * kMiB);
  pool().record_use(a.data, device().default_stream());
  work(fake, device().default_stream());
  pool().release(a);
  const Allocation same = pool().allocate(5 * kMiB);  // there is no room for another
  EXPECT_EQ(same.data, a.data);
  EXPECT_EQ(fake.count(Call::wait_event), 1);
  pool().record_use(same.data, device().default_stream());
  work(fake, device().default_stream());
  pool().release(same);
  const Allocation other = pool().allocate(8 * kMiB);
  EXPECT_EQ(fake.count(Call::wait_event), 2);
  pool().release(other);
}

// A thread that runs out waits for the thread that is looking at the freed blocks.
TEST_F(SmallPinnedPoolTest, RunningOutWaitsForWhoeverLooksAtTheEvents) {
  const Allocation a = pool().allocate(5 * kMiB);
  pool().record_use(a.data, device().default_stream());
  pool().release(a);
  std::promise<void> looking;
  std::promise<void> go_on;
  std::atomic<bool> first{true};
  fake.set_on_call([&](Call call) {
    if (call != Call::query_event || !first.exchange(false)) return;
    looking.set_value();
    go_on.get_future().wait();
  });
  std::thread looker([&] { pool().empty_cache(); });
  looking.get_future().wait();
  auto taken = std::async(std::launch::async, [&] { return pool().allocate(8 * kMiB); });
  taken.wait_for(std::chrono::milliseconds(50));
  go_on.set_value();
  Allocation block;
  EXPECT_NO_THROW(block = taken.get());
  looker.join();
  fake.set_on_call(nullptr);
  pool().release(block);
}

TEST_F(SmallPinnedPoolTest, OutOfMemorySaysWhoHoldsIt) {
  const Allocation a = pool().allocate(5 * kMiB);
  try {
    pool().allocate(5 * kMiB);
    FAIL();
  } catch (const OutOfMemoryError& error) {
    EXPECT_NE(std::string(error.what()).find("Tried to allocate 5.00 MiB"), std::string::npos)
        << error.what();
  }
  pool().release(a);
  pool().release(pool().allocate(5 * kMiB));
}

Allocation* held = nullptr;
PinnedPool* held_by = nullptr;
bool let_go() {
  if (held->data == nullptr) return false;
  held_by->release(std::exchange(*held, {}));
  return true;
}

TEST_F(SmallPinnedPoolTest, MemoryPressureIsTheLastResort) {
  Allocation a = pool().allocate(8 * kMiB);
  held = &a;
  held_by = &pool();
  hooks().on_memory_pressure.add(let_go);
  const Allocation b = pool().allocate(kMiB);
  EXPECT_NE(b.data, nullptr);
  EXPECT_THROW(pool().allocate(8 * kMiB), OutOfMemoryError);
  hooks().on_memory_pressure.remove(let_go);
  pool().release(b);
}

class ThrowingPinnedPoolTest : public PinnedPoolTest {
 protected:
  ThrowingPinnedPoolTest() : PinnedPoolTest({.throw_when_out_of_memory = true}) {}
};

TEST_F(ThrowingPinnedPoolTest, WhatTheDriverThrowsIsThrownAfterARetry) {
  pool().release(pool().allocate(kMiB));
  fake.fail(Call::allocate_pinned);
  const Allocation a = pool().allocate(16 * kMiB);  // the second try works
  EXPECT_EQ(fake.pinned_bytes(), 16 * kMiB);
  fake.fail_always(Call::allocate_pinned);
  EXPECT_THROW(pool().allocate(kMiB), DriverError);
  fake.clear_faults();
  pool().release(a);
}

class CapturedPinnedPoolTest : public PinnedPoolTest {
 protected:
  CapturedPinnedPoolTest() : PinnedPoolTest({.graph_capture = true}) {}
};

TEST_F(CapturedPinnedPoolTest, ABlockAGraphUsesIsNeverReused) {
  const Stream stream = device().pool_stream();
  const Allocation before = pool().allocate(kMiB);
  pool().record_use(before.data, stream);
  fake.begin(0, stream.handle(), driver::CaptureMode::kGlobal);
  const Allocation inside = pool().allocate(kMiB);
  pool().record_use(inside.data, stream);
  pool().release(inside);
  pool().release(before);
  EXPECT_EQ(fake.count(Call::record_event), 0);  // nothing of ours in the graph
  const driver::GraphHandle graph = fake.end(0, stream.handle());
  EXPECT_NE(pool().allocate(kMiB).data, inside.data);
  fake.finish_all();
  EXPECT_EQ(pool().allocate(kMiB).data, before.data);
  pool().empty_cache();
  EXPECT_TRUE(fake.is_live(inside.data));
  fake.destroy(graph);
}

}  // namespace
}  // namespace mindtorch::test
