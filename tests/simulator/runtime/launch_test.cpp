// Launches of ops, with and without checks: the same queue, the same order, the same errors.
#include "tests/simulator/runtime/sum.h"

namespace {

// Each test twice: with all checks, and with none, where launches are bare.
class Launches : public Simulator, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    Simulator::SetUp();
    ASSERT_EQ(mtsim_set("checks", GetParam()), 0);
  }
};

INSTANTIATE_TEST_SUITE_P(Checks, Launches, testing::Values("all", "none"));

TEST_P(Launches, RunInOrderAndTakeNewAddresses) {
  const aclrtStream stream = make_stream();
  {
    Sum sum;
    sum.write(0, all(1));
    sum.write(1, all(1));
    // Fibonacci, the three buffers taking turns.
    for (size_t i = 0; i < 12; ++i) {
      OK(sum.launch(i % 3, (i + 1) % 3, (i + 2) % 3, stream));
    }
    OK(aclrtSynchronizeStream(stream));
    EXPECT_EQ(sum.read(1), all(377));
  }
  OK(aclrtDestroyStream(stream));
}

TEST_P(Launches, MoreThanAnyQueueHeldBefore) {
  const aclrtStream stream = make_stream();
  {
    Sum sum;
    sum.write(1, all(1));
    ASSERT_EQ(mtsim_hang_stream(id_of(stream)), 0);
    for (int i = 0; i < 1000; ++i) OK(sum.launch(0, 1, 0, stream));
    EXPECT_FALSE(is_idle(stream));
    EXPECT_EQ(sum.read(0), all(0)) << "the stream was to hang";
    take_reports();  // this read has not waited
    mtsim_release_stream(-1);
    OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(is_idle(stream));
    EXPECT_EQ(sum.read(0), all(1000));
  }
  OK(aclrtDestroyStream(stream));
}

TEST_P(Launches, KeepTheirPlaceAmongEventsAndCopies) {
  const aclrtStream first = make_stream();
  const aclrtStream second = make_stream();
  {
    Sum sum;
    sum.write(1, all(1));
    aclrtEvent event = nullptr;
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    for (int i = 0; i < 100; ++i) {
      for (const aclrtStream stream : {first, second}) {
        OK(sum.launch(0, 1, 0, stream));
        OK(aclrtRecordEvent(event, stream));
        OK(aclrtStreamWaitEvent(stream == first ? second : first, event));
      }
    }
    OK(aclrtSynchronizeStream(second));
    EXPECT_EQ(sum.read(0), all(200));
    OK(aclrtSynchronizeStream(first));
    OK(aclrtDestroyEvent(event));
  }
  OK(aclrtDestroyStream(first));
  OK(aclrtDestroyStream(second));
}

TEST_P(Launches, StopAtAnAbort) {
  const aclrtStream stream = make_stream();
  {
    Sum sum;
    sum.write(1, all(1));
    ASSERT_EQ(mtsim_hang_stream(id_of(stream)), 0);
    for (int i = 0; i < 10; ++i) OK(sum.launch(0, 1, 0, stream));
    OK(aclrtStreamAbort(stream));
    mtsim_release_stream(-1);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_ABORT);
    EXPECT_EQ(sum.read(0), all(0));
    OK(sum.launch(0, 1, 0, stream));
    OK(aclrtSynchronizeStream(stream));
    EXPECT_EQ(sum.read(0), all(1));
  }
  OK(aclrtDestroyStream(stream));
}

TEST_P(Launches, OnDestroyedStreamsAreFound) {
  const aclrtStream stream = make_stream();
  Sum sum;
  OK(sum.launch(0, 1, 2, stream));
  OK(aclrtDestroyStream(stream));
  EXPECT_EQ(sum.launch(0, 1, 2, stream), 361001);
  EXPECT_NE(take_message().find("the stream was destroyed"), std::string::npos);
}

