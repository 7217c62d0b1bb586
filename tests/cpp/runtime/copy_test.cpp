#include "mindtorch/runtime/copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "mindtorch/base/error.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::Allocation;
using runtime::copy_between_devices;
using runtime::copy_to_device;
using runtime::copy_to_host;
using runtime::PinnedPool;

class CopyTest : public RuntimeTest {
 protected:
  explicit CopyTest(FakeOptions options = {.device_count = 2, .backed = true})
      : RuntimeTest(options) {}

  void TearDown() override {
    fake.finish_all();
    for (const auto& [where, data] : memory) fake.release(where, data);
    RuntimeTest::TearDown();
  }

  char* on_device(const std::string& text, int where = 0) {
    auto* data = static_cast<char*>(fake.allocate(where, 64));
    std::memcpy(data, text.c_str(), text.size() + 1);
    memory.emplace_back(where, data);
    return data;
  }
  Allocation pinned(const std::string& text) {
    const Allocation block = pool().allocate(64);
    std::memcpy(block.data, text.c_str(), text.size() + 1);
    return block;
  }
  PinnedPool& pool() { return accelerator->pinned(); }
  int64_t waits() const { return fake.count(Call::wait_stream) + fake.count(Call::wait_event); }

  std::vector<std::pair<int, char*>> memory;
};

TEST_F(CopyTest, BlockingCopiesAreDoneOnReturn) {
  char* data = on_device("");
  char pageable[64] = "pageable";
  copy_to_device(device(), data, pageable, 9);
  EXPECT_STREQ(data, "pageable");
  const Allocation block = pinned("pinned");
  copy_to_device(device(), data, block.data, 7);
  EXPECT_STREQ(data, "pinned");
  copy_to_host(device(), pageable, data, 7);
  EXPECT_STREQ(pageable, "pinned");
  std::strcpy(data, "back");
  copy_to_host(device(), block.data, data, 5);
  EXPECT_STREQ(static_cast<char*>(block.data), "back");
  EXPECT_EQ(fake.count(Call::wait_stream), 4);
  pool().release(block);
}

TEST_F(CopyTest, CopiesRunOnTheCurrentStream) {
  char* data = on_device("");
  const Stream side = device().pool_stream();
  const auto before = work(fake, side);
  const auto elsewhere = work(fake, device().default_stream());
  {
    const runtime::StreamGuard guard(side);
    copy_to_device(device(), data, "side", 5);
  }
  EXPECT_TRUE(*before);
  EXPECT_FALSE(*elsewhere);
}

TEST_F(CopyTest, NonBlockingFromPinnedReturnsAtOnceAndTiesTheBlock) {
  char* data = on_device("");
  const Allocation block = pinned("first");
  copy_to_device(device(), data, block.data, 6, true);
  EXPECT_STREQ(data, "");
  EXPECT_EQ(waits(), 0);
  pool().release(block);
  EXPECT_NE(pool().allocate(64).data, block.data);
  fake.finish_all();
  EXPECT_STREQ(data, "first");
  EXPECT_EQ(pool().allocate(64).data, block.data);
}

TEST_F(CopyTest, NonBlockingFromPageableMayChangeTheSourceOnReturn) {
  char* data = on_device("");
  char source[64] = "small";
  copy_to_device(device(), data, source, 6, true);
  EXPECT_EQ(waits(), 0);  // staged
  std::strcpy(source, "other");
  device().synchronize();
  EXPECT_STREQ(data, "small");

  auto* large = static_cast<char*>(fake.allocate(0, runtime::kStageLimit + 1));
  memory.emplace_back(0, large);
  std::vector<char> bytes(runtime::kStageLimit + 1, 'x');
  copy_to_device(device(), large, bytes.data(), bytes.size(), true);
  EXPECT_EQ(waits(), 1);  // waited for: cheaper than copying twice
  bytes.assign(bytes.size(), 'y');
  device().synchronize();
  EXPECT_EQ(large[runtime::kStageLimit], 'x');
}

