#include "mindtorch/runtime/event.h"

#include <gtest/gtest.h>

#include <utility>

#include "mindtorch/base/error.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

class EventTest : public RuntimeTest {};

TEST_F(EventTest, NeverRecordedCountsAsReached) {
  Event event;
  EXPECT_TRUE(event.query());
  event.synchronize();
  event.block(device().default_stream());
  EXPECT_EQ(event.runtime(), nullptr);
  EXPECT_EQ(event.handle(), nullptr);
  EXPECT_EQ(fake.fallible_calls(), 0);
}

TEST_F(EventTest, TheDriverIsToldItsDeviceWhicheverIsCurrent) {
  // The fake driver writes down every call for an event that names another device.
  const Stream stream = device(1).pool_stream();
  for (const EventFlags flags : {EventFlags::kNone, EventFlags::kTiming}) {
    Event start(flags);
    Event end(flags);
    start.record(stream);
    end.record(stream);
    fake.finish_all();
    EXPECT_TRUE(end.query());
    end.synchronize();
    if (flags == EventFlags::kTiming) {
      EXPECT_GE(start.elapsed_time(end), 0);
    }
  }
  EXPECT_EQ(fake.failures(), std::vector<std::string>());
}

TEST_F(EventTest, ADeviceThatCannotShareEventsSaysSo) {
  Event event(EventFlags::kShared);
  event.record(device().default_stream());
  try {
    event.share();
    FAIL();
  } catch (const RuntimeError& error) {
    EXPECT_STREQ(error.what(), "fake devices cannot share events with other processes");
  }
  EXPECT_THROW(Event::open(device(), "1", EventFlags::kNone), RuntimeError);
}

class SharedEvent : public RuntimeTest {
 protected:
  SharedEvent() : RuntimeTest({.process_sharing = true}) {}
};

TEST_F(SharedEvent, IsReachedWhereItIsOpened) {
  const Stream stream = device().pool_stream();
  work(fake, stream);
  Event event(EventFlags::kShared);
  EXPECT_THROW(event.share(), RuntimeError);  // not recorded
  event.record(stream);
  const Event opened = Event::open(device(), event.share(), EventFlags::kNone);
  EXPECT_FALSE(opened.query());
  fake.finish_all();
  EXPECT_TRUE(opened.query());
  Event own;
  own.record(stream);
  EXPECT_THROW(own.share(), RuntimeError);
}

TEST_F(EventTest, TheFirstRecordMakesItOnThatDevice) {
  Event event(EventFlags::kTiming);
  event.record(device(1).default_stream());
  EXPECT_EQ(event.runtime(), &device(1));
  EXPECT_EQ(fake.count(Call::create_event), 1);
  try {
    event.record(device(0).default_stream());
    FAIL();
  } catch (const RuntimeError& error) {
    EXPECT_STREQ(error.what(),
                 "Event device fake:1 does not match recording stream's device fake:0.");
  }
  EXPECT_TRUE(event.runtime() == &device(1));
}

TEST_F(EventTest, QueryAndSynchronizeFollowTheMark) {
  const Stream stream = device().default_stream();
  const auto done = work(fake, stream);
  const Event event = stream.record_event();
  work(fake, stream);
  EXPECT_FALSE(event.query());
  event.synchronize();
  EXPECT_TRUE(*done);
  EXPECT_TRUE(event.query());
  EXPECT_FALSE(stream.query());  // the work behind the mark
}

TEST_F(EventTest, ReRecordingReplacesTheMark) {
  const Stream main = device().default_stream();
  const Stream side = device().pool_stream();
  Event event;
  event.record(side);
  main.wait_event(event);  // the empty recording
  const auto done = work(fake, main);
  work(fake, side);
  side.record_event(event);
  EXPECT_FALSE(event.query());
  fake.finish(0, nullptr);
  EXPECT_FALSE(*done);  // even that one is not reached yet
  const Stream third = device().pool_stream();
  event.record(third);  // an event may move to another stream of its device
  EXPECT_EQ(event.stream(), third);
  EXPECT_FALSE(event.query());
  fake.finish(0, third.handle());
  EXPECT_TRUE(event.query());
  main.synchronize();
  EXPECT_TRUE(*done);
}