TEST_P(Launches, OfAnotherContextAreRefused) {
  Sum sum;
  const aclrtStream stream = make_stream();
  OK(sum.launch(0, 1, 2, stream));
  OK(aclrtSynchronizeStream(stream));
  aclrtContext before = nullptr;
  OK(aclrtGetCurrentContext(&before));
  aclrtContext other = nullptr;
  OK(aclrtCreateContext(&other, 1));
  EXPECT_EQ(sum.launch(0, 1, 2, stream), 361001);
  EXPECT_NE(take_message().find("belongs to another context"), std::string::npos);
  OK(aclrtDestroyContext(other));
  OK(aclrtSetCurrentContext(before));
  OK(sum.launch(0, 1, 2, stream));
  OK(aclrtDestroyStream(stream));
}

TEST_P(Launches, AreCapturedAndReplayed) {
  const aclrtStream stream = make_stream();
  {
    Sum sum;
    sum.write(1, all(1));
    OK(sum.launch(0, 1, 0, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
    OK(sum.launch(0, 1, 0, stream));
    OK(sum.launch(0, 1, 0, stream));
    aclmdlRI model = nullptr;
    OK(aclmdlRICaptureEnd(stream, &model));
    EXPECT_EQ(sum.read(0), all(1)) << "captured ops must not run";
    for (int i = 0; i < 5; ++i) OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtSynchronizeStream(stream));
    EXPECT_EQ(sum.read(0), all(11));
    OK(aclmdlRIDestroy(model));
  }
  OK(aclrtDestroyStream(stream));
}

TEST_P(Launches, OfAModelAreQueuedOneByOneOnlyWhereSomebodyLooks) {
  const aclrtStream stream = make_stream();
  {
    Sum sum;
    sum.write(1, all(1));
    const aclmdlRI model = sum.capture(3, stream);
    uint32_t before = 0;
    uint32_t after = 0;
    OK(sum.launch(0, 1, 0, stream));
    OK(aclrtGetThreadLastTaskId(&before));
    for (int i = 0; i < 4; ++i) OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtGetThreadLastTaskId(&after));
    EXPECT_EQ(after - before, std::string(GetParam()) == "none" ? 4U : 12U);
    OK(aclmdlRIDestroy(model));  // what was queued runs all the same
    OK(aclrtSynchronizeStream(stream));
    EXPECT_EQ(sum.read(0), all(13));
  }
  OK(aclrtDestroyStream(stream));
}

TEST_P(Launches, OfAModelStopAtAnAbort) {
  const aclrtStream stream = make_stream();
  {
    Sum sum;
    sum.write(1, all(1));
    const aclmdlRI model = sum.capture(3, stream);
    ASSERT_EQ(mtsim_hang_stream(id_of(stream)), 0);
    for (int i = 0; i < 4; ++i) OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtStreamAbort(stream));
    mtsim_release_stream(-1);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_ABORT);
    EXPECT_EQ(sum.read(0), all(0));
    OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtSynchronizeStream(stream));
    EXPECT_EQ(sum.read(0), all(3));
    OK(aclmdlRIDestroy(model));
  }
  OK(aclrtDestroyStream(stream));
}