TEST_F(CopyTest, StagingMemoryIsNotReusedBeforeItsCopyIsDone) {
  char* first = on_device("");
  char* second = on_device("");
  copy_to_device(device(), first, "first", 6, true);
  copy_to_device(device(), second, "second", 7, true);
  fake.finish_all();
  EXPECT_STREQ(first, "first");
  EXPECT_STREQ(second, "second");
}

TEST_F(CopyTest, StagingMemoryIsReused) {
  char* data = on_device("");
  for (int i = 0; i < 20; ++i) {
    copy_to_device(device(), data, "again", 6, true);
    fake.finish_all();
  }
  EXPECT_EQ(fake.count(Call::allocate_pinned), 1);
}

TEST_F(CopyTest, NonBlockingToPinnedReturnsBeforeTheBytesAreThere) {
  char* data = on_device("late");
  const Allocation block = pinned("");
  copy_to_host(device(), block.data, data, 5, true);
  EXPECT_STREQ(static_cast<char*>(block.data), "");
  EXPECT_EQ(waits(), 0);
  device().default_stream().synchronize();
  EXPECT_STREQ(static_cast<char*>(block.data), "late");
  pool().release(block);
}

TEST_F(CopyTest, NonBlockingToPageableWaits) {
  char* data = on_device("here");
  char target[64] = "";
  copy_to_host(device(), target, data, 5, true);
  EXPECT_STREQ(target, "here");
}

TEST_F(CopyTest, WithinADeviceNobodyWaits) {
  char* from = on_device("inside");
  char* to = on_device("");
  copy_between_devices(device(), to, device(), from, 7);
  EXPECT_STREQ(to, "");
  EXPECT_EQ(waits() + fake.count(Call::record_event), 0);
  fake.finish_all();
  EXPECT_STREQ(to, "inside");
}

TEST_F(CopyTest, BetweenDevicesBothStreamsAreOrdered) {
  char* from = on_device("across", 0);
  char* to = on_device("", 1);
  const Stream source = device(0).pool_stream();
  const Stream target = device(1).pool_stream();
  runtime::set_current_stream(source);
  runtime::set_current_stream(target);
  work(fake, target);  // may still use `to`
  copy_between_devices(device(1), to, device(0), from, 7);
  const auto after = work(fake, target);
  EXPECT_EQ(waits(), 0);
  fake.finish(0, source.handle());
  EXPECT_STREQ(to, "");  // waits for the target's earlier work
  fake.finish(1, target.handle());
  EXPECT_STREQ(to, "across");
  EXPECT_TRUE(*after);
  EXPECT_EQ(fake.count(Call::copy_async), 1);
  runtime::set_current_stream(device(0).default_stream());
  runtime::set_current_stream(device(1).default_stream());
}

TEST_F(CopyTest, TheTargetGoesOnAfterTheCopy) {
  char* from = on_device("across", 0);
  char* to = on_device("", 1);
  work(fake, device(0).default_stream());
  copy_between_devices(device(1), to, device(0), from, 7);
  const auto after = work(fake, device(1).default_stream());
  fake.finish(1, nullptr);
  EXPECT_FALSE(*after);
  fake.finish(0, nullptr);
  EXPECT_TRUE(*after);
}

TEST_F(CopyTest, ACopyTheTargetCannotBeToldOfIsWaitedFor) {
  char* from = on_device("across", 0);
  char* to = on_device("", 1);
  fake.fail(Call::block_stream, 2);
  EXPECT_THROW(copy_between_devices(device(1), to, device(0), from, 7), DriverError);
  EXPECT_STREQ(to, "across");
}

TEST(PeerAccess, IsEnabledOncePerPair) {
  FakeDriver fake({.device_count = 2, .backed = true, .auto_finish = true, .peer_access = true});
  {
    Accelerator accelerator(fake);
    DeviceRuntime& first = accelerator.runtime(0);
    DeviceRuntime& second = accelerator.runtime(1);
    runtime::Block* from = first.memory().allocate(8, nullptr);
    runtime::Block* to = second.memory().allocate(8, nullptr);
    for (int i = 0; i < 3; ++i) copy_between_devices(second, to->data, first, from->data, 8);
    EXPECT_EQ(fake.count(Call::enable_peer), 2);  // both directions
    EXPECT_EQ(fake.count(Call::copy_async), 3);
    first.memory().release(from);
    second.memory().release(to);
  }
  EXPECT_EQ(fake.failures(), std::vector<std::string>());
}

