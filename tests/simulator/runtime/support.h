#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "mindtorch/backends/ascend/acl_abi.h"
#include "simulator/ascend/core/control.h"

#define OK(call) ASSERT_EQ((call), ACL_SUCCESS) << aclGetRecentErrMsg()

inline std::string take_reports() {
  char* text = mtsim_take_reports();
  std::string reports = text;
  mtsim_free(text);
  return reports;
}

inline std::string take_message() {
  const char* text = aclGetRecentErrMsg();
  return text ? text : "";
}

inline void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// A fresh simulator with device 0 set. Ends with no reports but those a test took.
class Simulator : public testing::Test {
 protected:
  void SetUp() override {
    mtsim_reset();
    mtsim_set("print", "0");
    mtsim_set("checks", "all");
    OK(aclInit(nullptr));
    OK(aclrtSetDevice(0));
  }

  void TearDown() override {
    EXPECT_EQ(take_reports(), "");
    mtsim_reset();
  }

  static void* device_memory(size_t bytes) {
    void* pointer = nullptr;
    EXPECT_EQ(aclrtMalloc(&pointer, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    return pointer;
  }

  static void* pinned_memory(size_t bytes) {
    void* pointer = nullptr;
    EXPECT_EQ(aclrtMallocHost(&pointer, bytes), ACL_SUCCESS);
    return pointer;
  }

  static aclrtStream make_stream() {
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    return stream;
  }

  static int32_t id_of(aclrtStream stream) {
    int32_t id = -1;
    EXPECT_EQ(aclrtStreamGetId(stream, &id), ACL_SUCCESS);
    return id;
  }

  static bool is_idle(aclrtStream stream) {
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    EXPECT_EQ(aclrtStreamQuery(stream, &status), ACL_SUCCESS);
    return status == ACL_STREAM_STATUS_COMPLETE;
  }
};
