#include "tests/simulator/runtime/support.h"

namespace {

class Capture : public Simulator {
 protected:
  void SetUp() override {
    Simulator::SetUp();
    stream = make_stream();
    other = make_stream();
    memory = static_cast<char*>(device_memory(64));
    EXPECT_EQ(aclrtMemset(memory, 64, 0, 64), ACL_SUCCESS);
    EXPECT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(other), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
    Simulator::TearDown();
  }
  aclmdlRICaptureStatus status() {
    aclmdlRICaptureStatus result;
    EXPECT_EQ(aclmdlRICaptureGetInfo(stream, &result, nullptr), ACL_SUCCESS);
    return result;
  }
  aclError end() { return aclmdlRICaptureEnd(stream, &model); }

  aclrtStream stream = nullptr;
  aclrtStream other = nullptr;
  char* memory = nullptr;
  aclrtEvent event = nullptr;
  aclmdlRI model = nullptr;
};

constexpr auto kGlobal = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
constexpr auto kRelaxed = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;

TEST_F(Capture, StoresAndReplays) {
  EXPECT_EQ(end(), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
  EXPECT_EQ(status(), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  EXPECT_EQ(status(), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(aclmdlRICaptureBegin(stream, kGlobal), ACL_ERROR_RT_STREAM_CAPTURED);
  OK(aclrtMemsetAsync(memory, 64, 1, 64, stream));
  OK(aclrtMemsetAsync(memory, 32, 2, 32, stream));
  OK(end());
  EXPECT_EQ(memory[0], 0);
  for (aclrtStream where : {other, stream}) {
    OK(aclrtMemset(memory, 64, 0, 64));
    OK(aclmdlRIExecuteAsync(model, where));
    OK(aclrtSynchronizeStream(where));
    EXPECT_EQ(memory[0], 2);
    EXPECT_EQ(memory[63], 1);
  }
  OK(aclmdlRIExecute(model, -1));
  OK(aclmdlRIDestroy(model));
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclmdlRIExecuteAsync(model, stream), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclmdlRICaptureBegin(nullptr, kGlobal), ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
}

TEST_F(Capture, DestroyedModelsFinishTheirReplay) {
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  OK(aclrtMemsetAsync(memory, 64, 3, 64, stream));
  OK(end());
  OK(mtsim_hang_stream(id_of(stream)));
  OK(aclmdlRIExecuteAsync(model, stream));
  OK(aclmdlRIDestroy(model));
  mtsim_release_stream(-1);
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(memory[0], 3);
}

TEST_F(Capture, OtherStreamsJoinByEvents) {
  aclrtEvent back = nullptr;
  OK(aclrtCreateEventExWithFlag(&back, ACL_EVENT_SYNC));
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  OK(aclrtMemsetAsync(memory, 64, 1, 64, stream));
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtStreamWaitEvent(other, event));
  OK(aclrtMemsetAsync(memory, 64, 2, 64, other));
  OK(aclrtRecordEvent(back, other));
  OK(aclrtStreamWaitEvent(stream, back));
  aclmdlRI unused = nullptr;
  EXPECT_EQ(aclmdlRICaptureEnd(other, &unused), 107036);
  OK(end());
  OK(aclmdlRIExecuteAsync(model, stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(memory[0], 2);
  OK(aclmdlRIDestroy(model));

  OK(aclmdlRICaptureBegin(stream, kGlobal));
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtStreamWaitEvent(other, event));
  OK(aclrtMemsetAsync(memory, 64, 2, 64, other));
  EXPECT_EQ(end(), ACL_ERROR_RT_STREAM_UNJOINED);
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(status(), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  OK(aclrtDestroyEvent(back));
}

TEST_F(Capture, ExternalEventsAreRecordedAndWaitedForByReplays) {
  aclrtEvent before = nullptr;
  aclrtEvent after = nullptr;
  OK(aclrtCreateEventWithFlag(&before, ACL_EVENT_SYNC | ACL_EVENT_EXTERNAL));
  OK(aclrtCreateEventExWithFlag(&after, ACL_EVENT_SYNC | ACL_EVENT_EXTERNAL));
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  OK(aclrtStreamWaitEvent(stream, before));
  OK(aclrtMemsetAsync(memory, 64, 3, 64, stream));
  OK(aclrtRecordEvent(after, stream));
  OK(end());
  aclrtEventRecordedStatus state = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  OK(aclrtQueryEventStatus(after, &state));
  EXPECT_EQ(state, ACL_EVENT_RECORDED_STATUS_COMPLETE) << "never recorded yet";

  OK(aclmdlRIExecuteAsync(model, stream));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  OK(aclrtQueryEventStatus(after, &state));
  EXPECT_EQ(state, ACL_EVENT_RECORDED_STATUS_NOT_READY) << "the replay waits";
  EXPECT_EQ(memory[0], 0);
  OK(aclrtRecordEvent(before, other));
  OK(aclrtSynchronizeEvent(after));
  EXPECT_EQ(memory[0], 3);
  OK(aclrtSynchronizeStream(stream));
  OK(aclmdlRIDestroy(model));
  OK(aclrtDestroyEvent(before));
  OK(aclrtDestroyEvent(after));
}

TEST_F(Capture, CertainCallsSpoilIt) {
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_CAPTURED);
  EXPECT_EQ(status(), ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(aclrtMemsetAsync(memory, 64, 2, 64, stream), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(end(), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);

  OK(aclmdlRICaptureBegin(stream, kGlobal));
  OK(aclrtRecordEvent(event, stream));
  aclrtEventRecordedStatus recorded;
  EXPECT_EQ(aclrtQueryEventStatus(event, &recorded), ACL_ERROR_RT_EVENT_CAPTURED);
  EXPECT_EQ(end(), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);

  OK(aclrtRecordEvent(event, other));
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  EXPECT_EQ(aclrtStreamWaitEvent(stream, event), ACL_ERROR_RT_CAPTURE_DEPENDENCY);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_ERROR_RT_STREAM_CAPTURED);
  EXPECT_EQ(end(), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Capture, EventsThatItRefusedStayAsTheyWere) {
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_CAPTURED);  // spoils it
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(end(), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  OK(aclrtStreamWaitEvent(other, event));  // never recorded: nothing to wait for
  OK(aclrtSynchronizeStreamWithTimeout(other, 5000));
}

TEST_F(Capture, EndsWithTheContextOfItsStream) {
  aclrtContext before = nullptr;
  aclrtContext own = nullptr;
  OK(aclrtGetCurrentContext(&before));
  OK(aclrtCreateContext(&own, 0));
  OK(aclmdlRICaptureBegin(make_stream(), kGlobal));
  OK(aclrtSetCurrentContext(before));
  EXPECT_EQ(aclrtMemset(memory, 64, 0, 64), ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
  OK(aclrtDestroyContext(own));
  OK(aclrtMemset(memory, 64, 4, 64));
  EXPECT_EQ(memory[0], 4);
}

TEST_F(Capture, ModesSayWhatElseIsAllowed) {
  char local[64] = {};
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  const auto rejected = ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT;
  EXPECT_EQ(aclrtMemset(memory, 64, 0, 64), rejected);
  EXPECT_EQ(aclrtMemcpy(local, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST), rejected);
  EXPECT_EQ(aclrtMemcpyAsync(local, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream), rejected);
  EXPECT_EQ(aclrtMemcpyAsync(local, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST, other), rejected);
  std::thread([&] {
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemset(memory, 64, 0, 64), rejected);
    aclmdlRICaptureMode mode = kRelaxed;
    EXPECT_EQ(aclmdlRICaptureThreadExchangeMode(&mode), ACL_SUCCESS);
    EXPECT_EQ(mode, kGlobal);
    EXPECT_EQ(aclrtMemset(memory, 64, 0, 64), ACL_SUCCESS);
    aclmdlRI unused = nullptr;
    EXPECT_EQ(aclmdlRICaptureEnd(stream, &unused), 107038);
  }).join();
  OK(end());
  OK(aclmdlRIDestroy(model));

  OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  std::thread([&] {
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemset(memory, 64, 0, 64), ACL_SUCCESS);
  }).join();
  EXPECT_EQ(aclrtMemset(memory, 64, 0, 64), rejected);
  OK(end());
  OK(aclmdlRIDestroy(model));

  OK(aclmdlRICaptureBegin(stream, kRelaxed));
  OK(aclrtMemset(memory, 64, 0, 64));
  std::thread([&] {
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclmdlRICaptureEnd(stream, &model), ACL_SUCCESS);
  }).join();
  OK(aclmdlRIDestroy(model));
}

}  // namespace
