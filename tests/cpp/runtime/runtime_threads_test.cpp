// Several threads at once. Meant to be run under ThreadSanitizer too.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "mindtorch/runtime/copy.h"
#include "mindtorch/runtime/hooks.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::Allocation;

constexpr int kThreads = 4;

template <typename Body>
void in_threads(Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

// Finishes queued work now and then, as a device does.
class Finisher {
 public:
  explicit Finisher(FakeDriver& fake)
      : thread_([this, &fake] {
          while (!stop_.load()) {
            fake.finish_all();
            std::this_thread::yield();
          }
        }) {}
  ~Finisher() {
    stop_.store(true);
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class RuntimeThreadsTest : public RuntimeTest {
 protected:
  RuntimeThreadsTest() : RuntimeTest({.device_count = 2, .backed = true}) {}
};

TEST_F(RuntimeThreadsTest, RuntimesAndStreamsAreMadeOnce) {
  std::vector<std::set<int64_t>> ids(kThreads);
  std::vector<DeviceRuntime*> seen(kThreads);
  in_threads([&](int thread) {
    const auto i = static_cast<size_t>(thread);
    seen[i] = &device(1);
    for (int n = 0; n < 64; ++n) ids[i].insert(device(1).pool_stream(-1).id());
    const runtime::StreamGuard guard(device(1).pool_stream());
    EXPECT_EQ(runtime::current_device(*accelerator), 1);
  });
  for (DeviceRuntime* runtime : seen) EXPECT_EQ(runtime, seen[0]);
  std::set<int64_t> all;
  for (const auto& some : ids) all.insert(some.begin(), some.end());
  EXPECT_EQ(all.size(), 32u);
  EXPECT_EQ(fake.count(Call::create_stream), 32 + kThreads);
}

TEST_F(RuntimeThreadsTest, EveryEntryIsReleasedOnceAndInOrder) {
  constexpr int kEntries = 3000;
  struct Log {
    std::mutex mutex;
    std::vector<std::vector<int>> order{kThreads};
  } log;
  struct Entry {
    Log* log;
    size_t thread;
    int number;
  };
  std::vector<std::vector<Entry>> entries(kThreads);
  const Stream shared = device().default_stream();
  {
    const Finisher finisher(fake);
    in_threads([&](int thread) {
      const auto i = static_cast<size_t>(thread);
      entries[i].reserve(kEntries);
      for (int n = 0; n < kEntries; ++n) {
        entries[i].push_back({&log, i, n});
        work(fake, shared);
        shared.defer(
            [](void* context) {
              const auto* entry = static_cast<Entry*>(context);
              std::lock_guard lock(entry->log->mutex);
              entry->log->order[entry->thread].push_back(entry->number);
            },
            &entries[i].back());
        if (n % 500 == 499) shared.synchronize();
        if (n % 100 == 99) device().poll_deferred();
      }
    });
  }
  device().synchronize();
  for (const auto& order : log.order) {
    ASSERT_EQ(order.size(), static_cast<size_t>(kEntries));
    for (int n = 0; n < kEntries; ++n) ASSERT_EQ(order[static_cast<size_t>(n)], n);
  }
  EXPECT_EQ(shared.deferred().size(), 0u);
}

TEST_F(RuntimeThreadsTest, SynchronizeReturnsAfterTheReleases) {
  const Stream shared = device().default_stream();
  in_threads([&](int) {
    for (int n = 0; n < 300; ++n) {
      std::atomic<bool> released{false};
      shared.defer([](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); },
                   &released);
      shared.synchronize();
      ASSERT_TRUE(released.load());
    }
  });
}

TEST_F(RuntimeThreadsTest, ReleasesThatSynchroniseDoNotWaitForEachOther) {
  struct Meeting {
    Stream other;
    std::atomic<int>* inside;
  };
  std::atomic<int> inside{0};
  const Stream streams[2] = {device().pool_stream(), device().pool_stream()};
  Meeting meetings[2] = {{streams[1], &inside}, {streams[0], &inside}};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    streams[i].defer(
        [](void* context) {
          const auto* meeting = static_cast<Meeting*>(context);
          meeting->inside->fetch_add(1);
          while (meeting->inside->load() < 2) std::this_thread::yield();
          meeting->other.synchronize();
        },
        &meetings[i]);
    threads.emplace_back([&streams, i] { streams[i].synchronize(); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RuntimeThreadsTest, PinnedBlocksAreNeverSharedNorReusedEarly) {
  constexpr size_t kBytes = 4096;
  const Finisher finisher(fake);
  in_threads([&](int thread) {
    DeviceRuntime& on = device(thread % 2);
    const Stream stream = on.pool_stream();
    const runtime::StreamGuard guard(stream);
    auto* target = static_cast<unsigned char*>(fake.allocate(on.device(), kBytes));
    for (int n = 0; n < 300; ++n) {
      const Allocation block = accelerator->pinned().allocate(kBytes);
      const auto value = static_cast<unsigned char>(thread * 60 + n % 60);
      std::memset(block.data, value, kBytes);
      runtime::copy_to_device(on, target, block.data, kBytes, true);
      accelerator->pinned().release(block);
      if (n % 50 == 49) accelerator->pinned().empty_cache();
      if (n % 10 == 9) {
        unsigned char seen[kBytes];
        runtime::copy_to_host(on, seen, target, kBytes);
        ASSERT_EQ(seen[0], value);
        ASSERT_EQ(seen[kBytes - 1], value);
      }
    }
    stream.synchronize();
    fake.release(on.device(), target);
  });
  EXPECT_EQ(accelerator->pinned().stats().flat().size(), 28u);
}

TEST_F(RuntimeThreadsTest, StreamsOfThreadsWaitForEachOther) {
  const Finisher finisher(fake);
  in_threads([&](int thread) {
    const Stream mine = device(thread % 2).pool_stream();
    for (int n = 0; n < 200; ++n) {
      const auto done = work(fake, mine);
      device(0).default_stream().wait_stream(mine);
      Event event = device(0).default_stream().record_event();
      event.synchronize();
      ASSERT_TRUE(*done);
      (void)mine.query();
    }
  });
}

std::atomic<int> hook_calls{0};
void count_call(runtime::SyncPoint) { hook_calls.fetch_add(1); }

TEST_F(RuntimeThreadsTest, HooksComeAndGoWhileOthersSynchronise) {
  std::atomic<bool> stop{false};
  std::thread installer([&] {
    while (!stop.load()) {
      runtime::hooks().before_sync.add(count_call);
      runtime::hooks().before_sync.remove(count_call);
    }
  });
  in_threads([&](int) {
    for (int n = 0; n < 500; ++n) device().default_stream().synchronize();
  });
  stop.store(true);
  installer.join();
}

}  // namespace
}  // namespace mindtorch::test
