#include <atomic>
#include <cstdlib>
#include <random>

#include "tests/simulator/runtime/sum.h"

namespace {

// With all checks, none of which may report, and with none, when launches take no lock.
class Threads : public Simulator, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    Simulator::SetUp();
    ASSERT_EQ(mtsim_set("checks", GetParam()), 0);
  }
};

INSTANTIATE_TEST_SUITE_P(Checks, Threads, testing::Values("all", "none"));

constexpr int kThreads = 8;
constexpr int kStreams = 32;

// Every thread drives four streams: allocations, copies, ops, events between its streams, captures.
// MINDTORCH_TEST_SECONDS makes it longer.
void drive(int number, double seconds, std::atomic<uint64_t>& rounds) {
  EXPECT_EQ(aclrtSetDevice(number % 2), ACL_SUCCESS);
  std::mt19937 random(static_cast<uint32_t>(number));
  constexpr int kOwn = kStreams / kThreads;
  constexpr size_t kBytes = 4096;
  aclrtStream streams[kOwn];
  aclrtEvent events[kOwn];
  char* memory[kOwn];
  char* host[kOwn];
  for (int i = 0; i < kOwn; ++i) {
    EXPECT_EQ(aclrtCreateStream(&streams[i]), ACL_SUCCESS);
    EXPECT_EQ(aclrtCreateEventExWithFlag(&events[i], ACL_EVENT_SYNC), ACL_SUCCESS);
    void* pointer = nullptr;
    EXPECT_EQ(aclrtMallocAlign32(&pointer, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    memory[i] = static_cast<char*>(pointer);
    EXPECT_EQ(aclrtMallocHost(&pointer, kBytes), ACL_SUCCESS);
    host[i] = static_cast<char*>(pointer);
  }
  Sum sum;
  sum.write(1, all(1));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  uint64_t made = 0;
  while (std::chrono::steady_clock::now() < end) {
    const auto a = static_cast<size_t>(random() % kOwn);
    const auto b = static_cast<size_t>((a + 1 + random() % (kOwn - 1)) % kOwn);
    const int value = static_cast<int>(random() % 100);
    // Fill and add on one stream, hand over by an event, copy on the other, wait, look.
    EXPECT_EQ(aclrtMemsetAsync(memory[a], kBytes, value, kBytes, streams[a]), ACL_SUCCESS);
    EXPECT_EQ(sum.launch(0, 1, 0, streams[a]), ACL_SUCCESS);
    EXPECT_EQ(aclrtRecordEvent(events[a], streams[a]), ACL_SUCCESS);
    EXPECT_EQ(aclrtStreamWaitEvent(streams[b], events[a]), ACL_SUCCESS);
    EXPECT_EQ(
        aclrtMemcpyAsync(host[b], kBytes, memory[a], kBytes, ACL_MEMCPY_DEVICE_TO_HOST, streams[b]),
        ACL_SUCCESS);
    EXPECT_EQ(aclrtRecordEvent(events[b], streams[b]), ACL_SUCCESS);
    EXPECT_EQ(random() % 2 ? aclrtSynchronizeEvent(events[b]) : aclrtSynchronizeStream(streams[b]),
              ACL_SUCCESS);
    EXPECT_EQ(host[b][kBytes - 1], value);
    if (random() % 8 == 0) {
      void* pointer = nullptr;
      EXPECT_EQ(aclrtMalloc(&pointer, 1 + random() % 100000, ACL_MEM_MALLOC_HUGE_FIRST),
                ACL_SUCCESS);
      EXPECT_EQ(aclrtMemsetAsync(pointer, 1, 0, 1, streams[a]), ACL_SUCCESS);
      EXPECT_EQ(aclrtSynchronizeStream(streams[a]), ACL_SUCCESS);
      EXPECT_EQ(aclrtFree(pointer), ACL_SUCCESS);
    }
    if (random() % 16 == 0) {
      EXPECT_EQ(aclrtDestroyStream(streams[b]), ACL_SUCCESS);
      EXPECT_EQ(aclrtCreateStream(&streams[b]), ACL_SUCCESS);
    }
    if (random() % 16 == 0) {
      aclmdlRI model = nullptr;
      EXPECT_EQ(aclmdlRICaptureBegin(streams[a], ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL),
                ACL_SUCCESS);
      EXPECT_EQ(aclrtMemsetAsync(memory[a], kBytes, value, kBytes, streams[a]), ACL_SUCCESS);
      EXPECT_EQ(aclmdlRICaptureEnd(streams[a], &model), ACL_SUCCESS);
      EXPECT_EQ(aclmdlRIExecuteAsync(model, streams[a]), ACL_SUCCESS);
      EXPECT_EQ(aclrtSynchronizeStream(streams[a]), ACL_SUCCESS);
      EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
    }
    ++made;
  }
  EXPECT_EQ(sum.read(0), all(static_cast<float>(made)));
  for (int i = 0; i < kOwn; ++i) {
    EXPECT_EQ(aclrtDestroyStream(streams[i]), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyEvent(events[i]), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(memory[i]), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreeHost(host[i]), ACL_SUCCESS);
  }
  rounds += made;
}

TEST_P(Threads, ThirtyTwoStreamsFromEightThreads) {
  const char* text = std::getenv("MINDTORCH_TEST_SECONDS");
  const double seconds = text ? std::atof(text) : 1.5;
  std::atomic<uint64_t> rounds{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i, seconds, &rounds] { drive(i, seconds, rounds); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(rounds, 50U);
}

}  // namespace
