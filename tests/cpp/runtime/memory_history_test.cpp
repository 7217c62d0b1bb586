#include "mindtorch/runtime/memory_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace mindtorch::runtime {
namespace {

class FixedContext : public CallContext {
 public:
  std::vector<Frame> frames() const override { return {{"f", "file.py", 3}}; }
};

int g_contexts_taken = 0;

std::shared_ptr<const CallContext> take_context() {
  ++g_contexts_taken;
  return std::make_shared<FixedContext>();
}

class MemoryHistoryTest : public testing::Test {
 protected:
  void SetUp() override {
    g_contexts_taken = 0;
    set_context_source(&take_context);
  }
  void TearDown() override { set_context_source(nullptr); }

  void enable(ContextLevel context, size_t max_entries = SIZE_MAX, uint32_t skipped = 0) {
    history_.configure({true, context, max_entries, skipped}, false);
  }
  void record(size_t size, TraceAction action = TraceAction::kAlloc) {
    TraceEntry entry;
    entry.action = action;
    entry.size = size;
    entry.context = history_.context(ContextLevel::kState);
    history_.record(std::move(entry));
  }
  std::vector<size_t> sizes() const {
    std::vector<size_t> result;
    for (const TraceEntry& entry : history_.entries()) result.push_back(entry.size);
    return result;
  }

  MemoryHistory history_;
};

using Sizes = std::vector<size_t>;

TEST_F(MemoryHistoryTest, KeepsNothingUntilEnabled) {
  record(1);
  EXPECT_FALSE(history_.enabled());
  EXPECT_EQ(sizes(), Sizes());
  EXPECT_EQ(g_contexts_taken, 0);
}

TEST_F(MemoryHistoryTest, TheOldestEntriesMakeRoom) {
  enable(ContextLevel::kNone, 3);
  for (size_t size = 1; size <= 8; ++size) record(size);
  EXPECT_EQ(sizes(), Sizes({6, 7, 8}));
  enable(ContextLevel::kNone, 2);
  EXPECT_EQ(sizes(), Sizes({7, 8}));
  record(9);
  EXPECT_EQ(sizes(), Sizes({8, 9}));
  enable(ContextLevel::kNone, 4);
  for (size_t size = 10; size <= 12; ++size) record(size);
  EXPECT_EQ(sizes(), Sizes({9, 10, 11, 12}));
}

TEST_F(MemoryHistoryTest, EnablingAgainKeepsAndClearingOrDisablingForgets) {
  enable(ContextLevel::kNone);
  record(1);
  enable(ContextLevel::kAll);
  EXPECT_EQ(sizes(), Sizes({1}));
  history_.configure({true, ContextLevel::kNone, SIZE_MAX, 0}, true);
  EXPECT_EQ(sizes(), Sizes());
  record(2);
  history_.configure({}, false);
  EXPECT_FALSE(history_.enabled());
  EXPECT_EQ(sizes(), Sizes());
}

TEST_F(MemoryHistoryTest, SkippedActionsAreLeftOut) {
  enable(ContextLevel::kNone, SIZE_MAX, 1u << static_cast<int>(TraceAction::kFreeRequested));
  record(1);
  record(2, TraceAction::kFreeRequested);
  record(3, TraceAction::kFreeCompleted);
  EXPECT_EQ(sizes(), Sizes({1, 3}));
}

TEST_F(MemoryHistoryTest, AtLeastOneEntryIsKept) {
  enable(ContextLevel::kNone, 0);
  record(1);
  record(2);
  EXPECT_EQ(sizes(), Sizes({2}));
}

TEST_F(MemoryHistoryTest, ContextsAreTakenAndKeptAsFarAsWanted) {
  enable(ContextLevel::kState);
  EXPECT_NE(history_.context(ContextLevel::kState), nullptr);
  EXPECT_EQ(history_.context(ContextLevel::kAlloc), nullptr);
  record(1);
  EXPECT_EQ(history_.entries()[0].context, nullptr);  // for the block only
  enable(ContextLevel::kAlloc);
  EXPECT_NE(history_.context(ContextLevel::kState), nullptr);
  EXPECT_NE(history_.context(ContextLevel::kAlloc), nullptr);
  EXPECT_EQ(history_.context(ContextLevel::kAll), nullptr);
  record(2);
  ASSERT_NE(history_.entries()[1].context, nullptr);
  EXPECT_EQ(history_.entries()[1].context->frames()[0].line, 3);
  enable(ContextLevel::kAll);
  EXPECT_NE(history_.context(ContextLevel::kAll), nullptr);
  set_context_source(nullptr);
  EXPECT_EQ(history_.context(ContextLevel::kAll), nullptr);
}

TEST_F(MemoryHistoryTest, EntriesCarryTheTime) {
  enable(ContextLevel::kNone);
  record(1);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t now_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  EXPECT_NEAR(static_cast<double>(history_.entries()[0].time_us), static_cast<double>(now_us), 5e6);
}

TEST_F(MemoryHistoryTest, ThreadsRecordTogether) {
  enable(ContextLevel::kNone, 100);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this] {
      for (size_t size = 0; size < 1000; ++size) record(size);
    });
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_LE(history_.entries().size(), 100u);
    enable(ContextLevel::kNone, i % 2 == 0 ? 50 : 100);
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t size = 0; size < 100; ++size) record(size);
  EXPECT_EQ(history_.entries().size(), 100u);
}

TEST_F(MemoryHistoryTest, TimesNeverGoBack) {
  enable(ContextLevel::kNone);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this] {
      for (size_t size = 0; size < 5000; ++size) record(size);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(std::ranges::is_sorted(history_.entries(), {}, &TraceEntry::time_us));
}

TEST(TraceAction, NamesAreTorchs) {
  const char* const names[] = {"alloc",         "free_requested", "free_completed",
                               "segment_alloc", "segment_free",   "segment_map",
                               "segment_unmap", "snapshot",       "oom"};
  for (int i = 0; i < 9; ++i) EXPECT_STREQ(action_name(static_cast<TraceAction>(i)), names[i]);
}

}  // namespace
}  // namespace mindtorch::runtime
