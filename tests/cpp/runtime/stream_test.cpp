#include "mindtorch/runtime/stream.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "mindtorch/base/error.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::current_device;
using runtime::current_stream;
using runtime::DeviceGuard;
using runtime::set_current_device;
using runtime::set_current_stream;
using runtime::StreamGuard;

class StreamTest : public RuntimeTest {};

TEST_F(StreamTest, TheDefaultStreamHasNoHandleAndNumberZero) {
  const Stream stream = device().default_stream();
  EXPECT_EQ(stream.handle(), nullptr);
  EXPECT_EQ(stream.id(), 0);
  EXPECT_EQ(stream.device(), 0);
  EXPECT_EQ(stream, device().default_stream());
  EXPECT_NE(stream, device(1).default_stream());
  EXPECT_FALSE(Stream());
  EXPECT_EQ(fake.fallible_calls(), 0);
}

TEST_F(StreamTest, ThirtyTwoStreamsAreHandedOutInTurn) {
  std::set<driver::StreamHandle> handles;
  const Stream first = device().pool_stream();
  EXPECT_EQ(fake.live_streams(), 1u);  // made at first use
  handles.insert(first.handle());
  EXPECT_EQ(first.id(), 3);
  for (int64_t i = 1; i < 32; ++i) {
    const Stream stream = device().pool_stream();
    EXPECT_EQ(stream.id(), (i << 5) | 3);
    handles.insert(stream.handle());
  }
  EXPECT_EQ(handles.size(), 32u);
  EXPECT_EQ(device().pool_stream(), first);
  EXPECT_EQ(fake.live_streams(), 32u);
  EXPECT_NE(device(1).pool_stream(), first);
}

TEST_F(StreamTest, PrioritiesAreBroughtIntoRange) {
  EXPECT_EQ(device().priority_range(), (std::pair{0, -3}));
  EXPECT_EQ(device().pool_stream(7).priority(), 0);
  const Stream high = device().pool_stream(-1);
  EXPECT_EQ(high.priority(), -1);
  EXPECT_EQ(high.id(), 5);
  EXPECT_EQ(fake.priority_of(high.handle()), -1);
  const Stream highest = device().pool_stream(-100);
  EXPECT_EQ(highest.priority(), -3);
  EXPECT_EQ(highest.id(), 9);
  EXPECT_NE(device().pool_stream(-100), highest);
}

TEST(StreamPriorities, AtMostFourLevelsAreOffered) {
  FakeDriver fake({.greatest_priority = -5});
  Accelerator accelerator(fake);
  EXPECT_EQ(accelerator.runtime(0).priority_range(), (std::pair{0, -3}));
  EXPECT_EQ(accelerator.runtime(0).pool_stream(-5).priority(), -3);
}

TEST(StreamPriorities, ADeviceMayKnowOnlyOne) {
  FakeDriver fake({.greatest_priority = 0});
  Accelerator accelerator(fake);
  EXPECT_EQ(accelerator.runtime(0).priority_range(), (std::pair{0, 0}));
  EXPECT_EQ(accelerator.runtime(0).pool_stream(-1).priority(), 0);
}

TEST_F(StreamTest, ExternalStreamsAreKnownByHandle) {
  const driver::StreamHandle handle = fake.create_stream(0, 0);
  const Stream stream = device().external_stream(handle);
  EXPECT_EQ(stream.id(), static_cast<int64_t>(reinterpret_cast<intptr_t>(handle)));
  EXPECT_EQ(stream, device().external_stream(handle));
  EXPECT_EQ(device().external_stream(nullptr), device().default_stream());
  const Stream pooled = device().pool_stream();
  EXPECT_EQ(device().external_stream(pooled.handle()), pooled);
  const auto done = work(fake, stream);
  stream.synchronize();
  EXPECT_TRUE(*done);
  fake.destroy_stream(0, handle);  // the owner's duty
}

TEST_F(StreamTest, AStreamThatCannotBeMadeIsTriedAgain) {
  fake.fail(Call::create_stream);
  EXPECT_THROW(device().pool_stream(), DriverError);
  for (int i = 0; i < 32; ++i) EXPECT_TRUE(device().pool_stream());
  EXPECT_EQ(fake.live_streams(), 32u);
}

TEST_F(StreamTest, QueryAndSynchronize) {
  const Stream side = device().pool_stream();
  EXPECT_TRUE(side.query());
  const auto done = work(fake, side);
  EXPECT_FALSE(side.query());
  side.synchronize();
  EXPECT_TRUE(*done);
  EXPECT_TRUE(side.query());
}

TEST_F(StreamTest, WaitStreamOrdersLaterWorkOnly) {
  const Stream main = device().default_stream();
  const Stream side = device(1).pool_stream();
  const auto before = work(fake, main);
  const auto produced = work(fake, side);
  main.wait_stream(side);
  const auto after = work(fake, main);
  fake.finish(0, nullptr);
  EXPECT_TRUE(*before);
  EXPECT_FALSE(*after);
  EXPECT_EQ(fake.count(Call::wait_stream) + fake.count(Call::wait_event), 0);
  const auto too_late = work(fake, side);
  main.synchronize();
  EXPECT_TRUE(*after && *produced);
  EXPECT_FALSE(*too_late);  // queued *after the mark
  fake.reset_counts();
  side.wait_stream(side);
  EXPECT_EQ(fake.count(Call::record_event), 0);
}

