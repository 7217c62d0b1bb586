// What happens when two things happen at once: the caching allocator asked again while it waits for
// the driver, by the same thread or by another one. Meant to be run under ThreadSanitizer too.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <thread>

#include "tests/cpp/support/allocator_fixture.h"

namespace mindtorch::test {
namespace {

using driver::StreamHandle;
using runtime::AllocConf;
using runtime::Block;
using runtime::Metric;

// Whoever runs out of memory waits for the thread that is just looking at the freed blocks.
TEST(AllocatorRaces, RunningOutWaitsForWhoeverLooksAtTheEvents) {
  TestDevice device(100 * kMiB);
  auto& allocator = *device.allocator;
  StreamHandle side = device.new_stream();
  Block* big = allocator.allocate(80 * kMiB, nullptr);
  allocator.record_stream(big, side);
  allocator.release(big);

  std::promise<void> looking;
  std::promise<void> go_on;
  std::atomic<bool> first{true};
  device.driver.set_on_call([&](Call call) {
    if (call != Call::query_event || !first.exchange(false)) return;
    looking.set_value();
    go_on.get_future().wait();
  });
  std::thread looker([&] { allocator.process_events(); });
  looking.get_future().wait();
  auto taken =
      std::async(std::launch::async, [&] { return allocator.allocate(70 * kMiB, nullptr); });
  taken.wait_for(std::chrono::milliseconds(50));
  go_on.set_value();
  Block* block = nullptr;
  EXPECT_NO_THROW(block = taken.get());
  looker.join();
  device.driver.set_on_call(nullptr);
  allocator.release(block);
}

// What somebody frees while the last attempt fails is found after all.
TEST(AllocatorRaces, RunningOutLooksAgainWhenSomebodyFrees) {
  TestDevice device(100 * kMiB);
  auto& allocator = *device.allocator;
  Block* big = allocator.allocate(80 * kMiB, nullptr);
  int attempts = 0;
  device.driver.set_on_call([&](Call call) {
    if (call == Call::allocate && ++attempts == 2) allocator.release(big);
  });
  Block* block = nullptr;
  EXPECT_NO_THROW(block = allocator.allocate(70 * kMiB, nullptr));
  device.driver.set_on_call(nullptr);
  allocator.release(block);
}

// A driver that comes back here while its events are looked at must not wait for itself.
TEST(AllocatorRaces, ADriverMayEmptyTheCacheWhileItIsAsked) {
  TestDevice device;
  auto& allocator = *device.allocator;
  StreamHandle side = device.new_stream();
  Block* block = allocator.allocate(30 * kMiB, nullptr);
  allocator.record_stream(block, side);
  allocator.release(block);
  device.driver.finish_all();
  bool inside = false;
  device.driver.set_on_call([&](Call call) {
    if (call != Call::query_event || inside) return;
    inside = true;
    allocator.empty_cache();
    allocator.release(allocator.allocate(1000, side));
  });
  allocator.process_events();
  device.driver.set_on_call(nullptr);
  EXPECT_TRUE(inside);
  EXPECT_EQ(device.current(Metric::kActive), 0);
  EXPECT_EQ(device.problems(), "");
}

// Of two that empty the cache at once, the first must not wait for the wrong stream because the
// second has forgotten the pool.
TEST(AllocatorRaces, APoolIsNotForgottenWhileItsMemoryGoesBack) {
  TestDevice device;
  auto& allocator = *device.allocator;
  StreamHandle side = device.new_stream();
  constexpr runtime::PoolId kPool{0, 7};
  allocator.begin_pool_scope(kPool);
  Block* block = allocator.allocate(30 * kMiB, side);
  device.driver.use(0, side, block->data, block->size);  // a failure if it runs too late
  allocator.release(block);
  allocator.end_scope(kPool);
  bool inside = false;
  device.driver.set_on_call([&](Call call) {
    if (call != Call::query_stream || inside) return;
    inside = true;
    allocator.empty_cache();
  });
  allocator.empty_cache();
  device.driver.set_on_call(nullptr);
  EXPECT_TRUE(inside);
  EXPECT_EQ(device.current(Metric::kReservedBytes), 0);
  device.driver.finish_all();
  EXPECT_EQ(device.driver.failures(), std::vector<std::string>());
}

// Threads with little memory between them, and everything else that may happen meanwhile.
TEST(AllocatorRaces, EverythingAtOnce) {
  for (const bool expandable : {false, true}) {
    SCOPED_TRACE(expandable);
    AllocConf conf;
    conf.expandable_segments = expandable;
    conf.outgrown_segment_age = 20;
    FakeOptions options;
    options.virtual_memory = true;
    TestDevice device(120 * kMiB, conf, options);
    auto& allocator = *device.allocator;
    constexpr int kThreads = 6;
    std::vector<StreamHandle> streams{nullptr};
    for (int i = 1; i < 4; ++i) streams.push_back(device.new_stream());
    std::atomic<bool> stop{false};
    std::atomic<int> served{0};
    std::vector<std::thread> workers;
    for (int t = 0; t < kThreads; ++t) {
      workers.emplace_back([&, t] {
        std::mt19937_64 random(static_cast<uint64_t>(t));
        const runtime::PoolId pool{0, static_cast<uint64_t>(t % 3) + 1};
        std::vector<Block*> own;
        for (int step = 0; step < 1500; ++step) {
          const uint64_t r = random();
          const StreamHandle stream = streams[(r >> 8) % streams.size()];
          if (own.size() < 5 && r % 2 == 0) {
            bool scoped = false;
            if (r % 64 == 0) {
              try {
                allocator.begin_pool_scope(pool);
                scoped = true;
              } catch (const RuntimeError&) {  // another thread's
              }
            }
            const size_t bytes = 1 + (r >> 16) % (r % 3 == 0 ? 25 * kMiB : 64 * kKiB);
            try {
              own.push_back(allocator.allocate(bytes, stream));
              device.driver.use(0, stream, own.back()->data, own.back()->size);
              served.fetch_add(1);
            } catch (const OutOfMemoryError&) {
            }
            if (scoped) allocator.end_scope(pool);
          } else if (!own.empty()) {
            Block* block = own.back();
            own.pop_back();
            if (r % 3 == 0) {
              device.driver.use(0, stream, block->data, block->size);
              allocator.record_stream(block, stream);
            }
            allocator.release(block);
          }
          if (r % 101 == 0) allocator.empty_cache();
        }
        for (Block* block : own) allocator.release(block);
      });
    }
    std::thread meddler([&] {
      std::mt19937_64 random(99);
      while (!stop.load()) {
        const uint64_t r = random();
        AllocConf other = conf;
        if (r % 2 == 0) other.max_split_size = 8 * kMiB;
        if (r % 3 == 0) other.garbage_collection_threshold = 0.5;
        if (r % 5 == 0) other.expandable_segments = !expandable;
        if (r % 7 == 0) other.large_segment_size = 24 * kMiB;
        if (r % 11 == 0) other.roundup_power2_divisions.fill(4);
        allocator.set_conf(other);
        runtime::HistorySettings history;
        history.enabled = r % 3 != 0;
        history.max_entries = 100;
        allocator.configure_history(history, false);
        std::vector<runtime::TraceEntry> trace;
        for (const auto& segment : allocator.snapshot(nullptr, &trace)) {
          size_t bytes = 0;
          for (const auto& block : segment.blocks) bytes += block.size;
          EXPECT_EQ(bytes, segment.total_size);
        }
        (void)allocator.stats();
        if (r % 13 == 0) allocator.reset_peak_stats();
        if (r % 17 == 0) allocator.collect_garbage();
        std::this_thread::yield();
      }
    });
    std::thread finisher([&] {
      while (!stop.load()) {
        device.driver.finish_all();
        std::this_thread::yield();
      }
    });
    for (std::thread& thread : workers) thread.join();
    stop = true;
    meddler.join();
    finisher.join();
    device.driver.finish_all();
    allocator.process_events();
    EXPECT_GT(served.load(), 1000);
    EXPECT_EQ(device.problems(), "");
    EXPECT_EQ(device.current(Metric::kActive), 0);
    allocator.empty_cache();
    EXPECT_EQ(device.current(Metric::kReservedBytes), 0);
    EXPECT_EQ(device.problems(), "");
  }
}

// The peak of a sum over streams, read rarely, against a model that looks at every step.
TEST(AllocatorRaces, PeaksAreExactWhileStreamsAndPoolsComeAndGo) {
  TestDevice device(4096 * kMiB, {}, {.auto_finish = true});
  auto& allocator = *device.allocator;
  std::mt19937_64 random(5);
  struct Held {
    Block* block;
    size_t requested;
  };
  std::vector<Held> held;
  std::vector<StreamHandle> streams{nullptr};
  int64_t bytes = 0, requested = 0, peak_bytes = 0, peak_requested = 0, peak_count = 0;
  bool open = false;
  uint64_t pool = 0;
  for (int step = 0; step < 20000; ++step) {
    const uint64_t r = random();
    if (r % 1500 == 0 && streams.size() < 12) streams.push_back(device.new_stream());
    if (r % 400 == 1) {
      if (open) {
        allocator.end_scope({0, pool});
      } else {
        allocator.begin_pool_scope({0, ++pool});
      }
      open = !open;
    }
    if (r % 900 == 2) allocator.empty_cache();  // forgets pools without memory
    if (r % 2000 == 3) {
      allocator.reset_peak_stats();
      peak_bytes = bytes;
      peak_requested = requested;
      peak_count = static_cast<int64_t>(held.size());
    }
    const bool growing = (step / 700) % 2 == 0;
    if (held.empty() || r % 5 < (growing ? 3u : 2u)) {
      const size_t size = 1 + (r >> 10) % (r % 7 == 0 ? 4 * kMiB : 40 * kKiB);
      Block* block = allocator.allocate(size, streams[(r >> 40) % streams.size()]);
      held.push_back({block, size});
      bytes += static_cast<int64_t>(block->size);
      requested += static_cast<int64_t>(size);
    } else {
      std::swap(held[(r >> 10) % held.size()], held.back());
      bytes -= static_cast<int64_t>(held.back().block->size);
      requested -= static_cast<int64_t>(held.back().requested);
      allocator.release(held.back().block);
      held.pop_back();
    }
    peak_bytes = std::max(peak_bytes, bytes);
    peak_requested = std::max(peak_requested, requested);
    peak_count = std::max(peak_count, static_cast<int64_t>(held.size()));
    if (r % 1000 == 4 || step == 19999) {
      const runtime::MemoryStats stats = allocator.stats();
      ASSERT_EQ(stats.all(Metric::kAllocatedBytes).peak, peak_bytes) << step;
      ASSERT_EQ(stats.all(Metric::kRequestedBytes).peak, peak_requested) << step;
      ASSERT_EQ(stats.all(Metric::kAllocation).peak, peak_count) << step;
    }
  }
  if (open) allocator.end_scope({0, pool});
  for (const Held& one : held) allocator.release(one.block);
}

}  // namespace
}  // namespace mindtorch::test
