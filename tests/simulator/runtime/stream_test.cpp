#include <pthread.h>

#include <atomic>
#include <cstring>

#include "tests/simulator/runtime/support.h"

namespace {

using Streams = Simulator;

void count_up(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

void sleep_a_little(void*) { sleep_ms(30); }

TEST_F(Streams, RunInOrderAndByThemselves) {
  aclrtStream stream = make_stream();
  auto* device = static_cast<char*>(device_memory(4096));
  auto* host = static_cast<char*>(pinned_memory(4096));
  OK(aclrtLaunchHostFunc(stream, sleep_a_little, nullptr));
  for (int value = 0; value < 10; ++value) OK(aclrtMemsetAsync(device, 4096, value, 4096, stream));
  OK(aclrtMemcpyAsync(host, 4096, device, 4096, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  EXPECT_FALSE(is_idle(stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_TRUE(is_idle(stream));
  EXPECT_EQ(host[0], 9);
  EXPECT_EQ(host[4095], 9);
  OK(aclrtFree(device));
  OK(aclrtFreeHost(host));
  OK(aclrtDestroyStream(stream));
}

TEST_F(Streams, NullIsTheContextsDefaultStream) {
  aclrtStream stream = nullptr;
  OK(aclrtCtxGetCurrentDefaultStream(&stream));
  std::atomic<int> counter{0};
  OK(aclrtLaunchHostFunc(nullptr, count_up, &counter));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter, 1);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtDestroyStream(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(id_of(nullptr), id_of(stream));
}

TEST_F(Streams, HavePriorities) {
  int32_t least = -1;
  int32_t greatest = -1;
  OK(aclrtDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 7);
  EXPECT_EQ(greatest, 0);
  aclrtStream stream = nullptr;
  OK(aclrtCreateStreamWithConfig(&stream, 100, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
  uint32_t priority = 0;
  OK(aclrtStreamGetPriority(stream, &priority));
  EXPECT_EQ(priority, 7U);
  OK(aclrtDestroyStream(stream));

  aclrtStreamConfigHandle* config = aclrtCreateStreamConfigHandle();
  const uint32_t wanted = 3;
  OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &wanted, sizeof wanted));
  OK(aclrtCreateStreamV2(&stream, config));
  OK(aclrtStreamGetPriority(stream, &priority));
  EXPECT_EQ(priority, 3U);
  OK(aclrtDestroyStreamConfigHandle(config));
  OK(aclrtDestroyStream(stream));
}

// One compute unit, held by a stream that hangs while both others get their work.
TEST_F(Streams, OfHigherPriorityGoFirstWhereUnitsAreFew) {
  constexpr int kTasks = 50;
  OK(mtsim_set("units", "1"));
  OK(mtsim_set("latency", "200"));
  OK(mtsim_set("log", "1000"));
  aclrtStream low = nullptr;
  aclrtStream high = nullptr;
  OK(aclrtCreateStreamWithConfig(&low, 7, 0));
  OK(aclrtCreateStreamWithConfig(&high, 0, 0));
  const aclrtStream holder = make_stream();
  void* memory[3] = {device_memory(64), device_memory(64), device_memory(64)};
  OK(mtsim_hang_stream(id_of(holder)));
  OK(aclrtMemsetAsync(memory[0], 64, 1, 64, holder));
  aclrtUtilizationInfo use{};
  while (use.cubeUtilization != 100) OK(aclrtGetDeviceUtilizationRate(0, &use));
  for (int i = 0; i < kTasks; ++i) OK(aclrtMemsetAsync(memory[1], 64, 1, 64, low));
  for (int i = 0; i < kTasks; ++i) OK(aclrtMemsetAsync(memory[2], 64, 1, 64, high));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(high, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  mtsim_release_stream(-1);
  OK(aclrtSynchronizeDevice());

  char* calls = mtsim_calls();
  const std::string log = calls;
  mtsim_free(calls);
  const auto last_of = [&](aclrtStream stream) {
    return log.rfind("\"device\": 0, \"stream\": " + std::to_string(id_of(stream)) + ",");
  };
  const auto first_low = log.find("\"device\": 0, \"stream\": " + std::to_string(id_of(low)) + ",");
  EXPECT_LT(last_of(high), last_of(low));
  EXPECT_LT(last_of(high), first_low) << "both waited for the unit, and the low one got it first";
  for (void* pointer : memory) OK(aclrtFree(pointer));
  for (const aclrtStream stream : {low, high, holder}) OK(aclrtDestroyStream(stream));
}

TEST_F(Streams, DestroyedByForceGiveUpWaitingForAUnit) {
  OK(mtsim_set("units", "1"));
  const aclrtStream holder = make_stream();
  const aclrtStream stream = make_stream();
  void* memory = device_memory(64);
  void* more = device_memory(64);
  OK(mtsim_hang_stream(id_of(holder)));
  OK(aclrtMemsetAsync(memory, 64, 1, 64, holder));
  aclrtUtilizationInfo use{};
  while (use.cubeUtilization != 100) OK(aclrtGetDeviceUtilizationRate(0, &use));
  OK(aclrtMemsetAsync(more, 64, 1, 64, stream));
  OK(aclrtDestroyStreamForce(stream));
  mtsim_release_stream(-1);
  OK(aclrtSynchronizeDevice());
  OK(aclrtDestroyStream(holder));
  OK(aclrtFree(memory));
  OK(aclrtFree(more));
}

TEST_F(Streams, AreLimited) {
  std::vector<aclrtStream> streams;
  aclrtStream stream = nullptr;
  while (aclrtCreateStream(&stream) == ACL_SUCCESS) streams.push_back(stream);
  EXPECT_EQ(aclrtCreateStream(&stream), ACL_ERROR_RT_NO_STREAM_RESOURCE);
  EXPECT_EQ(streams.size(), 1983U);  // and the default one
  uint32_t left = 9;
  OK(aclrtGetStreamAvailableNum(&left));
  EXPECT_EQ(left, 0U);
  for (aclrtStream each : streams) OK(aclrtDestroyStream(each));
}

TEST_F(Streams, SynchroniseWithATimeOut) {
  aclrtStream stream = make_stream();
  OK(mtsim_hang_stream(id_of(stream)));
  std::atomic<int> counter{0};
  OK(aclrtLaunchHostFunc(stream, count_up, &counter));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, -2), ACL_ERROR_RT_PARAM_INVALID);
  mtsim_release_stream(id_of(stream));
  OK(aclrtSynchronizeStreamWithTimeout(stream, -1));
  EXPECT_EQ(counter, 1);
  OK(aclrtDestroyStream(stream));
}

TEST_F(Streams, DestroyWaitsAndForceDoesNot) {
  std::atomic<int> counter{0};
  aclrtStream stream = make_stream();
  OK(aclrtLaunchHostFunc(stream, sleep_a_little, nullptr));
  OK(aclrtLaunchHostFunc(stream, count_up, &counter));
  OK(aclrtDestroyStream(stream));
  EXPECT_EQ(counter, 1);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_NE(take_message().find("destroyed"), std::string::npos);

  stream = make_stream();
  OK(mtsim_hang_stream(id_of(stream)));
  OK(aclrtLaunchHostFunc(stream, count_up, &counter));
  OK(aclrtLaunchHostFunc(stream, count_up, &counter));
  OK(aclrtDestroyStreamForce(stream));
  sleep_ms(20);
  EXPECT_EQ(counter, 1);
}

TEST_F(Streams, AbortDropsWhatHasNotRun) {
  std::atomic<int> counter{0};
  aclrtStream stream = make_stream();
  OK(mtsim_hang_stream(id_of(stream)));
  for (int i = 0; i < 5; ++i) OK(aclrtLaunchHostFunc(stream, count_up, &counter));
  OK(aclrtStreamAbort(stream));
  mtsim_release_stream(id_of(stream));
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_ABORT);
  EXPECT_EQ(counter, 0);
  OK(aclrtLaunchHostFunc(stream, count_up, &counter));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter, 1);
  OK(aclrtDestroyStream(stream));
}

TEST_F(Streams, ResetDeviceWaits) {
  std::atomic<int> counter{0};
  aclrtStream stream = make_stream();
  OK(aclrtLaunchHostFunc(stream, sleep_a_little, nullptr));
  OK(aclrtLaunchHostFunc(stream, count_up, &counter));
  OK(aclrtResetDevice(0));
  EXPECT_EQ(counter, 1);
}

TEST_F(Streams, ContinueOrStopOnFailure) {
  std::atomic<int> counter{0};
  OK(mtsim_add_faults("task:aclrtLaunchHostFunc:1:507015"));
  aclrtStream stream = make_stream();
  OK(aclrtLaunchHostFunc(stream, count_up, &counter));
  OK(aclrtLaunchHostFunc(stream, count_up, &counter));
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_NE(take_message().find("aclrtLaunchHostFunc failed on device 0"), std::string::npos);
  EXPECT_EQ(counter, 1);
  OK(aclrtSynchronizeStream(stream));

  OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
  EXPECT_EQ(aclrtSetStreamFailureMode(stream, ACL_CONTINUE_ON_FAILURE), ACL_ERROR_RT_PARAM_INVALID);
  mtsim_clear_faults();
  OK(mtsim_add_faults("task:aclrtLaunchHostFunc:1:507015"));
  OK(mtsim_hang_stream(id_of(stream)));
  OK(aclrtLaunchHostFunc(stream, count_up, &counter));
  OK(aclrtLaunchHostFunc(stream, count_up, &counter));
  mtsim_release_stream(id_of(stream));
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(counter, 1);
  EXPECT_EQ(aclrtLaunchHostFunc(nullptr, count_up, &counter), ACL_ERROR_RT_AICORE_EXCEPTION);
  OK(aclrtDestroyStream(stream));
}

TEST_F(Streams, EventsThatAStoppedContextRefusedStayAsTheyWere) {
  aclrtStream stream = make_stream();
  aclrtEvent event = nullptr;
  OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
  OK(mtsim_add_faults("task:aclrtMemsetAsync:1:507015"));
  void* memory = device_memory(64);
  OK(aclrtMemsetAsync(memory, 64, 0, 64, stream));
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_NE(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  OK(aclrtSynchronizeEventWithTimeout(event, 5000));  // never recorded: nothing to wait for
  OK(aclrtDestroyEvent(event));
  OK(aclrtDestroyStream(stream));
  OK(aclrtFree(memory));
}

TEST_F(Streams, TellExceptions) {
  static std::atomic<uint32_t> code{0};
  code = 0;
  OK(aclrtSetExceptionInfoCallback(
      [](aclrtExceptionInfo* info) { code = aclrtGetErrorCodeFromExceptionInfo(info); }));
  OK(mtsim_add_faults("task:*:1:507018"));
  OK(aclrtLaunchHostFunc(nullptr, sleep_a_little, nullptr));
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_AICPU_EXCEPTION);
  for (int i = 0; i < 100 && !code; ++i) sleep_ms(2);
  EXPECT_EQ(code, 507018U);
}

TEST_F(Streams, CallbacksRunOnTheSubscribedThread) {
  aclrtStream stream = make_stream();
  static std::atomic<uint64_t> ran_on{0};
  const auto callback = [](void*) { ran_on = static_cast<uint64_t>(pthread_self()); };
  EXPECT_EQ(aclrtLaunchCallback(callback, nullptr, ACL_CALLBACK_BLOCK, stream),
            ACL_ERROR_RT_STREAM_NO_CB_REG);
  EXPECT_EQ(aclrtProcessReport(10), ACL_ERROR_RT_THREAD_SUBSCRIBE);

  std::atomic<bool> stop{false};
  std::atomic<int> timeouts{0};
  std::thread worker([&] {
    while (!stop) {
      if (aclrtProcessReport(5) == ACL_ERROR_RT_REPORT_TIMEOUT) ++timeouts;
    }
    EXPECT_EQ(aclrtProcessReport(0), ACL_ERROR_INVALID_PARAM);
  });
  const auto id = static_cast<uint64_t>(worker.native_handle());
  OK(aclrtSubscribeReport(id, stream));
  EXPECT_EQ(aclrtSubscribeReport(id, stream), ACL_ERROR_RT_STREAM_SUBSCRIBE);
  OK(aclrtLaunchCallback(callback, nullptr, ACL_CALLBACK_BLOCK, stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(ran_on, id);
  ran_on = 0;
  OK(aclrtLaunchCallback(callback, nullptr, ACL_CALLBACK_NO_BLOCK, stream));
  for (int i = 0; i < 500 && !ran_on; ++i) sleep_ms(2);
  EXPECT_EQ(ran_on, id);
  for (int i = 0; i < 500 && !timeouts; ++i) sleep_ms(2);
  EXPECT_GT(timeouts, 0);
  OK(aclrtUnSubscribeReport(id, stream));
  EXPECT_EQ(aclrtUnSubscribeReport(id, stream), ACL_ERROR_RT_THREAD_SUBSCRIBE);
  stop = true;
  worker.join();
  OK(aclrtDestroyStream(stream));
}

TEST_F(Streams, HostFunctionsRunOnTheSubscribedThread) {
  const aclrtStream stream = make_stream();
  static std::atomic<uint64_t> ran_on{0};
  ran_on = 0;
  EXPECT_EQ(aclrtProcessHostFunc(10), ACL_ERROR_RT_THREAD_SUBSCRIBE);
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop) aclrtProcessHostFunc(5);
  });
  const auto id = static_cast<uint64_t>(worker.native_handle());
  OK(aclrtSubscribeHostFunc(id, stream));
  OK(aclrtLaunchCallback([](void*) { ran_on = static_cast<uint64_t>(pthread_self()); }, nullptr,
                         ACL_CALLBACK_BLOCK, stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(ran_on, id);
  OK(aclrtUnSubscribeHostFunc(id, stream));
  stop = true;
  worker.join();
  OK(aclrtDestroyStream(stream));
}

}  // namespace
