#include "tests/cpp/support/fake_driver.h"

#include <gtest/gtest.h>

namespace mindtorch::test {
namespace {

using driver::CopyKind;
using driver::DriverError;
using driver::EventFlags;

TEST(FakeDriver, MemoryIsBoundedAndOnTheBooks) {
  FakeDriver fake({.memory_bytes = 1000});
  void* a = fake.allocate(0, 600);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(fake.allocate(0, 600), nullptr);
  EXPECT_EQ(fake.memory_info(0).free_bytes, 400u);
  EXPECT_EQ(fake.leaks().size(), 1u);
  fake.release(0, a);
  EXPECT_TRUE(fake.leaks().empty());
  EXPECT_TRUE(fake.failures().empty());
  fake.release(0, a);
  EXPECT_EQ(fake.failures().size(), 1u);
}

TEST(FakeDriver, EventsWaitForTheWorkBeforeThem) {
  FakeDriver fake;
  const auto side = fake.create_stream(0, 0);
  const auto event = fake.create_event(0, EventFlags::kNone);
  int order = 0;
  int first = 0;
  int second = 0;
  fake.launch(0, side, [&] { first = ++order; });
  fake.record_event(event, 0, side);
  fake.block_stream(0, nullptr, event);
  fake.launch(0, nullptr, [&] { second = ++order; });
  EXPECT_FALSE(fake.query_event(0, event));
  fake.finish(0, nullptr);  // blocked
  EXPECT_EQ(second, 0);
  fake.finish(0, side);  // and now both
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
  EXPECT_TRUE(fake.query_event(0, event));
  fake.destroy_event(0, event);
  fake.destroy_stream(0, side);
  EXPECT_TRUE(fake.leaks().empty());
}

TEST(FakeDriver, WaitsFinishWhatTheyWaitFor) {
  FakeDriver fake({.device_count = 2});
  const auto event = fake.create_event(0, EventFlags::kNone);
  bool done = false;
  fake.launch(0, nullptr, [&] { done = true; });
  fake.record_event(event, 0, nullptr);
  fake.block_stream(1, nullptr, event);
  fake.wait_stream(1, nullptr);
  EXPECT_TRUE(done);
  EXPECT_EQ(fake.count(Call::wait_stream), 1);
  fake.destroy_event(0, event);
}

TEST(FakeDriver, CopiesRunInStreamOrderAndNoticeDeadMemory) {
  FakeDriver fake({.backed = true});
  char host[4] = {'a', 'b', 'c', 'd'};
  void* data = fake.allocate(0, 4);
  fake.copy_async(data, host, 4, CopyKind::kHostToDevice, 0, nullptr);
  host[0] = 'x';  // before the copy runs
  fake.wait_stream(0, nullptr);
  EXPECT_EQ(static_cast<char*>(data)[0], 'x');
  fake.use(0, nullptr, data, 4);
  fake.release(0, data);
  fake.finish_all();
  EXPECT_EQ(fake.failures().size(), 1u);
}

TEST(FakeDriver, FaultsComeWhenAsked) {
  FakeDriver fake;
  fake.fail_call(2);
  EXPECT_TRUE(fake.query_stream(0, nullptr));
  EXPECT_THROW(fake.query_stream(0, nullptr), DriverError);
  EXPECT_TRUE(fake.query_stream(0, nullptr));
  fake.fail(Call::allocate, 2);
  void* data = fake.allocate(0, 1);
  EXPECT_NE(data, nullptr);
  EXPECT_EQ(fake.allocate(0, 1), nullptr);
  fake.release(0, data);
  EXPECT_EQ(fake.fallible_calls(), 5);
}

TEST(FakeDriver, MappingsAreOnTheBooks) {
  FakeDriver fake({.virtual_memory = true});
  constexpr size_t kPage = size_t{2} << 20;
  auto* memory = fake.virtual_memory();
  auto* base = static_cast<char*>(memory->reserve(0, 8 * kPage));
  EXPECT_TRUE(memory->map(0, base, kPage));
  EXPECT_TRUE(memory->map(0, base + kPage, 2 * kPage));
  EXPECT_TRUE(fake.is_live(base + kPage - 8, 16));
  EXPECT_FALSE(fake.is_live(base + 3 * kPage));
  EXPECT_EQ(fake.allocated_bytes(0), 3 * kPage);
  memory->unmap(0, base, 3 * kPage);
  memory->unreserve(0, base, 8 * kPage);
  EXPECT_TRUE(fake.leaks().empty());
  EXPECT_TRUE(fake.failures().empty());
}

TEST(FakeDriver, AGraphHoldsTheWorkInsteadOfRunningIt) {
  FakeDriver fake({.auto_finish = true, .graph_capture = true});
  const auto stream = fake.create_stream(0, 0);
  auto* capture = fake.graph_capture();
  capture->begin(0, stream, driver::CaptureMode::kGlobal);
  int runs = 0;
  fake.launch(0, stream, [&] { ++runs; });
  EXPECT_TRUE(capture->is_capturing(0, stream));
  EXPECT_THROW(fake.wait_stream(0, stream), DriverError);
  const auto graph = capture->end(0, stream);
  EXPECT_EQ(runs, 0);
  capture->replay(graph, 0, stream);
  capture->replay(graph, 0, stream);
  EXPECT_EQ(runs, 2);
  capture->destroy(graph);
  fake.destroy_stream(0, stream);
  EXPECT_TRUE(fake.leaks().empty());
}

}  // namespace
}  // namespace mindtorch::test
