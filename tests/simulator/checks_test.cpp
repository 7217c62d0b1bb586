// Each check is shown by a program with exactly that bug, and its corrected twin is silent.
#include <atomic>
#include <cstring>

#include "simulator/ascend/core/task.h"
#include "tests/simulator/support.h"

namespace {

class Checks : public Simulator {
 protected:
  void SetUp() override {
    Simulator::SetUp();
    stream = make_stream();
    other = make_stream();
    EXPECT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  }
  void TearDown() override {
    mtsim_release_stream(-1);
    EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(other), ACL_SUCCESS);
    Simulator::TearDown();
  }

  static sim::Access access(void* data, size_t bytes, bool write) {
    sim::Access made;
    made.data = static_cast<char*>(data);
    made.bytes = bytes;
    made.write = write;
    return made;
  }
  static sim::Access view(void* data,
                          std::vector<int64_t> shape,
                          std::vector<int64_t> strides,
                          bool write) {
    sim::Access made = access(data, 4, write);
    made.shape = std::move(shape);
    made.strides = std::move(strides);
    return made;
  }
  // Stands for an op.
  static aclError launch(std::vector<sim::Access> accesses, aclrtStream on) {
    sim::Task task;
    task.name = "op";
    task.accesses = std::move(accesses);
    task.run = [] { return ACL_SUCCESS; };
    return sim::enqueue(on, std::move(task));
  }
  static void expect_report(const std::string& check, const std::string& part) {
    const std::string reports = take_reports();
    EXPECT_NE(reports.find("{\"check\": \"" + check + "\""), std::string::npos) << reports;
    EXPECT_NE(reports.find(part), std::string::npos) << reports;
  }
  // Lets the stream run dry without telling the simulator that the host waited.
  static void wait_unseen() { sleep_ms(30); }

  aclrtStream stream = nullptr;
  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
};