TEST_F(EventTest, AStreamOfAnyDeviceMayWait) {
  const auto done = work(fake, device(0).default_stream());
  const Event event = device(0).default_stream().record_event();
  event.block(device(1).default_stream());
  const auto after = work(fake, device(1).default_stream());
  fake.finish(1, nullptr);
  EXPECT_FALSE(*after);
  device(1).synchronize();
  EXPECT_TRUE(*done && *after);
}

TEST_F(EventTest, AStreamOfAnotherKindMayNot) {
  FakeDriver other({.kind = "other"});
  Accelerator others(other);
  const Event event = device().default_stream().record_event();
  EXPECT_THROW(event.block(others.runtime(0).default_stream()), RuntimeError);
}

TEST_F(EventTest, ElapsedTime) {
  const Stream stream = device().default_stream();
  Event plain;
  Event start(EventFlags::kTiming);
  Event end(EventFlags::kTiming);
  EXPECT_THROW(plain.elapsed_time(end), ValueError);
  EXPECT_THROW(start.elapsed_time(plain), ValueError);
  EXPECT_THROW(start.elapsed_time(end), ValueError);  // not recorded
  start.record(stream);
  EXPECT_THROW(start.elapsed_time(end), ValueError);
  work(fake, stream);
  end.record(stream);
  EXPECT_THROW(start.elapsed_time(end), RuntimeError);  // not finished
  stream.synchronize();
  EXPECT_DOUBLE_EQ(start.elapsed_time(end), 2.0);
  EXPECT_DOUBLE_EQ(end.elapsed_time(start), -2.0);
  Event elsewhere(EventFlags::kTiming);
  elsewhere.record(device(1).default_stream());
  device(1).synchronize();
  EXPECT_THROW(start.elapsed_time(elsewhere), RuntimeError);
}

TEST_F(EventTest, EventsWithoutTimingAreReused) {
  for (int i = 0; i < 5; ++i) Event().record(device().default_stream());
  EXPECT_EQ(fake.count(Call::create_event), 1);
  {
    Event(EventFlags::kTiming | EventFlags::kBlockingWait).record(device().default_stream());
  }
  EXPECT_EQ(fake.count(Call::create_event), 2);
  EXPECT_EQ(fake.count(Call::destroy_event), 1);
}

TEST_F(EventTest, MovingMovesTheMark) {
  work(fake, device().default_stream());
  Event event = device().default_stream().record_event();
  Event moved = std::move(event);
  EXPECT_FALSE(moved.query());
  EXPECT_TRUE(event.query());  // NOLINT(bugprone-use-after-move)
  Event target = device().default_stream().record_event();
  target = std::move(moved);
  Event& alias = target;
  target = std::move(alias);
  EXPECT_TRUE(target.recorded());
  fake.finish_all();
  EXPECT_TRUE(target.query());
}

TEST_F(EventTest, AFailedFirstRecordLeavesItUnrecorded) {
  for (const EventFlags flags : {EventFlags::kNone, EventFlags::kTiming}) {
    Event event(flags);
    fake.fail(Call::record_event);
    EXPECT_THROW(event.record(device().default_stream()), DriverError);
    EXPECT_FALSE(event.recorded());
    EXPECT_TRUE(event.query());
    event.record(device().default_stream());
    EXPECT_TRUE(event.recorded());
  }
}

TEST_F(EventTest, AFailedQueryIsAnErrorNotAnAnswer) {
  const Event event = device().default_stream().record_event();
  fake.fail(Call::query_event);
  EXPECT_THROW((void)event.query(), DriverError);
  EXPECT_FALSE(event.query());
}

TEST_F(EventTest, SynchronizeRaisesErrorsKeptForItsStream) {
  const Event event = device().default_stream().record_event();
  device().async_errors().keep(nullptr, std::make_exception_ptr(DriverError("x", 1, "")));
  EXPECT_THROW(event.synchronize(), DriverError);
  event.synchronize();
}

}  // namespace
}  // namespace mindtorch::test
