#include "mindtorch/profiler/recorder.h"

#include <gtest/gtest.h>

#include <thread>

#include "mindtorch/base/error.h"

namespace mindtorch::profiler {
namespace {

std::vector<std::string> names(const Recording& recording) {
  std::vector<std::string> names;
  for (const ThreadRecording& thread : recording.threads) {
    for (const HostEvent& event : thread.events) names.push_back(event.name);
  }
  return names;
}
using Names = std::vector<std::string>;

TEST(ProfilerTest, NothingIsRecordedWithoutASession) {
  EXPECT_FALSE(is_recording());
  EXPECT_FALSE(Span({.name = "lost"}).is_open());
  const uint64_t session = start_session(kHost);
  EXPECT_TRUE(wants(kHost) && !wants(kMemory) && is_thread_recorded());
  EXPECT_TRUE(names(stop_session(session)).empty());
  EXPECT_FALSE(is_recording() || is_thread_recorded());
  EXPECT_THROW(stop_session(session), RuntimeError);
}

TEST(ProfilerTest, SpansAreNested) {
  const uint64_t session = start_session(kHost);
  {
    const Span outer({.kind = Kind::kUser, .name = "outer"});
    const Span inner({.name = "inner", .detail = "Tensor", .sequence = 7});
    EXPECT_NE(innermost_event(), 0U);
  }
  EXPECT_EQ(innermost_event(), 0U);
  const Recording recording = stop_session(session);
  const auto& events = recording.threads.at(0).events;
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].parent, 0U);
  EXPECT_EQ(events[1].parent, events[0].id);
  EXPECT_EQ(events[1].detail, "Tensor");
  EXPECT_EQ(events[1].sequence, 7);
  EXPECT_LE(recording.start_ns, events[0].start_ns);
  EXPECT_LE(events[0].start_ns, events[1].start_ns);
  EXPECT_LE(events[1].end_ns, events[0].end_ns);
  EXPECT_LE(events[0].end_ns, recording.end_ns);
}

TEST(ProfilerTest, SpansMayEndInAnyOrderAndOnAnyThread) {
  const uint64_t session = start_session(kHost);
  Span first({.name = "first"});
  Span second({.name = "second"});
  first.end();
  const Span third({.name = "third"});
  std::thread([moved = std::move(second)]() mutable { moved.end(); }).join();
  const Recording recording = stop_session(session);
  const auto& events = recording.threads.at(0).events;
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[2].parent, events[1].id);
  EXPECT_EQ(events[2].end_ns, recording.end_ns);  // open when the session ended
}

TEST(ProfilerTest, SpansThatOutliveTheirSessionAreNotOfTheNext) {
  uint64_t session = start_session(kHost);
  Span late({.name = "late"});
  EXPECT_EQ(names(stop_session(session)), Names{"late"});
  session = start_session(kHost);
  const Span other({.name = "other"});
  late.end();
  EXPECT_EQ(names(stop_session(session)), Names{"other"});
}

TEST(ProfilerTest, SessionsMayOverlap) {
  const uint64_t outer = start_session(kHost);
  {
    const Span span({.name = "a"});
  }
  const uint64_t inner = start_session(kHost | kMemory);
  {
    const Span span({.name = "b"});
  }
  EXPECT_EQ(names(stop_session(inner)), Names{"b"});
  EXPECT_FALSE(wants(kMemory));
  {
    const Span span({.name = "c"});
  }
  EXPECT_EQ(names(stop_session(outer)), (Names{"a", "b", "c"}));
}

TEST(ProfilerTest, OtherThreadsAreRecordedIfWanted) {
  const auto elsewhere = [](bool on_any) {
    std::thread([=] { const Span span({.name = "there", .is_on_any_thread = on_any}); }).join();
  };
  uint64_t session = start_session(kHost);
  elsewhere(false);
  EXPECT_TRUE(names(stop_session(session)).empty());
  session = start_session(kHost);
  elsewhere(true);
  EXPECT_EQ(names(stop_session(session)), Names{"there"});
  session = start_session(kHost | kAllThreads);
  elsewhere(false);
  EXPECT_EQ(names(stop_session(session)), Names{"there"});
}

TEST(ProfilerTest, HostMemoryTakenBeforeDoesNotCount) {
  const char before = 0;
  const char inside = 0;
  const uint64_t session = start_session(kMemory);
  note_host_release(&before);
  note_host_allocation(&inside, 100);
  note_host_release(&inside);
  const Recording recording = stop_session(session);
  const auto& memory = recording.threads.at(0).memory;
  ASSERT_EQ(memory.size(), 2U);
  EXPECT_EQ(memory[0].bytes, 100);
  EXPECT_EQ(memory[0].allocated_bytes, 100);
  EXPECT_EQ(memory[1].bytes, -100);
  EXPECT_EQ(memory[1].allocated_bytes, 0);
}

TEST(ProfilerTest, ASessionCanPause) {
  const uint64_t session = start_session(kHost);
  change_session(session, 0);
  EXPECT_FALSE(is_recording());
  change_session(session, kHost);
  EXPECT_TRUE(is_recording());
  stop_session(session);
}

}  // namespace
}  // namespace mindtorch::profiler