TEST_F(StreamTest, WaitStreamReturnsItsEvent) {
  const Stream side = device().pool_stream();
  for (int i = 0; i < 10; ++i) side.wait_stream(device().default_stream());
  EXPECT_EQ(fake.live_events(), 1u);
  fake.fail(Call::block_stream);
  EXPECT_THROW(side.wait_stream(device().default_stream()), DriverError);
  EXPECT_EQ(fake.live_events(), 1u);
}

TEST_F(StreamTest, TheCurrentStreamIsPerThreadAndDevice) {
  const Stream side = device().pool_stream();
  EXPECT_EQ(current_stream(device()), device().default_stream());
  set_current_stream(side);
  EXPECT_EQ(current_stream(device()), side);
  EXPECT_EQ(current_stream(device(1)), device(1).default_stream());
  std::thread([&] {
    EXPECT_EQ(current_stream(device()), device().default_stream());
    set_current_stream(device().pool_stream());
    EXPECT_NE(current_stream(device()), side);
  }).join();
  EXPECT_EQ(current_stream(device()), side);
  EXPECT_EQ(current_device(*accelerator), 0);
}

TEST_F(StreamTest, TheCurrentDeviceIsPerThreadAndKind) {
  FakeDriver other({.kind = "other", .device_count = 2});
  Accelerator others(other);
  set_current_device(*accelerator, 1);
  EXPECT_EQ(current_device(*accelerator), 1);
  EXPECT_EQ(current_device(others), 0);
  EXPECT_EQ(fake.count(Call::bind_thread), 1);
  set_current_device(*accelerator, 1);
  EXPECT_EQ(fake.count(Call::bind_thread), 1);
  std::thread([&] { EXPECT_EQ(current_device(*accelerator), 0); }).join();
  for (const int bad : {-1, 2, 64, 1000}) {
    EXPECT_THROW(set_current_device(*accelerator, bad), RuntimeError);
  }
  EXPECT_EQ(current_device(*accelerator), 1);
}

TEST_F(StreamTest, DeviceGuardRestoresWithoutTouchingAnUnusedDevice) {
  {
    const DeviceGuard guard(*accelerator, 1);
    EXPECT_EQ(current_device(*accelerator), 1);
  }
  EXPECT_EQ(current_device(*accelerator), 0);
  EXPECT_EQ(fake.count(Call::bind_thread), 1);  // device 0 was never used
  device();
  {
    const DeviceGuard guard(*accelerator, 1);
    const DeviceGuard same(*accelerator, -1);
    EXPECT_EQ(current_device(*accelerator), 1);
  }
  EXPECT_EQ(fake.count(Call::bind_thread), 3);
  fake.fail(Call::bind_thread);
  EXPECT_THROW(DeviceGuard(*accelerator, 1), DriverError);
  EXPECT_EQ(current_device(*accelerator), 0);
}

TEST_F(StreamTest, StreamGuardSwitchesDeviceAndRestoresBothStreams) {
  const Stream mine = device(0).pool_stream();
  const Stream other = device(1).pool_stream();
  set_current_stream(mine);
  {
    const StreamGuard guard(other);
    EXPECT_EQ(current_device(*accelerator), 1);
    EXPECT_EQ(current_stream(device(1)), other);
    EXPECT_EQ(current_stream(device(0)), mine);
    set_current_stream(device(0).pool_stream());
    set_current_stream(device(1).pool_stream());
  }
  EXPECT_EQ(current_device(*accelerator), 0);
  EXPECT_EQ(current_stream(device(0)), mine);
  EXPECT_EQ(current_stream(device(1)), device(1).default_stream());
  {
    const StreamGuard nothing{Stream()};
  }
  EXPECT_EQ(current_stream(device(0)), mine);
  runtime::set_stream(other);
  EXPECT_EQ(current_device(*accelerator), 1);
  runtime::set_stream(Stream());
  EXPECT_EQ(current_device(*accelerator), 1);
}

TEST_F(StreamTest, SynchronizeRaisesErrorsKeptForTheStream) {
  const Stream side = device().pool_stream();
  device().async_errors().keep(side.handle(),
                               std::make_exception_ptr(DriverError("query_event", 7, "lost")));
  device().default_stream().synchronize();
  EXPECT_THROW(side.synchronize(), DriverError);
  side.synchronize();  // raised once
  device().async_errors().keep(side.handle(),
                               std::make_exception_ptr(DriverError("query_event", 7, "lost")));
  EXPECT_THROW(device().synchronize(), DriverError);
  device().synchronize();
}

}  // namespace
}  // namespace mindtorch::test