TEST(PeerAccess, DevicesThatCannotReachEachOtherCopyThroughTheHost) {
  FakeDriver fake({.device_count = 2,
                   .backed = true,
                   .auto_finish = true,
                   .peer_access = true,
                   .peers_reachable = false});
  {
    Accelerator accelerator(fake);
    DeviceRuntime& first = accelerator.runtime(0);
    DeviceRuntime& second = accelerator.runtime(1);
    runtime::Block* from = first.memory().allocate(8, nullptr);
    runtime::Block* to = second.memory().allocate(8, nullptr);
    std::memcpy(from->data, "around", 7);
    copy_between_devices(second, to->data, first, from->data, 7);
    EXPECT_STREQ(to->data, "around");
    EXPECT_EQ(fake.count(Call::enable_peer), 0);
    EXPECT_EQ(fake.count(Call::copy_async), 2);
    first.memory().release(from);
    second.memory().release(to);
  }
  EXPECT_EQ(fake.leaks(), std::vector<std::string>());
}

TEST_F(CopyTest, NothingIsNoCopy) {
  char* data = on_device("same");
  fake.reset_counts();
  copy_to_device(device(), data, nullptr, 0);
  copy_to_host(device(), nullptr, data, 0);
  copy_between_devices(device(), nullptr, device(1), nullptr, 0);
  copy_between_devices(device(), data, device(), data, 5);
  EXPECT_EQ(fake.count(Call::copy_async) + waits(), 0);
}

TEST_F(CopyTest, WithoutPinnedMemoryPageableCopiesWait) {
  char* data = on_device("");
  fake.fail_always(Call::allocate_pinned);
  copy_to_device(device(), data, "waited", 7, true);
  EXPECT_STREQ(data, "waited");
  EXPECT_EQ(fake.count(Call::wait_stream), 1);
}

class CaptureCopyTest : public CopyTest {
 protected:
  CaptureCopyTest() : CopyTest({.backed = true, .graph_capture = true}) {}
};

TEST_F(CaptureCopyTest, HostMemoryMustBePinned) {
  char* data = on_device("");
  const Allocation block = pinned("graph");
  const Stream stream = device().pool_stream();
  runtime::set_current_stream(stream);
  fake.begin(0, stream.handle(), driver::CaptureMode::kGlobal);
  char pageable[64] = "";
  EXPECT_THROW(copy_to_device(device(), data, pageable, 5, true), RuntimeError);
  EXPECT_THROW(copy_to_host(device(), pageable, data, 5, true), RuntimeError);
  copy_to_device(device(), data, block.data, 6, true);
  const driver::GraphHandle graph = fake.end(0, stream.handle());
  EXPECT_STREQ(data, "");
  fake.replay(graph, 0, stream.handle());
  stream.synchronize();
  EXPECT_STREQ(data, "graph");
  fake.destroy(graph);
  runtime::set_current_stream(device().default_stream());
  pool().release(block);
}

TEST(TwoKindsOfDevices, CopyThroughTheHost) {
  FakeDriver first(FakeOptions{.kind = "first", .backed = true, .auto_finish = true});
  FakeDriver second(FakeOptions{.kind = "second", .backed = true, .auto_finish = true});
  Accelerator one(first);
  Accelerator other(second);
  auto* const from = static_cast<char*>(first.allocate(0, 64));
  auto* const to = static_cast<char*>(second.allocate(0, 64));
  std::memcpy(from, "hello!", 7);
  copy_between_devices(other.runtime(0), to, one.runtime(0), from, 7);
  EXPECT_STREQ(to, "hello!");
  EXPECT_EQ(first.failures(), std::vector<std::string>());
  EXPECT_EQ(second.failures(), std::vector<std::string>());
  first.release(0, from);
  second.release(0, to);
}

}  // namespace
}  // namespace mindtorch::test