TEST_F(Checks, UseOfFreedMemory) {
  void* memory = device_memory(64);
  OK(launch({access(memory, 64, true)}, stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtFree(memory));
  OK(launch({access(memory, 64, true)}, stream));
  expect_report("memory", "which was freed");
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  char local[64] = {};
  EXPECT_NE(aclrtMemcpy(memory, 64, local, 64, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  expect_report("memory", "which was freed");
}

TEST_F(Checks, UseOfForeignMemory) {
  char local[64] = {};
  OK(launch({access(local, 64, true)}, stream));
  expect_report("memory", "no device memory");
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  void* pinned = pinned_memory(64);
  OK(launch({access(pinned, 64, true)}, stream));
  expect_report("memory", "pinned host memory");
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  OK(aclrtFreeHost(pinned));

  OK(aclrtSetDevice(1));
  void* there = device_memory(64);
  OK(aclrtSetDevice(0));
  OK(launch({access(there, 64, true)}, stream));
  expect_report("memory", "without peer access");
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  OK(aclrtDeviceEnablePeerAccess(1, 0));
  OK(launch({access(there, 64, true)}, stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtFree(there));
}

TEST_F(Checks, OutOfRange) {
  auto* memory = static_cast<char*>(device_memory(100));
  OK(launch({access(memory, 101, true)}, stream));
  expect_report("memory", "1 bytes past the end of device 0 memory");
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  OK(launch({view(memory, {5, 5}, {24, 4}, true)}, stream));  // ends at 4 * 24 + 5 * 4 = 116
  expect_report("memory", "16 bytes past the end");
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  OK(launch({view(memory, {5, 5}, {20, 4}, true)}, stream));
  OK(launch({view(memory + 96, {25}, {-4}, false)}, stream));
  OK(launch({view(memory, {0, 1000}, {400, 4}, true)}, stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_NE(aclrtMemset(memory, 200, 0, 101), ACL_SUCCESS);
  expect_report("memory", "past the end");
  OK(aclrtFree(memory));
}

TEST_F(Checks, FreedWhileQueuedWorkNeedsIt) {
  void* memory = device_memory(64);
  OK(mtsim_hang_stream(id_of(stream)));
  OK(launch({access(memory, 64, true)}, stream));
  OK(aclrtFree(memory));
  expect_report("lifetime", "still needs it");
  mtsim_release_stream(-1);
  OK(aclrtSynchronizeStream(stream));

  memory = device_memory(64);  // done by luck, not by order
  OK(launch({access(memory, 64, true)}, stream));
  wait_unseen();
  OK(aclrtFree(memory));
  expect_report("lifetime", "nothing made the host wait for op on stream");

  for (const int way : {0, 1, 2, 3}) {
    memory = device_memory(64);
    OK(launch({access(memory, 64, true)}, stream));
    OK(aclrtRecordEvent(event, stream));
    if (way == 0) {
      OK(aclrtSynchronizeStream(stream));
    }
    if (way == 1) {
      OK(aclrtSynchronizeEvent(event));
    }
    if (way == 2) {
      OK(aclrtSynchronizeDevice());
    }
    if (way == 3) {
      while (!is_idle(stream)) sleep_ms(1);
    }
    OK(aclrtFree(memory));
    EXPECT_EQ(take_reports(), "") << way;
  }
}

TEST_F(Checks, ReadsOfBytesNeverWritten) {
  auto* memory = static_cast<char*>(device_memory(64));
  auto* copy = static_cast<char*>(device_memory(64));
  OK(launch({access(memory, 64, false)}, stream));
  OK(aclrtSynchronizeStream(stream));
  expect_report("uninitialized", "64 bytes that were never written");
  OK(launch({view(memory, {8}, {8}, true)}, stream));  // every other word
  OK(launch({view(memory, {8}, {8}, false)}, stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(take_reports(), "");
  OK(launch({view(memory, {16}, {4}, false)}, stream));
  OK(aclrtSynchronizeStream(stream));
  expect_report("uninitialized", "32 bytes that were never written");

  // A copy hands on what is not known, and is itself no use.
  OK(aclrtMemcpyAsync(copy, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  OK(launch({view(copy, {8}, {8}, false)}, stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(take_reports(), "");
  OK(launch({view(copy + 4, {8}, {8}, false)}, stream));
  OK(aclrtSynchronizeStream(stream));
  expect_report("uninitialized", "32 bytes");

  OK(aclrtMemsetAsync(copy, 64, 0, 64, stream));
  OK(launch({access(copy, 64, false)}, stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(take_reports(), "");
  OK(aclrtFree(memory));
  OK(aclrtFree(copy));
}

TEST_F(Checks, LeaksAndBusyStreams) {
  void* memory = device_memory(1234);
  void* pinned = pinned_memory(64);
  OK(mtsim_hang_stream(id_of(stream)));
  OK(aclrtLaunchHostFunc(stream, [](void*) {}, nullptr));
  OK(aclFinalize());
  const std::string reports = take_reports();
  EXPECT_NE(reports.find("1234 bytes"), std::string::npos) << reports;
  EXPECT_NE(reports.find("pinned host memory"), std::string::npos);
  EXPECT_NE(reports.find("is busy: aclrtLaunchHostFunc"), std::string::npos);
  EXPECT_NE(reports.find("was not destroyed"), std::string::npos);
  EXPECT_NE(reports.find("1 events were not destroyed"), std::string::npos);
  OK(aclrtFree(memory));
  OK(aclrtFreeHost(pinned));
  SetUp();  // what TearDown destroys
}

TEST_F(Checks, RacesOfTwoStreams) {
  auto* memory = static_cast<char*>(device_memory(64));
  OK(launch({access(memory, 64, true)}, stream));
  wait_unseen();
  OK(launch({access(memory, 64, false)}, other));
  const std::string reports = take_reports();
  EXPECT_NE(reports.find("\"races\""), std::string::npos) << reports;
  EXPECT_NE(reports.find("op on stream " + std::to_string(id_of(stream)) + " (writes)"),
            std::string::npos)
      << reports;
  EXPECT_NE(reports.find("op on stream " + std::to_string(id_of(other)) + " (reads)"),
            std::string::npos)
      << reports;
  OK(aclrtSynchronizeDevice());

  // Ordered by an event, by the host, or not in conflict.
  OK(launch({access(memory, 64, true)}, stream));
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtStreamWaitEvent(other, event));
  OK(launch({access(memory, 64, true)}, other));
  OK(aclrtSynchronizeStream(other));
  OK(launch({access(memory, 64, true)}, stream));
  OK(aclrtSynchronizeStream(stream));
  OK(launch({access(memory, 64, false)}, stream));
  OK(launch({access(memory, 64, false)}, other));
  OK(aclrtSynchronizeDevice());
  EXPECT_EQ(take_reports(), "");
  OK(aclrtFree(memory));
}

// Runs on a thread of its own, to its end.
template <class F>
static void on_thread(F f) {
  std::thread([&] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    f();
    ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  }).join();
}

// That one thread ended before the next began orders their calls, not their streams.
TEST_F(Checks, RacesOfTwoThreads) {
  void* memory = device_memory(64);
  OK(aclrtMemset(memory, 64, 0, 64));
  on_thread([&] { OK(launch({access(memory, 64, true)}, stream)); });
  on_thread([&] { OK(launch({access(memory, 64, true)}, other)); });
  OK(aclrtSynchronizeDevice());
  expect_report("races", "in no order");

  // Threads tell each other in ways that are not seen: what one has waited for counts for all.
  on_thread([&] {
    OK(launch({access(memory, 64, true)}, stream));
    OK(aclrtSynchronizeStream(stream));
  });
  on_thread([&] { OK(launch({access(memory, 64, true)}, other)); });
  on_thread([&] {
    OK(aclrtSynchronizeStream(other));
    OK(launch({access(memory, 64, true)}, stream));
    OK(aclrtRecordEvent(event, stream));
  });
  on_thread([&] {
    OK(aclrtStreamWaitEvent(other, event));
    OK(launch({access(memory, 64, true)}, other));
  });
  OK(aclrtSynchronizeDevice());
  EXPECT_EQ(take_reports(), "");
  OK(aclrtFree(memory));
}

TEST_F(Checks, RacesOfViewsAreExact) {
  auto* memory = static_cast<char*>(device_memory(256));
  // Two halves of every row, and every other word: interleaved, and never the same bytes.
  OK(launch({view(memory, {8, 4}, {32, 4}, true)}, stream));
  OK(launch({view(memory + 16, {8, 4}, {32, 4}, true)}, other));
  OK(aclrtSynchronizeDevice());
  OK(launch({view(memory, {32}, {8}, true)}, stream));
  OK(launch({view(memory + 4, {32}, {8}, true)}, other));
  OK(aclrtSynchronizeDevice());
  EXPECT_EQ(take_reports(), "");
  OK(launch({view(memory, {8, 5}, {32, 4}, true)}, stream));
  OK(launch({view(memory + 16, {8, 4}, {32, 4}, true)}, other));
  expect_report("races", "touch the same bytes");
  OK(aclrtSynchronizeDevice());
  OK(aclrtFree(memory));
}

TEST_F(Checks, RacesWithTheHost) {
  auto* memory = static_cast<char*>(device_memory(64));
  char local[64] = {};
  OK(launch({access(memory, 64, true)}, stream));
  wait_unseen();
  OK(aclrtMemcpy(local, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST));
  expect_report("races", "aclrtMemcpy on the host (reads src)");
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtMemcpy(local, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST));
  OK(launch({access(memory, 64, true)}, stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtFree(memory));
}

TEST_F(Checks, HostFunctionsAndLateEventsTellOrder) {
  auto* memory = static_cast<char*>(device_memory(64));
  std::atomic<bool> reached{false};
  OK(launch({access(memory, 64, true)}, stream));
  OK(aclrtLaunchHostFunc(
      stream, [](void* at) { *static_cast<std::atomic<bool>*>(at) = true; }, &reached));
  while (!reached) sleep_ms(1);
  OK(launch({access(memory, 64, true)}, other));
  OK(aclrtSynchronizeDevice());

  aclrtEvent late = nullptr;  // waited for before it is recorded
  OK(aclrtCreateEventWithFlag(&late, ACL_EVENT_SYNC));
  OK(aclrtStreamWaitEvent(other, late));
  OK(launch({access(memory, 64, true)}, other));
  OK(launch({access(memory, 64, true)}, stream));
  OK(aclrtRecordEvent(late, stream));
  OK(aclrtSynchronizeDevice());
  OK(aclrtFree(memory));
  OK(aclrtDestroyEvent(late));
}

TEST_F(Checks, CanBeSwitchedOff) {
  OK(mtsim_set("checks", "none"));
  auto* memory = static_cast<char*>(device_memory(64));
  OK(launch({access(memory, 64, false)}, stream));
  wait_unseen();
  OK(launch({access(memory, 64, true)}, other));
  wait_unseen();
  OK(aclrtFree(memory));
  EXPECT_EQ(take_reports(), "");
  OK(mtsim_set("checks", "memory,races"));
  memory = static_cast<char*>(device_memory(64));
  OK(launch({access(memory, 64, false)}, stream));
  OK(launch({access(memory, 65, false)}, stream));
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  expect_report("memory", "past the end");
  OK(aclrtFree(memory));
}

TEST_F(Checks, ReportsNameTheCaller) {
  auto* memory = static_cast<char*>(device_memory(64));
  mtsim_set_site_callback([]() -> const char* { return "train.py:12"; });
  EXPECT_NE(aclrtMemset(memory, 200, 0, 100), ACL_SUCCESS);
  mtsim_set_site_callback(nullptr);
  expect_report("memory", "train.py:12");
  OK(aclrtFree(memory));
}

TEST_F(Checks, ReplaysAreChecked) {
  auto* memory = static_cast<char*>(device_memory(64));
  OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  OK(launch({access(memory, 64, true)}, stream));
  aclmdlRI model = nullptr;
  OK(aclmdlRICaptureEnd(stream, &model));
  OK(aclmdlRIExecuteAsync(model, stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtFree(memory));
  OK(aclmdlRIExecuteAsync(model, stream));
  expect_report("memory", "which was freed");
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  OK(aclmdlRIDestroy(model));
}

}  // namespace
