#include "mindtorch/backends/cpu/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "mindtorch/base/error.h"

namespace mindtorch::cpu {
namespace {

// Sets the number of threads for one test.
class Threads {
 public:
  explicit Threads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

std::vector<std::pair<int64_t, int64_t>> ranges(int64_t begin, int64_t end, int64_t grain) {
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> seen;
  parallel_for(begin, end, grain, [&](int64_t from, int64_t to) {
    const std::lock_guard lock(mutex);
    seen.emplace_back(from, to);
  });
  return seen;
}

int64_t sum_in_parallel(int64_t n) {
  std::atomic<int64_t> sum = 0;
  parallel_for(0, n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  return sum;
}

// Runs `body` in a forked child; the exit status says whether it returned true. A child that hangs
// is ended by its alarm.
template <typename Body>
bool in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Parallel, CoversTheRangeOnce) {
  const Threads threads(4);
  for (const int64_t n : {1, 2, 3, 7, 100, 1001}) {
    for (const int64_t grain : {1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(n));
      parallel_for(10, 10 + n, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i - 10)];
      });
      for (const auto& hit : hits) EXPECT_EQ(hit, 1) << n << " " << grain;
    }
  }
}

TEST(Parallel, EmptyRangeCallsNothing) {
  EXPECT_TRUE(ranges(5, 5, 1).empty());
  EXPECT_TRUE(ranges(5, 2, 1).empty());
}

TEST(Parallel, SmallRangesRunInlineInOnePiece) {
  const Threads threads(4);
  const auto caller = std::this_thread::get_id();
  parallel_for(0, 64, 64, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 64);
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_FALSE(in_parallel_region());
  });
  EXPECT_EQ(ranges(0, 127, 64).size(), 1u);  // two pieces would be smaller than the grain
}

TEST(Parallel, OneThreadRunsInline) {
  const Threads threads(1);
  EXPECT_EQ(ranges(0, 1000, 1).size(), 1u);
}

TEST(Parallel, UsesAsManyThreadsAsAsked) {
  const Threads threads(3);
  std::atomic<int> seen = 0;
  parallel_for(0, 3, 1, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(end - begin, 1);
    EXPECT_TRUE(in_parallel_region());
    EXPECT_EQ(thread_index(), begin);
    ++seen;
  });
  EXPECT_EQ(seen, 3);
  EXPECT_FALSE(in_parallel_region());
  EXPECT_EQ(thread_index(), 0);
}

TEST(Parallel, NestedCallsRunInline) {
  const Threads threads(2);
  std::atomic<int64_t> sum = 0;
  parallel_for(0, 2, 1, [&](int64_t begin, int64_t end) {
    const auto outer = std::this_thread::get_id();
    for (int64_t i = begin; i < end; ++i) {
      parallel_for(0, 100, 1, [&](int64_t from, int64_t to) {
        EXPECT_EQ(std::this_thread::get_id(), outer);
        sum += to - from;
      });
    }
  });
  EXPECT_EQ(sum, 200);
}

TEST(Parallel, ExceptionsReachTheCaller) {
  const Threads threads(4);
  for (int64_t thrower = 0; thrower < 4; ++thrower) {
    EXPECT_THROW(parallel_for(0, 4, 1,
                              [&](int64_t begin, int64_t end) {
                                if (begin <= thrower && thrower < end) MT_THROW(ValueError, "no");
                              }),
                 ValueError);
  }
  EXPECT_THROW(parallel_for(0, 4, 1, [](int64_t, int64_t) { throw std::logic_error("all"); }),
               std::logic_error);
  EXPECT_FALSE(in_parallel_region());
  EXPECT_EQ(sum_in_parallel(1000), 499500);
}

TEST(Parallel, CountIsChecked) {
  const int before = num_threads();
  EXPECT_GE(before, 1);
  EXPECT_THROW(set_num_threads(0), RuntimeError);
  EXPECT_THROW(set_num_threads(-2), RuntimeError);
  EXPECT_EQ(num_threads(), before);
}

TEST(Parallel, SettingIsSharedByAllThreads) {
  const Threads threads(3);
  int seen = 0;
  std::thread([&] { seen = num_threads(); }).join();
  EXPECT_EQ(seen, 3);
}

