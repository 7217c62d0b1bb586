#include "mindtorch/runtime/deferred_release.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "mindtorch/base/error.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::DeferredRelease;

class DeferredReleaseTest : public RuntimeTest {
 protected:
  struct Item {
    std::vector<int>* order;
    int number;
  };

  explicit DeferredReleaseTest(FakeOptions options = {.device_count = 2}) : RuntimeTest(options) {
    items.reserve(10000);
  }

  void push(Stream stream) {
    items.push_back({&order, static_cast<int>(items.size())});
    stream.defer(
        [](void* context) {
          const auto* item = static_cast<Item*>(context);
          item->order->push_back(item->number);
        },
        &items.back());
  }
  void push(Stream stream, int count) {
    for (int i = 0; i < count; ++i) push(stream);
  }
  std::vector<int> numbers(int count) const {
    std::vector<int> all(static_cast<size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  std::vector<Item> items;
  std::vector<int> order;
};

TEST_F(DeferredReleaseTest, FirstTheStreamThenTheFrees) {
  const Stream stream = device().default_stream();
  const auto done = work(fake, stream);
  bool done_at_release = false;
  struct Seen {
    const bool* done;
    bool* at_release;
  } seen{done.get(), &done_at_release};
  stream.defer(
      [](void* context) {
        const auto* s = static_cast<Seen*>(context);
        *s->at_release = *s->done;
      },
      &seen);
  push(stream, 3);
  EXPECT_TRUE(order.empty());
  stream.synchronize();
  EXPECT_TRUE(done_at_release);
  EXPECT_EQ(order, numbers(3));
  EXPECT_EQ(stream.deferred().size(), 0u);
  EXPECT_EQ(fake.count(Call::record_event), 0);  // a wait needs no event
}

TEST_F(DeferredReleaseTest, OneEventMarksManyEntries) {
  const Stream stream = device().default_stream();
  work(fake, stream);
  push(stream, 10 * static_cast<int>(DeferredRelease::kBatch));
  EXPECT_EQ(fake.count(Call::record_event), 10);
  EXPECT_LE(fake.count(Call::query_event), 10);
  EXPECT_TRUE(order.empty());
  fake.finish_all();
  push(stream, static_cast<int>(DeferredRelease::kBatch));  // the queue grows: it looks
  EXPECT_EQ(order, numbers(10 * static_cast<int>(DeferredRelease::kBatch)));
  stream.synchronize();
  EXPECT_EQ(order, numbers(11 * static_cast<int>(DeferredRelease::kBatch)));
}

TEST_F(DeferredReleaseTest, NeverBeforeTheWorkThatCameFirst) {
  const Stream stream = device().default_stream();
  push(stream, 32);  // sealed; the stream is idle but for the event
  fake.finish_all();
  work(fake, stream);
  push(stream, 32);
  stream.deferred().poll();
  EXPECT_EQ(order, numbers(32));
  EXPECT_FALSE(stream.query());
  EXPECT_EQ(order, numbers(32));
  fake.finish_all();
  stream.deferred().poll();
  EXPECT_EQ(order, numbers(64));
}

TEST_F(DeferredReleaseTest, AnIdleStreamReleasesAtAQuery) {
  const Stream stream = device().default_stream();
  push(stream, 5);
  EXPECT_TRUE(stream.query());
  EXPECT_EQ(order, numbers(5));
}

TEST_F(DeferredReleaseTest, PollMarksTheNewestWhenAsked) {
  const Stream stream = device().pool_stream();
  push(stream, 5);
  stream.deferred().poll();
  EXPECT_EQ(fake.count(Call::record_event), 0);
  device().poll_deferred();
  EXPECT_EQ(fake.count(Call::record_event), 1);
  EXPECT_TRUE(order.empty());
  fake.finish_all();
  device().poll_deferred();
  EXPECT_EQ(order, numbers(5));
}

TEST_F(DeferredReleaseTest, DeviceSynchronizeDrainsEveryStream) {
  const Stream side = device().pool_stream();
  push(device().default_stream(), 2);
  push(side, 2);
  push(device(1).default_stream());
  device().synchronize();
  EXPECT_EQ(order, numbers(4));
}

TEST_F(DeferredReleaseTest, EventSynchronizeDrainsWhatIsMarked) {
  const Stream stream = device().default_stream();
  push(stream, 32);
  stream.record_event().synchronize();
  EXPECT_EQ(order, numbers(32));
}

TEST_F(DeferredReleaseTest, StreamsDoNotWaitForEachOther) {
  const Stream side = device().pool_stream();
  work(fake, device().default_stream());
  push(side, 1);
  side.synchronize();
  EXPECT_EQ(order, numbers(1));
}

TEST_F(DeferredReleaseTest, AReleaseMayPushAndSynchronise) {
  const Stream stream = device().default_stream();
  struct Context {
    Stream stream;
    int runs;
  } context{stream, 0};
  constexpr auto again = [](void* data) {
    auto* c = static_cast<Context*>(data);
    if (++c->runs == 1) {
      c->stream.defer([](void* inner) { ++static_cast<Context*>(inner)->runs; }, data);
      c->stream.synchronize();
    }
  };
  stream.defer(again, &context);
  stream.synchronize();
  stream.synchronize();
  EXPECT_EQ(context.runs, 2);
}

TEST_F(DeferredReleaseTest, WhatAReleaseThrowsIsToldLater) {
  const Stream stream = device().default_stream();
  stream.defer([](void*) { throw ValueError("while releasing"); }, nullptr);
  push(stream);
  EXPECT_THROW(stream.synchronize(), ValueError);
  EXPECT_EQ(order, numbers(1));
}

TEST_F(DeferredReleaseTest, AFailedWaitKeepsTheEntries) {
  const Stream stream = device().default_stream();
  push(stream, 3);
  fake.fail(Call::wait_stream);
  EXPECT_THROW(stream.synchronize(), DriverError);
  EXPECT_TRUE(order.empty());
  stream.synchronize();
  EXPECT_EQ(order, numbers(3));
}

TEST_F(DeferredReleaseTest, AFailedRecordKeepsTheEntriesAndTellsLater) {
  const Stream stream = device().default_stream();
  for (const Call call : {Call::create_event, Call::record_event}) {
    order.clear();
    items.clear();
    fake.reset_counts();
    fake.fail(call);
    push(stream, 32);
    EXPECT_TRUE(order.empty());
    push(stream, 31);
    EXPECT_LE(fake.count(Call::create_event) + fake.count(Call::record_event), 2);
    push(stream, 1);  // tried again
    fake.finish_all();
    stream.deferred().poll();
    EXPECT_EQ(order, numbers(64));
    EXPECT_THROW(stream.synchronize(), DriverError);
    stream.synchronize();
  }
}

TEST_F(DeferredReleaseTest, AFailedQueryIsNotFinished) {
  const Stream stream = device().default_stream();
  fake.fail(Call::query_event, 1);
  push(stream, 32);
  fake.finish_all();
  EXPECT_TRUE(order.empty());
  fake.fail(Call::query_event, 1);
  stream.deferred().poll();
  EXPECT_TRUE(order.empty());
  stream.deferred().poll();
  EXPECT_EQ(order, numbers(32));
  EXPECT_THROW(stream.synchronize(), DriverError);
}

TEST_F(DeferredReleaseTest, TheEndReleasesWhatIsLeft) {
  push(device().default_stream(), 40);
  push(device().pool_stream(), 3);
  accelerator = std::make_unique<Accelerator>(fake);
  EXPECT_EQ(order, numbers(43));
  EXPECT_EQ(fake.leaks(), std::vector<std::string>());
}

class DeferredCaptureTest : public DeferredReleaseTest {
 protected:
  DeferredCaptureTest() : DeferredReleaseTest({.graph_capture = true}) {}
};

TEST_F(DeferredCaptureTest, NoEventGoesIntoAGraph) {
  const Stream stream = device().pool_stream();
  fake.begin(0, stream.handle(), driver::CaptureMode::kGlobal);
  push(stream, 100);
  EXPECT_EQ(fake.count(Call::record_event), 0);
  fake.destroy(fake.end(0, stream.handle()));
  EXPECT_TRUE(order.empty());
  push(stream, 100);
  EXPECT_GT(fake.count(Call::record_event), 0);
  stream.synchronize();
  EXPECT_EQ(order, numbers(200));
}

}  // namespace
}  // namespace mindtorch::test
