#include "mindtorch/runtime/host_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "mindtorch/base/error.h"
#include "tests/cpp/support/errors.h"
#include "tests/cpp/support/failing_new.h"

namespace mindtorch::runtime {
namespace {

using testing::error_of;

constexpr size_t kSmallLimit = HostAllocator::kSmallLimit;
constexpr size_t kLarge = size_t{1} << 20;

// Starts and ends with empty caches, so that each test sees only its own blocks.
class HostAllocatorTest : public ::testing::Test {
 protected:
  void SetUp() override { allocator_.empty_cache(); }
  void TearDown() override { allocator_.empty_cache(); }

  // False where a sanitizer must see every use after free.
  bool pooled() const { return allocator_.stats().cache_limit_bytes != 0; }

  HostAllocator& allocator_ = host_allocator();
};

TEST_F(HostAllocatorTest, NothingForZeroBytes) {
  const Allocation none = allocator_.allocate(0);
  EXPECT_EQ(none.data, nullptr);
  EXPECT_EQ(none.capacity_bytes, 0u);
  allocator_.release(none);
}

TEST_F(HostAllocatorTest, BlocksAreAlignedWritableAndBigEnough) {
  std::vector<size_t> sizes;
  for (size_t bytes = 1; bytes <= size_t{8} << 20; bytes *= 2) {
    for (const size_t size : {bytes - 1, bytes, bytes + 1, bytes + bytes / 3}) {
      if (size != 0) sizes.push_back(size);
    }
  }
  for (const size_t bytes : sizes) {
    const Allocation block = allocator_.allocate(bytes);
    ASSERT_GE(block.capacity_bytes, bytes);
    const size_t alignment = bytes >= size_t{2} << 20 ? size_t{2} << 20 : 64;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data) % alignment, 0u) << bytes;
    std::memset(block.data, 0x5a, block.capacity_bytes);
    allocator_.release(block);
  }
}

TEST_F(HostAllocatorTest, TheLastBlockGivenBackIsTheNextOne) {
  if (!pooled()) GTEST_SKIP() << "memory is not pooled";
  Allocation blocks[3];
  for (Allocation& block : blocks) block = allocator_.allocate(kLarge);
  for (const Allocation& block : blocks) allocator_.release(block);
  for (int i = 2; i >= 0; --i) EXPECT_EQ(allocator_.allocate(kLarge).data, blocks[i].data);
  for (const Allocation& block : blocks) allocator_.release(block);
}

TEST_F(HostAllocatorTest, BlocksThatNobodyWantsGoBackAfterAWhile) {
  if (!pooled()) GTEST_SKIP() << "nothing is cached under a sanitizer";
  const Allocation old = allocator_.allocate(8 * kLarge);
  allocator_.release(old);
  const Allocation other = allocator_.allocate(kLarge);
  EXPECT_EQ(allocator_.stats().cached_bytes, old.capacity_bytes);
  allocator_.set_keep_time(std::chrono::milliseconds(20));
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  allocator_.release(other);
  EXPECT_EQ(allocator_.stats().cached_bytes, other.capacity_bytes);
  // One that is wanted in time is young again.
  allocator_.set_keep_time(std::chrono::hours(1));
  const Allocation again = allocator_.allocate(kLarge);
  EXPECT_EQ(again.data, other.data);
  allocator_.release(again);
  EXPECT_EQ(allocator_.stats().cached_bytes, other.capacity_bytes);
  allocator_.set_keep_time(std::chrono::seconds(HostAllocator::kKeepSeconds));
}

TEST_F(HostAllocatorTest, BlocksOfEverNewSizesDoNotPileUp) {
  if (!pooled()) GTEST_SKIP() << "nothing is cached under a sanitizer";
  allocator_.set_keep_time(std::chrono::milliseconds(0));  // forgets what tests before this used
  allocator_.release(allocator_.allocate(kLarge));
  allocator_.release(allocator_.allocate(kLarge));
  allocator_.set_keep_time(std::chrono::hours(1));
  for (size_t megabytes = 100; megabytes < 1000; megabytes += megabytes / 3) {
    const Allocation block = allocator_.allocate(megabytes * kLarge);
    allocator_.release(block);
    EXPECT_LE(allocator_.stats().cached_bytes, block.capacity_bytes + block.capacity_bytes / 2);
    EXPECT_GE(allocator_.stats().cached_bytes, block.capacity_bytes);
  }
  allocator_.set_keep_time(std::chrono::seconds(HostAllocator::kKeepSeconds));
}

