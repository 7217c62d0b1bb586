#include <atomic>
#include <cstdlib>
#include <random>

#include "tests/simulator/support.h"

namespace {

using Threads = Simulator;

constexpr int kThreads = 8;
constexpr int kStreams = 32;

// Every thread drives four streams: allocations, copies, events between its streams, callbacks,
// captures; all checks are on and none may report. MINDTORCH_STRESS_SECONDS makes it longer.
void drive(int number, double seconds, std::atomic<uint64_t>& tasks) {
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
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  uint64_t made = 0;
  while (std::chrono::steady_clock::now() < end) {
    const auto a = static_cast<size_t>(random() % kOwn);
    const auto b = static_cast<size_t>((a + 1 + random() % (kOwn - 1)) % kOwn);
    const int value = static_cast<int>(random() % 100);
    // Fill on one stream, hand over by an event, copy on the other, wait, look.
    EXPECT_EQ(aclrtMemsetAsync(memory[a], kBytes, value, kBytes, streams[a]), ACL_SUCCESS);
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
    made += 2;
  }
  for (int i = 0; i < kOwn; ++i) {
    EXPECT_EQ(aclrtDestroyStream(streams[i]), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyEvent(events[i]), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(memory[i]), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreeHost(host[i]), ACL_SUCCESS);
  }
  tasks += made;
}

TEST_F(Threads, ThirtyTwoStreamsFromEightThreads) {
  const char* text = std::getenv("MINDTORCH_STRESS_SECONDS");
  const double seconds = text ? std::atof(text) : 1.5;
  std::atomic<uint64_t> tasks{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i, seconds, &tasks] { drive(i, seconds, tasks); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(tasks, 100U);
}

}  // namespace
