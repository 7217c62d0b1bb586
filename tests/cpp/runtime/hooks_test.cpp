#include "mindtorch/runtime/hooks.h"

#include <gtest/gtest.h>

#include <vector>

#include "mindtorch/base/error.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::hooks;
using runtime::SyncPoint;

std::vector<SyncPoint> seen;
void note(SyncPoint point) { seen.push_back(point); }
void note_twice(SyncPoint point) {
  seen.push_back(point);
  hooks().before_sync(point);  // not called again
}
void refuse(SyncPoint) { throw ValueError("flush failed"); }
bool frees() { return true; }
bool frees_nothing() { return false; }
bool asks_again() { return hooks().on_memory_pressure(); }

class HooksTest : public RuntimeTest {
 protected:
  void SetUp() override { seen.clear(); }
  void TearDown() override {
    for (auto* hook : {note, note_twice, refuse}) hooks().before_sync.remove(hook);
    for (auto* hook : {frees, frees_nothing, asks_again}) {
      hooks().on_memory_pressure.remove(hook);
    }
    RuntimeTest::TearDown();
  }
};

TEST_F(HooksTest, EverySynchronisingCallFlushesFirst) {
  hooks().before_sync.add(note);
  hooks().before_sync.add(note);  // once
  const Stream side = device().pool_stream();
  Event event;
  event.record(side);
  event.synchronize();
  EXPECT_TRUE(side.query());
  side.synchronize();
  device().synchronize();
  side.wait_stream(device().default_stream());
  EXPECT_EQ(seen,
            (std::vector{SyncPoint::kRecordEvent, SyncPoint::kWaitEvent, SyncPoint::kQueryStream,
                         SyncPoint::kWaitStream, SyncPoint::kWaitDevice, SyncPoint::kRecordEvent}));
}

TEST_F(HooksTest, TheFlushComesBeforeTheDriver) {
  hooks().before_sync.add(refuse);
  fake.reset_counts();
  Event event;
  EXPECT_THROW(event.record(device().default_stream()), ValueError);
  EXPECT_THROW(device().default_stream().synchronize(), ValueError);
  EXPECT_THROW(device().synchronize(), ValueError);
  EXPECT_EQ(fake.count(Call::record_event), 0);
  EXPECT_EQ(fake.count(Call::wait_stream), 0);
  EXPECT_EQ(fake.count(Call::wait_device), 0);
  EXPECT_FALSE(event.recorded());
}

TEST_F(HooksTest, AHookThatSynchronisesIsNotCalledAgain) {
  hooks().before_sync.add(note_twice);
  device().synchronize();
  EXPECT_EQ(seen.size(), 1u);
  hooks().before_sync.remove(note_twice);
  device().synchronize();
  EXPECT_EQ(seen.size(), 1u);
}

TEST_F(HooksTest, PressureAsksEveryone) {
  EXPECT_FALSE(hooks().on_memory_pressure());
  hooks().on_memory_pressure.add(frees_nothing);
  EXPECT_FALSE(hooks().on_memory_pressure());
  hooks().on_memory_pressure.add(asks_again);
  EXPECT_FALSE(hooks().on_memory_pressure());
  hooks().on_memory_pressure.add(frees);
  EXPECT_TRUE(hooks().on_memory_pressure());
}

TEST_F(HooksTest, ThereIsRoomForEight) {
  struct List : runtime::CallbackList<bool()> {};
  List list;
  bool (*const many[])() = {[] { return true; },  [] { return false; }, [] { return true; },
                            [] { return false; }, [] { return true; },  [] { return false; },
                            [] { return true; },  [] { return false; }, [] { return true; }};
  for (int i = 0; i < 8; ++i) list.add(many[i]);
  EXPECT_THROW(list.add(many[8]), RuntimeError);
  list.remove(many[3]);
  list.add(many[8]);
}

}  // namespace
}  // namespace mindtorch::test
