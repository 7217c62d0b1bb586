#include <atomic>

#include "tests/simulator/runtime/support.h"

namespace {

class Events : public Simulator {
 protected:
  void SetUp() override {
    Simulator::SetUp();
    stream = make_stream();
    other = make_stream();
  }
  void TearDown() override {
    mtsim_release_stream(-1);
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(other), ACL_SUCCESS);
    Simulator::TearDown();
  }
  static aclrtEvent ex(uint32_t flags) {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEventExWithFlag(&event, flags), ACL_SUCCESS);
    return event;
  }
  static aclrtEvent flagged(uint32_t flags) {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEventWithFlag(&event, flags), ACL_SUCCESS);
    return event;
  }
  static aclrtEvent plain() {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
    return event;
  }
  static int recorded(aclrtEvent event) {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    EXPECT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS);
    return status;
  }

  aclrtStream stream = nullptr;
  aclrtStream other = nullptr;
};

constexpr uint32_t kTiming = ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE;

TEST_F(Events, ProgramsLearnThatEventsBetweenProcessesAreNotThere) {
  constexpr uint32_t kBetweenProcesses = 0x40;  // ACL_EVENT_IPC
  aclrtEvent event = nullptr;
  EXPECT_EQ(aclrtCreateEventExWithFlag(&event, kBetweenProcesses),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
}

TEST_F(Events, TwoQueriesWithOppositeCodes) {
  aclrtEvent event = plain();
  aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
  EXPECT_EQ(recorded(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  OK(aclrtQueryEvent(event, &status));
  EXPECT_EQ(status, ACL_EVENT_STATUS_NOT_READY);

  OK(mtsim_hang_stream(id_of(stream)));
  OK(aclrtLaunchHostFunc(stream, [](void*) {}, nullptr));
  OK(aclrtRecordEvent(event, stream));
  EXPECT_EQ(recorded(event), 0);
  OK(aclrtQueryEvent(event, &status));
  EXPECT_EQ(status, 1);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, 10), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  mtsim_release_stream(-1);
  OK(aclrtSynchronizeEvent(event));
  EXPECT_EQ(recorded(event), 1);
  OK(aclrtQueryEvent(event, &status));
  EXPECT_EQ(status, 0);
  OK(aclrtDestroyEvent(event));
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtRecordEvent(nullptr, stream), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Events, ExEventsHaveTheirOwnRules) {
  aclrtEvent event = ex(ACL_EVENT_SYNC);
  EXPECT_EQ(recorded(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
  aclrtEventStatus status;
  aclrtEventWaitStatus wait_status;
  EXPECT_EQ(aclrtQueryEvent(event, &status), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtQueryEventWaitStatus(event, &wait_status), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtResetEvent(event, stream), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  OK(aclrtStreamWaitEvent(stream, event));  // never recorded: no wait
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtDestroyEvent(event));

  aclrtEvent no_sync = ex(ACL_EVENT_CAPTURE_STREAM_PROGRESS);
  OK(aclrtRecordEvent(no_sync, stream));
  EXPECT_EQ(aclrtStreamWaitEvent(other, no_sync), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  OK(aclrtDestroyEvent(no_sync));
  EXPECT_EQ(aclrtCreateEventExWithFlag(&event, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtCreateEventExWithFlag(&event, 0x1000), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Events, OrderStreams) {
  aclrtEvent event = ex(ACL_EVENT_SYNC);
  auto* memory = static_cast<char*>(device_memory(64));
  OK(mtsim_hang_stream(id_of(stream)));
  OK(aclrtMemsetAsync(memory, 64, 1, 64, stream));
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtStreamWaitEvent(other, event));
  OK(aclrtMemsetAsync(memory, 64, 2, 64, other));
  OK(aclrtRecordEvent(event, other));  // the wait keeps the earlier recording
  sleep_ms(10);
  EXPECT_FALSE(is_idle(other));
  mtsim_release_stream(-1);
  OK(aclrtSynchronizeStream(other));
  EXPECT_EQ(memory[0], 2);
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtFree(memory));
  OK(aclrtDestroyEvent(event));
}

TEST_F(Events, MayBeDestroyedWhileWaitedFor) {
  aclrtEvent event = ex(ACL_EVENT_SYNC);
  OK(mtsim_hang_stream(id_of(stream)));
  OK(aclrtLaunchHostFunc(stream, [](void*) {}, nullptr));
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtStreamWaitEvent(other, event));
  OK(aclrtDestroyEvent(event));
  mtsim_release_stream(-1);
  OK(aclrtSynchronizeStream(other));
}

TEST_F(Events, FlaggedEventsWaitForTheirRecordAndReset) {
  aclrtEvent event = flagged(ACL_EVENT_SYNC);
  OK(aclrtStreamWaitEvent(other, event));
  sleep_ms(10);
  EXPECT_FALSE(is_idle(other));
  aclrtEventWaitStatus status;
  OK(aclrtQueryEventWaitStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_NOT_READY);
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtSynchronizeStream(other));
  OK(aclrtQueryEventWaitStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_COMPLETE);
  EXPECT_EQ(recorded(event), 1);
  OK(aclrtResetEvent(event, other));
  EXPECT_EQ(recorded(event), 0);
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtSynchronizeEvent(event));
  OK(aclrtDestroyEvent(event));

  event = plain();
  EXPECT_EQ(aclrtResetEvent(event, stream), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  OK(aclrtDestroyEvent(event));
  event = flagged(ACL_EVENT_TIME_LINE);
  EXPECT_EQ(aclrtStreamWaitEvent(stream, event), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtResetEvent(event, stream), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  OK(aclrtDestroyEvent(event));
}

TEST_F(Events, MeasureTime) {
  aclrtEvent start = ex(kTiming);
  aclrtEvent end = ex(kTiming);
  aclrtEvent untimed = ex(ACL_EVENT_SYNC);
  float ms = -1;
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  OK(aclrtRecordEvent(start, stream));
  OK(aclrtLaunchHostFunc(stream, [](void*) { sleep_ms(20); }, nullptr));
  OK(aclrtRecordEvent(end, stream));
  OK(aclrtRecordEvent(untimed, stream));
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtEventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 20);
  EXPECT_LT(ms, 20000);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, end, start), ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, untimed), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  uint64_t first = 0;
  uint64_t second = 0;
  OK(aclrtEventGetTimestamp(start, &first));
  OK(aclrtEventGetTimestamp(end, &second));
  EXPECT_GE(second - first, 20000U);
  for (aclrtEvent event : {start, end, untimed}) OK(aclrtDestroyEvent(event));
}

TEST_F(Events, TellFailuresBeforeThem) {
  aclrtEvent event = ex(ACL_EVENT_SYNC);
  OK(mtsim_add_faults("task:*:1:507015"));
  OK(aclrtLaunchHostFunc(stream, [](void*) {}, nullptr));
  OK(aclrtRecordEvent(event, stream));
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  OK(aclrtDestroyEvent(event));
}

TEST_F(Events, OfHardwareAreLimited) {
  mtsim_set("soc", "Ascend310P3");
  std::vector<aclrtEvent> events;
  aclrtEvent event = nullptr;
  while (aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC) == ACL_SUCCESS) events.push_back(event);
  EXPECT_EQ(events.size(), 1023U);
  EXPECT_EQ(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC), ACL_ERROR_RT_NO_EVENT_RESOURCE);
  events.push_back(ex(ACL_EVENT_SYNC));  // these are not
  for (aclrtEvent each : events) OK(aclrtDestroyEvent(each));
}

}  // namespace
