#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>

#include "tests/simulator/runtime/support.h"

namespace {

class Faults : public Simulator {
 protected:
  static void expect_calls(const std::string& part) {
    char* text = mtsim_calls();
    EXPECT_NE(std::string(text).find(part), std::string::npos) << text;
    mtsim_free(text);
  }
  static size_t count_lines(const char* text) {
    size_t lines = 0;
    for (; *text; ++text) lines += *text == '\n';
    return lines;
  }
};

TEST_F(Faults, TheNthCallFails) {
  OK(mtsim_add_faults("call:aclrtMalloc:2:207001; call:aclrtFree:1+:507899"));
  EXPECT_NE(mtsim_add_faults("call:aclrtMalloc:x:1"), 0);
  EXPECT_NE(mtsim_add_faults("gremlin:1:2:3"), 0);
  void* first = device_memory(64);
  void* second = nullptr;
  EXPECT_EQ(aclrtMalloc(&second, 64, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
  EXPECT_NE(take_message().find("a fault was set"), std::string::npos);
  second = device_memory(64);
  EXPECT_EQ(aclrtFree(first), 507899);
  EXPECT_EQ(aclrtFree(first), 507899);
  mtsim_clear_faults();
  OK(aclrtFree(first));
  OK(aclrtFree(second));
}

TEST_F(Faults, MemoryRunsOutAtAByte) {
  OK(mtsim_add_faults("memory:0:12288"));
  void* first = device_memory(8192 - 32);
  void* second = nullptr;
  EXPECT_EQ(aclrtMalloc(&second, 4096, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
  second = device_memory(4096 - 32);
  OK(aclrtSetDevice(1));
  void* third = device_memory(1 << 20);
  for (void* pointer : {first, second, third}) OK(aclrtFree(pointer));
}

TEST_F(Faults, AStreamHangsUntilReleased) {
  aclrtStream stream = make_stream();
  OK(mtsim_add_faults(("hang:" + std::to_string(id_of(stream)) + ":2").c_str()));
  std::atomic<int> counter{0};
  const auto up = [](void* at) { ++*static_cast<std::atomic<int>*>(at); };
  for (int i = 0; i < 3; ++i) OK(aclrtLaunchHostFunc(stream, up, &counter));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 30), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(counter, 1);
  mtsim_release_stream(id_of(stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter, 3);
  OK(aclrtDestroyStream(stream));
}

TEST_F(Faults, LatencyAndSlowness) {
  using Clock = std::chrono::steady_clock;
  OK(mtsim_set("latency", "2000"));
  OK(mtsim_set("jitter", "500"));
  auto start = Clock::now();
  for (int i = 0; i < 10; ++i) OK(aclrtLaunchHostFunc(nullptr, [](void*) {}, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(20));
  OK(mtsim_set("latency", "0"));
  OK(mtsim_set("jitter", "0"));
  OK(mtsim_set("slowness", "5"));
  start = Clock::now();
  OK(aclrtLaunchHostFunc(nullptr, [](void*) { sleep_ms(5); }, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(25));
}

// The delays of 20 tasks, from the call log.
static std::string delays(const char* seed) {
  mtsim_reset();
  EXPECT_EQ(mtsim_set("seed", seed), 0);
  EXPECT_EQ(mtsim_set("jitter", "100"), 0);
  EXPECT_EQ(mtsim_set("log", "1000"), 0);
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  for (int i = 0; i < 20; ++i) aclrtLaunchHostFunc(nullptr, [](void*) {}, nullptr);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  char* calls = mtsim_calls();
  std::istringstream lines(calls);
  mtsim_free(calls);
  std::string found;
  const std::string key = "\"delay_ns\": ";
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(key);
    if (at == std::string::npos) continue;
    const std::string delay = line.substr(at + key.size(), line.find(',', at) - at - key.size());
    EXPECT_LE(std::stoll(delay), 100000);
    found += delay + " ";
  }
  return found;
}

TEST_F(Faults, JitterFollowsItsSeed) {
  const std::string once = delays("7");
  EXPECT_NE(once, "");
  EXPECT_EQ(delays("7"), once);
  EXPECT_NE(delays("8"), once);
}

TEST_F(Faults, TheLogIsBoundedAndTellsCallsAndTasks) {
  char* nothing = mtsim_calls();
  EXPECT_STREQ(nothing, "");
  mtsim_free(nothing);
  OK(mtsim_set("log", "8"));
  auto* memory = device_memory(64);
  OK(aclrtMemsetAsync(memory, 64, 7, 64, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  expect_calls("\"name\": \"aclrtMalloc\"");
  expect_calls("\"size\": 64, \"policy\": 0");
  expect_calls("\"kind\": \"task\", \"name\": \"aclrtMemsetAsync\", \"device\": 0");
  for (int i = 0; i < 20; ++i) id_of(nullptr);
  char* text = mtsim_calls();
  EXPECT_EQ(count_lines(text), 8U);
  EXPECT_EQ(std::string(text).find("aclrtMalloc"), std::string::npos);
  mtsim_free(text);
  OK(mtsim_set("log", "1000"));
  OK(aclrtMemsetAsync(memory, 64, 7, 64, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  const std::string path = testing::TempDir() + "simulator_trace.json";
  OK(mtsim_write_trace(path.c_str()));
  std::ostringstream trace;
  trace << std::ifstream(path).rdbuf();
  EXPECT_NE(trace.str().find("\"traceEvents\""), std::string::npos);
  EXPECT_NE(trace.str().find("\"stream 0\""), std::string::npos) << trace.str();
  OK(aclrtFree(memory));
}

TEST_F(Faults, RestoringPutsSettingsBackAndLeavesObjectsAlone) {
  auto* memory = device_memory(64);
  OK(mtsim_set("latency", "2.5"));
  OK(mtsim_set("checks", "races,memory"));
  OK(mtsim_set("log", "8"));
  OK(mtsim_add_faults("call:aclrtMemset:1+:507899"));
  char* text = mtsim_settings();
  EXPECT_NE(std::string(text).find("\"checks\": \"memory,races\""), std::string::npos) << text;
  EXPECT_NE(std::string(text).find("\"latency\": \"2.5\""), std::string::npos) << text;
  mtsim_free(text);
  mtsim_restore();
  OK(aclrtMemset(memory, 64, 7, 64));
  text = mtsim_settings();
  EXPECT_NE(std::string(text).find("\"latency\": \"0\""), std::string::npos) << text;
  EXPECT_EQ(std::string(text).find("\"checks\": \"memory,races\""), std::string::npos) << text;
  mtsim_free(text);
  char* calls = mtsim_calls();
  EXPECT_STREQ(calls, "");
  mtsim_free(calls);
  OK(aclrtFree(memory));
}

}  // namespace
