// Each check is shown by a program with exactly that bug, and its corrected twin is silent.
#include <atomic>
#include <cstring>

#include "tests/simulator/runtime/support.h"

namespace {

// Elements of memory that an op reads or writes; strides in bytes.
struct Access {
  void* data;
  aclDataType dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  bool write;
};

Access access(void* data, size_t bytes, bool write) {
  return {data, ACL_INT8, {static_cast<int64_t>(bytes)}, {1}, write};
}

Access view(void* data, std::vector<int64_t> shape, std::vector<int64_t> strides, bool write) {
  return {data, ACL_INT32, std::move(shape), std::move(strides), write};
}

class Checks : public Simulator {
 protected:
  void SetUp() override {
    Simulator::SetUp();
    EXPECT_EQ(mtsim_set("compute", "0"), 0);  // the races here are meant, and ThreadSanitizer looks
    stream = make_stream();
    other = make_stream();
    EXPECT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  }
  void TearDown() override {
    mtsim_release_stream(-1);
    EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(other), ACL_SUCCESS);
    for (void* memory : scratch_) {
      if (!memory) continue;
      EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
    }
    Simulator::TearDown();
  }

  // An op that only writes (aclnnInplaceZero), or one that writes only memory which no test looks
  // at (aclnnAbs).
  aclnnStatus launch(const Access& what, aclrtStream on) {
    std::vector<int64_t> strides = what.strides;
    for (int64_t& stride : strides) stride /= static_cast<int64_t>(aclDataTypeSize(what.dtype));
    aclTensor* tensor = tensor_of(what, strides.data(), what.data);
    uint64_t workspace = 0;
    aclOpExecutor* executor = nullptr;
    aclnnStatus status = 0;
    if (what.write) {
      status = aclnnInplaceZeroGetWorkspaceSize(tensor, &workspace, &executor);
      EXPECT_EQ(workspace, 0U);
      if (!status) status = aclnnInplaceZero(nullptr, 0, executor, on);
    } else {
      char* own = scratch(on);
      aclTensor* result = tensor_of(what, nullptr, own);
      status = aclnnAbsGetWorkspaceSize(tensor, result, &workspace, &executor);
      void* extra = workspace ? own + kScratch : nullptr;
      if (!status) status = aclnnAbs(extra, workspace, executor, on);
      aclDestroyTensor(result);
    }
    aclDestroyTensor(tensor);
    return status;
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

 private:
  static constexpr size_t kScratch = 4096;

  static aclTensor* tensor_of(const Access& what, const int64_t* strides, void* data) {
    return aclCreateTensor(what.shape.data(), what.shape.size(), what.dtype, strides, 0,
                           ACL_FORMAT_ND, what.shape.data(), what.shape.size(), data);
  }
  // For results, and behind them for workspace; of each stream its own.
  char* scratch(aclrtStream of) {
    void*& memory = scratch_[of == stream ? 0 : 1];
    if (!memory) memory = device_memory(2 * kScratch);
    return static_cast<char*>(memory);
  }

  void* scratch_[2] = {};
};

TEST_F(Checks, UseOfFreedMemory) {
  void* memory = device_memory(64);
  OK(launch(access(memory, 64, true), stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtFree(memory));
  OK(launch(access(memory, 64, true), stream));
  expect_report("memory", "which was freed");
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  char local[64] = {};
  EXPECT_NE(aclrtMemcpy(memory, 64, local, 64, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  expect_report("memory", "which was freed");
}

TEST_F(Checks, UseOfForeignMemory) {
  char local[64] = {};
  OK(launch(access(local, 64, true), stream));
  expect_report("memory", "no device memory");
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  void* pinned = pinned_memory(64);
  OK(launch(access(pinned, 64, true), stream));
  expect_report("memory", "pinned host memory");
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  OK(aclrtFreeHost(pinned));

  OK(aclrtSetDevice(1));
  void* there = device_memory(64);
  OK(aclrtSetDevice(0));
  OK(launch(access(there, 64, true), stream));
  expect_report("memory", "without peer access");
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  OK(aclrtDeviceEnablePeerAccess(1, 0));
  OK(launch(access(there, 64, true), stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtFree(there));
}

TEST_F(Checks, OutOfRange) {
  auto* memory = static_cast<char*>(device_memory(100));
  OK(launch(access(memory, 101, true), stream));
  expect_report("memory", "1 bytes past the end of device 0 memory");
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  OK(launch(view(memory, {5, 5}, {24, 4}, true), stream));  // ends at 4 * 24 + 5 * 4 = 116
  expect_report("memory", "16 bytes past the end");
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  OK(launch(view(memory, {5, 5}, {20, 4}, true), stream));
  OK(launch(view(memory + 96, {25}, {-4}, false), stream));
  OK(launch(view(memory, {0, 1000}, {400, 4}, true), stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_NE(aclrtMemset(memory, 200, 0, 101), ACL_SUCCESS);
  expect_report("memory", "past the end");
  OK(aclrtFree(memory));
}

TEST_F(Checks, FreedWhileQueuedWorkNeedsIt) {
  void* memory = device_memory(64);
  OK(mtsim_hang_stream(id_of(stream)));
  OK(launch(access(memory, 64, true), stream));
  OK(aclrtFree(memory));
  expect_report("lifetime", "still needs it");
  mtsim_release_stream(-1);
  OK(aclrtSynchronizeStream(stream));

  memory = device_memory(64);  // done by luck, not by order
  OK(launch(access(memory, 64, true), stream));
  wait_unseen();
  OK(aclrtFree(memory));
  expect_report("lifetime", "nothing made the host wait for aclnnInplaceZero on stream");

  for (const int way : {0, 1, 2, 3}) {
    memory = device_memory(64);
    OK(launch(access(memory, 64, true), stream));
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

TEST_F(Checks, WhatWasAbortedNeedsNothingAnyMore) {
  for (const bool whole_device : {false, true}) {
    void* memory = device_memory(64);
    OK(mtsim_hang_stream(id_of(stream)));
    OK(launch(access(memory, 64, true), stream));
    OK(whole_device ? aclrtDeviceTaskAbort(0, 0) : aclrtStreamAbort(stream));
    OK(aclrtFree(memory));
    EXPECT_EQ(take_reports(), "");
    mtsim_release_stream(-1);
    EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  }
}

TEST_F(Checks, UnmappedWhileQueuedWorkNeedsIt) {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  const size_t page = size_t{2} << 20;
  void* base = nullptr;
  OK(aclrtReserveMemAddress(&base, page, 0, nullptr, 1));
  aclrtDrvMemHandle handle = nullptr;
  OK(aclrtMallocPhysical(&handle, page, &prop, 0));
  OK(aclrtMapMem(base, page, 0, handle, 0));
  OK(mtsim_hang_stream(id_of(stream)));
  OK(launch(access(base, 64, true), stream));
  OK(aclrtUnmapMem(base));  // waits for nothing, as on a device
  expect_report("lifetime", "still needs it");
  mtsim_release_stream(-1);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_NE(take_message().find("its memory was unmapped"), std::string::npos);

  OK(aclrtMapMem(base, page, 0, handle, 0));
  OK(launch(access(base, 64, true), stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtUnmapMem(base));
  OK(aclrtFreePhysical(handle));
  OK(aclrtReleaseMemAddress(base));
}

// A strided input is packed into workspace first.
TEST_F(Checks, WorkspaceWhileAnOpNeedsIt) {
  const int64_t shape = 8;
  const int64_t stride = 2;
  const int64_t stored = 16;
  auto* data = static_cast<char*>(device_memory(128));
  OK(aclrtMemset(data, 128, 0, 128));
  aclTensor* self =
      aclCreateTensor(&shape, 1, ACL_INT32, &stride, 0, ACL_FORMAT_ND, &stored, 1, data);
  aclTensor* out =
      aclCreateTensor(&shape, 1, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, &shape, 1, data + 64);
  aclTensor* more =
      aclCreateTensor(&shape, 1, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, &shape, 1, data + 96);
  uint64_t bytes = 0;
  void* workspace = nullptr;
  const auto run = [&](aclTensor* to, aclrtStream on) {
    aclOpExecutor* executor = nullptr;
    OK(aclnnAbsGetWorkspaceSize(self, to, &bytes, &executor));
    ASSERT_GT(bytes, 0U);
    if (!workspace) workspace = device_memory(bytes);
    OK(aclnnAbs(workspace, bytes, executor, on));
  };
  OK(mtsim_hang_stream(id_of(stream)));
  run(out, stream);
  OK(aclrtFree(workspace));
  expect_report("lifetime", "aclnnAbs");
  mtsim_release_stream(-1);
  OK(aclrtSynchronizeStream(stream));

  workspace = nullptr;
  run(out, stream);
  run(more, other);  // another stream, the same workspace
  expect_report("races", "writes workspace");
  OK(aclrtSynchronizeDevice());
  run(out, stream);
  run(more, stream);  // stream order makes it right
  OK(aclrtSynchronizeDevice());
  EXPECT_EQ(take_reports(), "");
  for (aclTensor* tensor : {self, out, more}) aclDestroyTensor(tensor);
  OK(aclrtFree(workspace));
  OK(aclrtFree(data));
}

TEST_F(Checks, ReadsOfBytesNeverWritten) {
  auto* memory = static_cast<char*>(device_memory(64));
  auto* copy = static_cast<char*>(device_memory(64));
  OK(launch(access(memory, 64, false), stream));
  OK(aclrtSynchronizeStream(stream));
  expect_report("uninitialized", "64 bytes that were never written");
  OK(launch(view(memory, {8}, {8}, true), stream));  // every other word
  OK(launch(view(memory, {8}, {8}, false), stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(take_reports(), "");
  OK(launch(view(memory, {16}, {4}, false), stream));
  OK(aclrtSynchronizeStream(stream));
  expect_report("uninitialized", "32 bytes that were never written");

  // A copy hands on what is not known, and is itself no use.
  OK(aclrtMemcpyAsync(copy, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  OK(launch(view(copy, {8}, {8}, false), stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(take_reports(), "");
  OK(launch(view(copy + 4, {8}, {8}, false), stream));
  OK(aclrtSynchronizeStream(stream));
  expect_report("uninitialized", "32 bytes");

  OK(aclrtMemsetAsync(copy, 64, 0, 64, stream));
  OK(launch(access(copy, 64, false), stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(take_reports(), "");
  OK(aclrtFree(memory));
  OK(aclrtFree(copy));
}

TEST_F(Checks, LeaksAndBusyStreams) {
  void* memory = device_memory(1234);
  void* pinned = pinned_memory(64);
  void* addresses = nullptr;
  OK(aclrtReserveMemAddress(&addresses, size_t{2} << 20, 0, nullptr, 1));
  aclmdlRI model = nullptr;
  OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  OK(aclmdlRICaptureEnd(stream, &model));
  aclrtContext own = nullptr;
  aclrtContext context = nullptr;
  OK(aclrtGetCurrentContext(&context));
  OK(aclrtCreateContext(&own, 0));
  OK(aclrtSetCurrentContext(context));
  OK(mtsim_hang_stream(id_of(stream)));
  OK(aclrtLaunchHostFunc(stream, [](void*) {}, nullptr));
  OK(aclFinalize());
  const std::string reports = take_reports();
  EXPECT_NE(reports.find("1234 bytes"), std::string::npos) << reports;
  EXPECT_NE(reports.find("pinned host memory"), std::string::npos);
  EXPECT_NE(reports.find("is busy: aclrtLaunchHostFunc"), std::string::npos);
  EXPECT_NE(reports.find("was not destroyed"), std::string::npos);
  EXPECT_NE(reports.find("1 events were not destroyed"), std::string::npos);
  EXPECT_NE(reports.find("1 captured models were not destroyed"), std::string::npos);
  EXPECT_NE(reports.find("a context of device 0 was not destroyed"), std::string::npos);
  EXPECT_NE(reports.find("1 ranges of addresses were not released"), std::string::npos);
  OK(aclrtFree(memory));
  OK(aclrtFreeHost(pinned));
  OK(aclrtReleaseMemAddress(addresses));
  SetUp();  // what TearDown destroys
}

TEST_F(Checks, RacesOfTwoStreams) {
  auto* memory = static_cast<char*>(device_memory(64));
  OK(launch(access(memory, 64, true), stream));
  wait_unseen();
  OK(launch(access(memory, 64, false), other));
  const std::string reports = take_reports();
  EXPECT_NE(reports.find("\"races\""), std::string::npos) << reports;
  EXPECT_NE(
      reports.find("aclnnInplaceZero on stream " + std::to_string(id_of(stream)) + " (writes"),
      std::string::npos)
      << reports;
  EXPECT_NE(reports.find("aclnnAbs on stream " + std::to_string(id_of(other)) + " (reads"),
            std::string::npos)
      << reports;
  OK(aclrtSynchronizeDevice());

  // Ordered by an event, by the host, or not in conflict.
  OK(launch(access(memory, 64, true), stream));
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtStreamWaitEvent(other, event));
  OK(launch(access(memory, 64, true), other));
  OK(aclrtSynchronizeStream(other));
  OK(launch(access(memory, 64, true), stream));
  OK(aclrtSynchronizeStream(stream));
  OK(launch(access(memory, 64, false), stream));
  OK(launch(access(memory, 64, false), other));
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
  on_thread([&] { OK(launch(access(memory, 64, true), stream)); });
  on_thread([&] { OK(launch(access(memory, 64, true), other)); });
  OK(aclrtSynchronizeDevice());
  expect_report("races", "in no order");

  // How threads synchronise is not seen: what one has waited for counts for all.
  on_thread([&] {
    OK(launch(access(memory, 64, true), stream));
    OK(aclrtSynchronizeStream(stream));
  });
  on_thread([&] { OK(launch(access(memory, 64, true), other)); });
  on_thread([&] {
    OK(aclrtSynchronizeStream(other));
    OK(launch(access(memory, 64, true), stream));
    OK(aclrtRecordEvent(event, stream));
  });
  on_thread([&] {
    OK(aclrtStreamWaitEvent(other, event));
    OK(launch(access(memory, 64, true), other));
  });
  OK(aclrtSynchronizeDevice());
  EXPECT_EQ(take_reports(), "");
  OK(aclrtFree(memory));
}

TEST_F(Checks, RacesOfViewsAreExact) {
  auto* memory = static_cast<char*>(device_memory(256));
  // Two halves of every row, and every other word: interleaved, and never the same bytes.
  OK(launch(view(memory, {8, 4}, {32, 4}, true), stream));
  OK(launch(view(memory + 16, {8, 4}, {32, 4}, true), other));
  OK(aclrtSynchronizeDevice());
  OK(launch(view(memory, {32}, {8}, true), stream));
  OK(launch(view(memory + 4, {32}, {8}, true), other));
  OK(aclrtSynchronizeDevice());
  EXPECT_EQ(take_reports(), "");
  OK(launch(view(memory, {8, 5}, {32, 4}, true), stream));
  OK(launch(view(memory + 16, {8, 4}, {32, 4}, true), other));
  expect_report("races", "touch the same bytes");
  OK(aclrtSynchronizeDevice());
  OK(aclrtFree(memory));
}

TEST_F(Checks, RacesWithTheHost) {
  auto* memory = static_cast<char*>(device_memory(64));
  char local[64] = {};
  OK(launch(access(memory, 64, true), stream));
  wait_unseen();
  OK(aclrtMemcpy(local, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST));
  expect_report("races", "aclrtMemcpy on the host (reads src)");
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtMemcpy(local, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST));
  OK(launch(access(memory, 64, true), stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtFree(memory));
}

TEST_F(Checks, HostFunctionsAndLateEventsTellOrder) {
  auto* memory = static_cast<char*>(device_memory(64));
  std::atomic<bool> reached{false};
  OK(launch(access(memory, 64, true), stream));
  OK(aclrtLaunchHostFunc(
      stream, [](void* at) { *static_cast<std::atomic<bool>*>(at) = true; }, &reached));
  while (!reached) sleep_ms(1);
  OK(launch(access(memory, 64, true), other));
  OK(aclrtSynchronizeDevice());

  aclrtEvent late = nullptr;  // waited for before it is recorded
  OK(aclrtCreateEventWithFlag(&late, ACL_EVENT_SYNC));
  OK(aclrtStreamWaitEvent(other, late));
  OK(launch(access(memory, 64, true), other));
  OK(launch(access(memory, 64, true), stream));
  OK(aclrtRecordEvent(late, stream));
  OK(aclrtSynchronizeDevice());
  OK(aclrtFree(memory));
  OK(aclrtDestroyEvent(late));
}

TEST_F(Checks, CanBeSwitchedOff) {
  OK(mtsim_set("checks", "none"));
  auto* memory = static_cast<char*>(device_memory(64));
  OK(launch(access(memory, 64, false), stream));
  wait_unseen();
  OK(launch(access(memory, 64, true), other));
  wait_unseen();
  OK(aclrtFree(memory));
  EXPECT_EQ(take_reports(), "");
  OK(mtsim_set("checks", "memory,races"));
  memory = static_cast<char*>(device_memory(64));
  OK(launch(access(memory, 64, false), stream));
  OK(launch(access(memory, 65, false), stream));
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
  OK(launch(access(memory, 64, true), stream));
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
