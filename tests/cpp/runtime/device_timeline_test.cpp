#include "mindtorch/runtime/device_timeline.h"

#include "mindtorch/runtime/graph.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

using profiler::DeviceEvent;
using runtime::LaunchSpan;

class DeviceTimelineTest : public RuntimeTest {
 protected:
  DeviceTimelineTest() : RuntimeTest({.auto_finish = true, .graph_capture = true}) {
    runtime::install_device_timeline();
  }

  // What the session sees of `launches`.
  template <typename Launches>
  std::vector<DeviceEvent> record(const Launches& launches) {
    const uint64_t session = profiler::start_session(profiler::kHost | profiler::kDevice);
    launches();
    return profiler::stop_session(session).device;
  }
  void launch(const char* name, double ms) {
    const LaunchSpan timed(device().default_stream(), name, 8);
    fake.advance_ms(ms);
  }
};

TEST_F(DeviceTimelineTest, LaunchesHaveTheTimesOfTheDevice) {
  uint64_t op = 0;
  const auto events = record([&] {
    const profiler::Span span({.name = "op"});
    op = profiler::innermost_event();
    launch("first", 3);
    fake.advance_ms(10);
    launch("second", 5);
  });
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].name, "first");
  EXPECT_EQ(events[0].launched_by, op);
  EXPECT_EQ(events[0].bytes, 8U);
  EXPECT_EQ(std::string(events[0].device_kind), "fake");
  // An event is a piece of work, for which the fake's clock moves on by 1 ms.
  EXPECT_NEAR(static_cast<double>(events[0].end_ns - events[0].start_ns) * 1e-6, 3, 1.01);
  EXPECT_NEAR(static_cast<double>(events[1].start_ns - events[0].end_ns) * 1e-6, 10, 1.01);
  EXPECT_NEAR(static_cast<double>(events[1].end_ns - events[1].start_ns) * 1e-6, 5, 1.01);
}

TEST_F(DeviceTimelineTest, WithoutAProfilerNoEventIsMade) {
  fake.reset_counts();
  launch("nobody looks", 1);
  EXPECT_EQ(fake.count(Call::create_event), 0);
  EXPECT_EQ(fake.count(Call::record_event), 0);
}

TEST_F(DeviceTimelineTest, EventsAreGivenBack) {
  const size_t before = fake.live_events();
  record([&] {
    for (int i = 0; i < 10; ++i) launch("work", 1);
  });
  EXPECT_EQ(fake.live_events(), before);
}

TEST_F(DeviceTimelineTest, LongSessionsUseFewEvents) {
  size_t most = 0;
  const auto events = record([&] {
    for (int i = 0; i < 10000; ++i) {
      launch("work", 0.1);
      most = std::max(most, fake.live_events());
    }
  });
  EXPECT_EQ(events.size(), 10000U);
  EXPECT_LT(most, 9000U);
}

TEST_F(DeviceTimelineTest, AFailingDeviceIsNotTimed) {
  const auto events = record([&] {
    fake.fail_always(Call::record_event);
    EXPECT_NO_THROW(launch("not timed", 1));
    fake.clear_faults();
    launch("timed", 1);
    fake.fail_always(Call::elapsed_ms);
  });
  fake.clear_faults();
  EXPECT_TRUE(events.empty());
  EXPECT_FALSE(profiler::is_recording());
}

TEST_F(DeviceTimelineTest, WhatIsCapturedIsNotTimedButItsReplayIs) {
  const auto events = record([&] {
    runtime::Graph graph;
    const Stream stream = device().pool_stream();
    graph.begin(stream, {}, driver::CaptureMode::kGlobal);
    {
      const LaunchSpan timed(stream, "captured");
    }
    graph.end();
    graph.replay(stream);
  });
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "Graph replay");
}

}  // namespace
}  // namespace mindtorch::test
