#include "mindtorch/base/quick_mutex.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace mindtorch {
namespace {

TEST(QuickMutex, IsTakenOnce) {
  QuickMutex mutex;
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(QuickMutex, IsTakenOnceBriefly) {
  QuickMutex mutex;
  EXPECT_TRUE(mutex.try_lock_briefly());
  EXPECT_FALSE(mutex.try_lock_briefly());
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock_briefly();
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock_briefly());
  mutex.unlock();
}

// One takes it briefly, as a thread that records does, and the others wait for it.
TEST(QuickMutex, ThreadsWaitForOneThatTakesItBriefly) {
  QuickMutex mutex;
  int64_t count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20000; ++round) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  }
  for (int round = 0; round < 20000; ++round) {
    if (mutex.try_lock_briefly()) {
      ++count;
      mutex.unlock_briefly();
    } else {
      const std::lock_guard lock(mutex);
      ++count;
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4 * 20000);
}

TEST(QuickMutex, ThreadsTakeTurns) {
  QuickMutex mutex;
  int64_t count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, waits = i % 2 == 0] {
      for (int round = 0; round < 20000; ++round) {
        std::unique_lock lock(mutex, std::defer_lock);
        if (waits) {
          lock.lock();
        } else {
          while (!lock.try_lock()) std::this_thread::yield();
        }
        ++count;
        if (round % 1000 == 0) std::this_thread::yield();  // so that others have to wait
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4 * 20000);
}

}  // namespace
}  // namespace mindtorch