TEST(Parallel, CallersOnSeveralThreadsAtOnce) {
  const Threads threads(2);
  std::atomic<int64_t> total = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 20; ++repeat) total += sum_in_parallel(100);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 20 * 4950);
}

#ifndef __SANITIZE_THREAD__  // which lets no child of several threads start one
TEST(Parallel, SeveralCallersShareTheWorkers) {
  constexpr int kThreads = 4;
  constexpr int kCallers = 5;
  const Threads threads(kThreads);
  const auto runs_on_few = [&] {
    std::mutex mutex;
    std::set<std::thread::id> seen;
    std::vector<std::thread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&] {
        for (int repeat = 0; repeat < 50; ++repeat) {
          parallel_for(0, kThreads, 1, [&](int64_t, int64_t) {
            const std::lock_guard lock(mutex);
            seen.insert(std::this_thread::get_id());
          });
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    // The id of a caller that has ended may come again: no lower bound but one.
    return !seen.empty() && seen.size() <= kCallers + kThreads - 1;
  };
  EXPECT_TRUE(in_child(runs_on_few));  // has workers of its own: as many as one caller wants
}
#endif

// Of each range: the thread that ran it.
std::vector<std::thread::id> threads_of_ranges(int count) {
  std::vector<std::thread::id> threads(static_cast<size_t>(count));
  std::atomic<int> begun = 0;
  parallel_for(0, count, 1, [&](int64_t begin, int64_t) {
    threads[static_cast<size_t>(begin)] = std::this_thread::get_id();
    for (++begun; begun < count;) std::this_thread::yield();  // none is left to another thread
  });
  return threads;
}

TEST(Parallel, RangesStayOnTheirThreads) {
  const Threads threads(4);
  const auto first = threads_of_ranges(4);
  EXPECT_EQ(first[0], std::this_thread::get_id());
  for (int repeat = 0; repeat < 20; ++repeat) EXPECT_EQ(threads_of_ranges(4), first);
  // Fewer threads, and then more again, are the same ones.
  EXPECT_EQ(threads_of_ranges(2), std::vector(first.begin(), first.begin() + 2));
  EXPECT_EQ(threads_of_ranges(4), first);
}

TEST(Parallel, RangesOfBusyThreadsAreRunByOthers) {
  const Threads threads(3);
  std::atomic<bool> is_busy = false;
  std::atomic<bool> may_end = false;
  std::thread other([&] {
    parallel_for(0, 3, 1, [&](int64_t, int64_t) {
      is_busy = true;
      while (!may_end) std::this_thread::yield();
    });
  });
  while (!is_busy) std::this_thread::yield();
  for (int repeat = 0; repeat < 50; ++repeat) EXPECT_EQ(sum_in_parallel(1000), 499500);
  may_end = true;
  other.join();
}

TEST(Parallel, ManyShortLoops) {
  const Threads threads(8);
  for (int repeat = 0; repeat < 3000; ++repeat) {
    set_num_threads(1 + repeat % 8);
    ASSERT_EQ(sum_in_parallel(16), 120);
  }
  for (int repeat = 0; repeat < 20; ++repeat) {  // workers have gone to sleep meanwhile
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(sum_in_parallel(16), 120);
  }
}

#ifndef __SANITIZE_THREAD__
TEST(Parallel, WorksInAChildForkedAfterUse) {
  const Threads threads(2);
  ASSERT_EQ(sum_in_parallel(1000), 499500);
  EXPECT_TRUE(in_child([] {
    if (num_threads() != 2 || sum_in_parallel(1000) != 499500) return false;
    bool right = false;
    std::thread([&] { right = num_threads() == 2 && sum_in_parallel(1000) == 499500; }).join();
    return right;
  }));
  EXPECT_EQ(num_threads(), 2);
  EXPECT_EQ(sum_in_parallel(1000), 499500);
}

TEST(Parallel, AChildForkedBeforeUseKeepsItsThreads) {
  const Threads threads(2);
  std::thread([] {
    EXPECT_TRUE(in_child([] { return num_threads() == 2 && sum_in_parallel(1000) == 499500; }));
  }).join();
}
#endif

}  // namespace
}  // namespace mindtorch::cpu