TEST_F(HostAllocatorTest, SizeClassesWasteAtMostAQuarter) {
  size_t last = 0;
  std::set<size_t> classes;
  for (size_t bytes = 1; bytes <= kSmallLimit; ++bytes) {
    const Allocation block = allocator_.allocate(bytes);
    ASSERT_GE(block.capacity_bytes, bytes);
    ASSERT_GE(block.capacity_bytes, last);
    ASSERT_EQ(block.capacity_bytes % 64, 0u) << bytes;
    if (bytes > 256) {
      ASSERT_LE(block.capacity_bytes * 4, bytes * 5) << bytes;
    } else {
      ASSERT_LT(block.capacity_bytes, bytes + 64) << bytes;
    }
    last = block.capacity_bytes;
    classes.insert(last);
    allocator_.release(block);
  }
  EXPECT_EQ(classes.size(), 32u);
  EXPECT_EQ(last, kSmallLimit);
}

TEST_F(HostAllocatorTest, LargeSizesWasteAtMostAnEighthOrAPage) {
  for (size_t bytes = kSmallLimit + 1; bytes < size_t{100} << 20; bytes += bytes / 7) {
    const Allocation block = allocator_.allocate(bytes);
    const size_t unit = bytes >= size_t{2} << 20 ? size_t{2} << 20 : 4096;
    EXPECT_LE(block.capacity_bytes, bytes + std::max(bytes / 8, unit)) << bytes;
    allocator_.release(block);
  }
}

TEST_F(HostAllocatorTest, ReusesSmallBlocksOfTheSameClassLastFirst) {
  if (!pooled()) GTEST_SKIP() << "memory is not pooled";
  const Allocation first = allocator_.allocate(300);
  const Allocation second = allocator_.allocate(300);
  EXPECT_NE(first.data, second.data);
  allocator_.release(first);
  allocator_.release(second);
  const Allocation other_class = allocator_.allocate(200);
  EXPECT_NE(other_class.data, second.data);
  const Allocation again = allocator_.allocate(310);
  EXPECT_EQ(again.data, second.data);
  const Allocation then = allocator_.allocate(257);
  EXPECT_EQ(then.data, first.data);
  for (const Allocation& block : {other_class, again, then}) allocator_.release(block);
}

TEST_F(HostAllocatorTest, ABlockReleasedElsewhereBelongsToTheReleasingThread) {
  if (!pooled()) GTEST_SKIP() << "memory is not pooled";
  const Allocation block = allocator_.allocate(1000);
  void* seen = nullptr;
  std::thread([&] {
    allocator_.release(block);
    const Allocation again = allocator_.allocate(1000);
    seen = again.data;
    allocator_.release(again);
  }).join();
  EXPECT_EQ(seen, block.data);
}