TEST_P(Launches, OfOneExecutorTwiceUnlessRepeatable) {
  Sum sum;
  const aclrtStream stream = make_stream();
  OK(sum.launch(0, 1, 2, stream));
  OK(sum.launch(0, 1, 2, stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtDestroyStream(stream));

  float zero = 0;
  const int64_t size = 1;
  void* data = device_memory(4);
  OK(aclrtMemset(data, 4, 0, 4));
  aclTensor* tensor =
      aclCreateTensor(&size, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &size, 1, data);
  aclScalar* scalar = aclCreateScalar(&zero, ACL_FLOAT);
  uint64_t workspace = 0;
  aclOpExecutor* once = nullptr;
  OK(aclnnAddsGetWorkspaceSize(tensor, scalar, scalar, tensor, &workspace, &once));
  OK(aclnnAdds(nullptr, 0, once, nullptr));
  EXPECT_EQ(aclnnAdds(nullptr, 0, once, nullptr), 161002);
  EXPECT_NE(take_message().find("used up"), std::string::npos);
  OK(aclrtSynchronizeStream(nullptr));
  aclDestroyTensor(tensor);
  aclDestroyScalar(scalar);
  OK(aclrtFree(data));
}

TEST_P(Launches, ComputeNothingWhenToldTo) {
  const aclrtStream stream = make_stream();
  {
    Sum sum;
    sum.write(1, all(1));
    ASSERT_EQ(mtsim_set("compute", "0"), 0);
    OK(sum.launch(0, 1, 0, stream));
    OK(aclrtSynchronizeStream(stream));
    EXPECT_EQ(sum.read(0), all(0));
    ASSERT_EQ(mtsim_set("compute", "1"), 0);
    OK(sum.launch(0, 1, 0, stream));
    OK(aclrtSynchronizeStream(stream));
    EXPECT_EQ(sum.read(0), all(1));
  }
  OK(aclrtDestroyStream(stream));
}

TEST_P(Launches, FromManyThreadsOnOneStream) {
  const aclrtStream stream = make_stream();
  {
    Sum total;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
        Sum own;
        own.write(1, all(1));
        for (int k = 0; k < 200; ++k) ASSERT_EQ(own.launch(0, 1, 0, stream), ACL_SUCCESS);
        ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
        EXPECT_EQ(own.read(0), all(200));
        EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  OK(aclrtDestroyStream(stream));
}

TEST_F(Simulator, ChecksTurnedOnLaterSeeTheLaunchesAfter) {
  ASSERT_EQ(mtsim_set("checks", "none"), 0);
  ASSERT_EQ(mtsim_set("compute", "0"), 0);  // the race here is meant
  const aclrtStream stream = make_stream();
  Sum sum;
  ASSERT_EQ(mtsim_hang_stream(id_of(stream)), 0);
  OK(sum.launch(0, 1, 2, stream));
  ASSERT_EQ(mtsim_set("checks", "all"), 0);
  mtsim_release_stream(-1);
  OK(sum.launch(0, 1, 2, stream));
  const aclrtStream other = make_stream();
  OK(sum.launch(0, 1, 2, other));
  OK(aclrtSynchronizeDevice());
  EXPECT_NE(take_reports().find("in no order"), std::string::npos);
  OK(aclrtDestroyStream(stream));
  OK(aclrtDestroyStream(other));
}

TEST_F(Simulator, AFaultOfATaskIsMetWithoutChecks) {
  ASSERT_EQ(mtsim_set("checks", "none"), 0);
  const aclrtStream stream = make_stream();
  Sum sum;
  ASSERT_EQ(mtsim_hang_stream(id_of(stream)), 0);
  OK(sum.launch(0, 1, 2, stream));  // queued before the fault is set, met all the same
  ASSERT_EQ(mtsim_add_faults("task:aclnnAdd:1:507015"), 0);
  mtsim_release_stream(-1);
  EXPECT_EQ(aclrtSynchronizeStream(stream), 507015);
  EXPECT_NE(take_message().find("aclnnAdd failed"), std::string::npos);
  mtsim_clear_faults();
  OK(sum.launch(0, 1, 2, stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtDestroyStream(stream));
}

TEST_F(Simulator, AFaultOfACapturedTaskIsMetWithoutChecks) {
  ASSERT_EQ(mtsim_set("checks", "none"), 0);
  const aclrtStream stream = make_stream();
  {
    Sum sum;
    sum.write(1, all(1));
    const aclmdlRI model = sum.capture(3, stream);
    ASSERT_EQ(mtsim_hang_stream(id_of(stream)), 0);
    OK(aclmdlRIExecuteAsync(model, stream));  // queued before the fault is set
    ASSERT_EQ(mtsim_add_faults("task:aclnnAdd:2:507015"), 0);
    mtsim_release_stream(-1);
    EXPECT_EQ(aclrtSynchronizeStream(stream), 507015);
    EXPECT_NE(take_message().find("aclnnAdd failed"), std::string::npos);
    EXPECT_EQ(sum.read(0), all(2)) << "the tasks beside it run";
    mtsim_clear_faults();
    OK(aclmdlRIDestroy(model));
  }
  OK(aclrtDestroyStream(stream));
}

}  // namespace
