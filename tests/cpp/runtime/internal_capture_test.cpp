#include "mindtorch/runtime/internal_capture.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/graph.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::Graph;
using runtime::InternalCapture;

class InternalCaptureTest : public RuntimeTest {
 protected:
  InternalCaptureTest() : RuntimeTest({.device_count = 2, .graph_capture = true}) {}

  std::unique_ptr<Graph> capture(const std::function<void()>& work = [] {}) {
    return InternalCapture::capture(device(), Graph::make_pool_id(), work);
  }

  void use_memory() {
    const Stream stream = runtime::current_stream(device());
    device().memory().release(device().memory().allocate(1000, stream.handle()));
  }
  int64_t reserved() {
    return device().memory().stats().all(runtime::Metric::kReservedBytes).current;
  }
};

TEST_F(InternalCaptureTest, TakesWhatTheCurrentStreamIsGiven) {
  const Stream before = runtime::current_stream(device());
  auto done = std::make_shared<bool>(false);
  const auto graph = capture([&] {
    const Stream stream = runtime::current_stream(device());
    EXPECT_NE(stream, before);
    EXPECT_TRUE(stream.is_capturing());
    done = std::const_pointer_cast<bool>(work(fake, stream));
  });
  EXPECT_EQ(runtime::current_stream(device()), before);
  ASSERT_NE(graph, nullptr);
  fake.finish_all();
  EXPECT_FALSE(*done);
  graph->replay(before);
  fake.finish_all();
  EXPECT_TRUE(*done);
}

TEST_F(InternalCaptureTest, ItsStreamIsNobodysElse) {
  const Stream own = device().capture_stream();
  EXPECT_EQ(own, device().capture_stream());
  EXPECT_NE(own, device().default_stream());
  for (int i = 0; i < 40; ++i) EXPECT_NE(device().pool_stream(), own);
}

TEST_F(InternalCaptureTest, LeavesTheFieldToCapturesOfTheUser) {
  Graph users;
  users.begin(device().pool_stream(), {}, driver::CaptureMode::kGlobal);
  EXPECT_EQ(capture(), nullptr);
  users.end();
  EXPECT_NE(capture(), nullptr);
}

TEST_F(InternalCaptureTest, WhateverFailsNothingIsLeft) {
  const Stream before = runtime::current_stream(device());
  EXPECT_THROW(capture([] { throw ValueError("no"); }), ValueError);
  for (const Call call : {Call::capture_begin, Call::capture_end}) {
    fake.fail(call);
    EXPECT_THROW(capture(), DriverError);
    fake.clear_faults();
  }
  EXPECT_FALSE(device().memory().capturing());
  EXPECT_FALSE(device().capture_stream().is_capturing());
  EXPECT_EQ(runtime::current_stream(device()), before);
  EXPECT_NE(capture(), nullptr);
}

TEST_F(InternalCaptureTest, OthersWaitForTheDeviceAfterwards) {
  std::atomic<bool> waited{false};
  std::thread waiter;
  const auto graph = capture([&] {
    waiter = std::thread([&] {
      device().synchronize();
      waited = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(waited);
    EXPECT_EQ(fake.count(Call::wait_device), 0);
  });
  waiter.join();
  EXPECT_TRUE(waited);
  EXPECT_EQ(fake.count(Call::wait_device), 1);
}

TEST_F(InternalCaptureTest, OthersEmptyTheCacheAfterwards) {
  use_memory();
  ASSERT_GT(reserved(), 0);
  std::thread other;
  const auto graph = capture([&] {
    other = std::thread([&] { device().memory().empty_cache(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  other.join();
  EXPECT_EQ(reserved(), 0);
}

// A captured stream can be neither asked nor waited for, and emptying the cache does both for the
// stream of earlier captures, whose memory is in the cache.
TEST_F(InternalCaptureTest, CapturesAndEmptyCachesOfTwoThreads) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) EXPECT_NO_THROW(device().memory().empty_cache());
  });
  for (int i = 0; i < 400; ++i) EXPECT_NO_THROW((void)capture([&] { use_memory(); }));
  stop = true;
  other.join();
}

TEST_F(InternalCaptureTest, NoneBeginsWhileSomebodyWaits) {
  const auto none = device().internal_capture().keep_out();
  EXPECT_EQ(capture(), nullptr);
}

}  // namespace
}  // namespace mindtorch::test