TEST_F(HostAllocatorTest, ThreadsPassBlocksOfAllSizesToEachOther) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  const size_t sizes[] = {8, 64, 500, 5000, kSmallLimit, kSmallLimit + 1, 100000, kLarge};
  std::vector<std::vector<Allocation>> mail(kThreads);
  const size_t before = allocator_.stats().allocated_bytes;
  for (int round = 0; round < 4; ++round) {
    std::vector<std::thread> threads;
    std::vector<std::vector<Allocation>> next(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (const Allocation& block : mail[static_cast<size_t>((t + 1) % kThreads)]) {
          EXPECT_EQ(*static_cast<char*>(block.data), (t + 1) % kThreads);
          allocator_.release(block);
        }
        for (int i = 0; i < kRounds; ++i) {
          const Allocation block = allocator_.allocate(sizes[i % 8]);
          std::memset(block.data, t, 8);
          next[static_cast<size_t>(t)].push_back(block);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::set<void*> distinct;
    for (const auto& blocks : next) {
      for (const Allocation& block : blocks) distinct.insert(block.data);
    }
    EXPECT_EQ(distinct.size(), static_cast<size_t>(kThreads * kRounds));
    mail.swap(next);
  }
  for (const auto& blocks : mail) {
    for (const Allocation& block : blocks) allocator_.release(block);
  }
  EXPECT_EQ(allocator_.stats().allocated_bytes, before);
}

TEST_F(HostAllocatorTest, StatsCountLargeBlocks) {
  const HostAllocator::Stats before = allocator_.stats();
  EXPECT_EQ(before.cached_bytes, 0u);
  const Allocation small = allocator_.allocate(100);
  EXPECT_EQ(allocator_.stats().allocated_bytes, before.allocated_bytes);
  const Allocation large = allocator_.allocate(kLarge);
  EXPECT_EQ(allocator_.stats().allocated_bytes, before.allocated_bytes + large.capacity_bytes);
  allocator_.release(small);
  allocator_.release(large);
  EXPECT_EQ(allocator_.stats().allocated_bytes, before.allocated_bytes);
  EXPECT_EQ(allocator_.stats().cached_bytes,
            before.cache_limit_bytes == 0 ? 0 : large.capacity_bytes);
  allocator_.empty_cache();
  EXPECT_EQ(allocator_.stats().cached_bytes, 0u);
}

TEST_F(HostAllocatorTest, ALargeBlockServesNearlyEqualSizesOnly) {
  if (!pooled()) GTEST_SKIP() << "memory is not pooled";
  const Allocation block = allocator_.allocate(kLarge);
  allocator_.release(block);
  const Allocation much_smaller = allocator_.allocate(kLarge / 2);
  EXPECT_NE(much_smaller.data, block.data);
  const Allocation smaller = allocator_.allocate(kLarge - kLarge / 8);
  EXPECT_EQ(smaller.data, block.data);
  EXPECT_EQ(smaller.capacity_bytes, block.capacity_bytes);
  EXPECT_EQ(allocator_.stats().cached_bytes, 0u);
  allocator_.release(smaller);
  allocator_.release(much_smaller);
}

TEST_F(HostAllocatorTest, TakesTheSmallestBlockThatFits) {
  if (!pooled()) GTEST_SKIP() << "memory is not pooled";
  const Allocation larger = allocator_.allocate(kLarge);
  const Allocation smaller = allocator_.allocate(kLarge - kLarge / 10);
  allocator_.release(smaller);
  allocator_.release(larger);
  const Allocation taken = allocator_.allocate(kLarge - kLarge / 8);
  EXPECT_EQ(taken.data, smaller.data);
  allocator_.release(taken);
}

TEST_F(HostAllocatorTest, TheCacheIsBoundedAndDropsTheOldestFirst) {
  if (!pooled()) GTEST_SKIP() << "memory is not pooled";
  const size_t limit = allocator_.stats().cache_limit_bytes;
  const size_t bytes = limit / 3;
  ASSERT_GT(bytes, kLarge);
  // Never written to, so the system does not provide the memory.
  std::vector<Allocation> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(allocator_.allocate(bytes));
  size_t expected = 0;
  for (const Allocation& block : blocks) {
    allocator_.release(block);
    expected += block.capacity_bytes;
    while (expected > limit) expected -= block.capacity_bytes;
    EXPECT_EQ(allocator_.stats().cached_bytes, expected);
  }
  std::set<void*> kept;
  std::vector<Allocation> again;
  for (size_t i = 0; i < expected / blocks[0].capacity_bytes; ++i) {
    again.push_back(allocator_.allocate(bytes));
    kept.insert(again.back().data);
  }
  EXPECT_EQ(allocator_.stats().cached_bytes, 0u);
  EXPECT_EQ(kept.count(blocks[3].data), 1u);
  for (const Allocation& block : again) allocator_.release(block);
}

TEST_F(HostAllocatorTest, SaysHowMuchItCouldNotAllocate) {
  const size_t before = allocator_.stats().allocated_bytes;
  std::vector<size_t> sizes{SIZE_MAX, SIZE_MAX - 100};
  // A sanitizer's malloc ends the program instead of answering no.
  if (testing::kCanFailNew) sizes.push_back(size_t{1} << 60);
  for (const size_t bytes : sizes) {
    EXPECT_EQ(error_of<RuntimeError>([&] { allocator_.allocate(bytes); }),
              "DefaultCPUAllocator: can't allocate memory: you tried to allocate " +
                  std::to_string(bytes) + " bytes.");
  }
  EXPECT_EQ(allocator_.stats().allocated_bytes, before);
}

TEST_F(HostAllocatorTest, ABlockThatCannotBeCachedIsGivenBack) {
  if (!testing::kCanFailNew) GTEST_SKIP() << "operator new is the sanitizer's";
  const size_t before = allocator_.stats().allocated_bytes;
  bool failed = true;
  for (size_t nth = 1; failed; ++nth) {
    const Allocation block = allocator_.allocate(kLarge);
    {
      const testing::FailNew fail(nth);
      allocator_.release(block);
      failed = fail.failed();
    }
    const HostAllocator::Stats stats = allocator_.stats();
    EXPECT_EQ(stats.allocated_bytes, before) << nth;
    EXPECT_EQ(stats.cached_bytes, failed ? 0u : block.capacity_bytes) << nth;
    // What the cache holds now must be good memory, and must be freed once.
    const Allocation next = allocator_.allocate(kLarge);
    std::memset(next.data, 1, next.capacity_bytes);
    allocator_.release(next);
    allocator_.empty_cache();
    EXPECT_EQ(allocator_.stats().cached_bytes, 0u);
    ASSERT_LT(nth, 10u);
  }
}

TEST_F(HostAllocatorTest, SmallObjectsComeFromTheSamePool) {
  if (!pooled()) GTEST_SKIP() << "memory is not pooled";
  void* object = allocate_small(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(object) % 64, 0u);
  release_small(object, 100);
  const Allocation block = allocator_.allocate(100);
  EXPECT_EQ(block.data, object);
  allocator_.release(block);
}

// Released by a thread-local destructor that runs after the thread's free lists are gone.
struct Late {
  void* data = nullptr;
  ~Late() { release_small(data, 64); }
};

TEST_F(HostAllocatorTest, BlocksMayOutliveTheirThreadsFreeLists) {
  std::thread([] {
    thread_local Late late;
    late.data = allocate_small(64);
    release_small(allocate_small(64), 64);
  }).join();
}

}  // namespace
}  // namespace mindtorch::runtime
