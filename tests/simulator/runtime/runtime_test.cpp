#include <cstdlib>
#include <cstring>

#include "tests/simulator/runtime/support.h"

namespace {

class Initialize : public testing::Test {
 protected:
  void SetUp() override {
    mtsim_reset();
    mtsim_set("print", "0");
  }
  void TearDown() override { mtsim_reset(); }
};

TEST_F(Initialize, CountsReferences) {
  EXPECT_EQ(aclFinalize(), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
  EXPECT_STREQ(aclrtGetSocName(), "Ascend910B3");  // asks nothing of aclInit
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  uint64_t left = 9;
  EXPECT_EQ(aclFinalizeReference(&left), ACL_SUCCESS);
  EXPECT_EQ(left, 1U);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST_F(Initialize, ReadsItsFile) {
  EXPECT_EQ(aclInit("/nowhere/acl.json"), ACL_ERROR_INVALID_FILE);
  EXPECT_NE(take_message().find("/nowhere/acl.json"), std::string::npos);
  const std::string path = testing::TempDir() + "acl_config.json";
  std::FILE* file = std::fopen(path.c_str(), "w");
  std::fputs("{\"dump\": {}}", file);
  std::fclose(file);
  EXPECT_EQ(aclInit(path.c_str()), ACL_SUCCESS);
  EXPECT_EQ(aclInit(path.c_str()), ACL_ERROR_REPEAT_INITIALIZE);
  file = std::fopen(path.c_str(), "w");
  std::fputs("{\"dump\": {\"other\": 1}}", file);
  std::fclose(file);
  EXPECT_EQ(aclInit(path.c_str()), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Initialize, SettingsChooseTheMachine) {
  EXPECT_EQ(mtsim_set("devices", "3"), 0);
  EXPECT_EQ(mtsim_set("soc", "Ascend310P3"), 0);
  EXPECT_EQ(mtsim_set("memory", "512M"), 0);
  EXPECT_NE(mtsim_set("nonsense", "1"), 0);
  EXPECT_NE(mtsim_set("checks", "everything"), 0);
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_NE(mtsim_set("devices", "5"), 0);
  uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 3U);
  EXPECT_STREQ(aclrtGetSocName(), "Ascend310P3");
  EXPECT_EQ(aclrtSetDevice(2), ACL_SUCCESS);
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(aclrtGetMemInfo(ACL_DDR_MEM, &free, &total), ACL_SUCCESS);
  EXPECT_EQ(total, size_t{512} << 20);
  int32_t bf16 = 1;
  EXPECT_EQ(aclGetCannAttribute(ACL_CANN_ATTR_BF16, &bf16), ACL_SUCCESS);
  EXPECT_EQ(bf16, 0);
}

TEST_F(Initialize, TheEnvironmentIsReadAtEveryReset) {
  setenv("MINDTORCH_SIM_DEVICES", "2", 1);
  setenv("MINDTORCH_SIM_FAULTS", "call:aclrtSetDevice:1:507033", 1);
  setenv("MINDTORCH_SIM_LOG", "16", 1);
  mtsim_reset();
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_RT_DEV_SETUP_ERROR);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  char* calls = mtsim_calls();
  EXPECT_NE(std::string(calls).find("\"code\": 507033"), std::string::npos) << calls;
  mtsim_free(calls);
  unsetenv("MINDTORCH_SIM_DEVICES");
  unsetenv("MINDTORCH_SIM_FAULTS");
  unsetenv("MINDTORCH_SIM_LOG");
  mtsim_reset();
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 8U);
}

using Runtime = Simulator;

TEST_F(Runtime, TellsVersionsAndNames) {
  int32_t major = 0;
  int32_t minor = 0;
  int32_t patch = 0;
  OK(aclrtGetVersion(&major, &minor, &patch));
  EXPECT_EQ(major, 1);
  aclCANNPackageVersion version;
  OK(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &version));
  EXPECT_STREQ(version.version, "8.1.RC1");
  EXPECT_STREQ(aclrtGetSocName(), "Ascend910B3");
  aclrtRunMode mode = ACL_DEVICE;
  OK(aclrtGetRunMode(&mode));
  EXPECT_EQ(mode, ACL_HOST);
}

TEST_F(Runtime, ATimeoutIsRoundedUpToWhatTheDeviceCounts) {
  uint64_t step = 0;
  uint64_t actual = 0;
  OK(aclrtGetOpTimeOutInterval(&step));
  OK(aclrtSetOpExecuteTimeOutV2(1, &actual));
  EXPECT_EQ(actual, step);
  OK(aclrtSetOpExecuteTimeOutV2(547000000, &actual));
  EXPECT_EQ(actual % step, 0U);
  EXPECT_GE(actual, 547000000U);
  EXPECT_LT(actual, 547000000 + step);
  OK(aclrtSetOpExecuteTimeOutV2(0, &actual));
  EXPECT_EQ(actual, 254 * step);
  EXPECT_EQ(aclrtSetOpExecuteTimeOutV2(1, nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Runtime, DevicesAndContextsAreOfThreads) {
  int32_t device = -1;
  OK(aclrtGetDevice(&device));
  EXPECT_EQ(device, 0);
  EXPECT_EQ(aclrtSetDevice(8), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
  aclrtContext mine = nullptr;
  OK(aclrtGetCurrentContext(&mine));

  std::thread([&] {
    EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_ERROR_RT_CONTEXT_NULL);
    void* pointer = nullptr;
    EXPECT_EQ(aclrtMalloc(&pointer, 16, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    aclrtContext theirs = nullptr;
    EXPECT_EQ(aclrtGetCurrentContext(&theirs), ACL_SUCCESS);
    EXPECT_EQ(theirs, mine);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);  // the other thread holds the device
  }).join();

  OK(aclrtResetDevice(0));
  EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_NE(take_message().find("destroyed"), std::string::npos);
}

TEST_F(Runtime, ContextsAreExplicitToo) {
  aclrtContext first = nullptr;
  OK(aclrtGetCurrentContext(&first));
  EXPECT_EQ(aclrtDestroyContext(first), ACL_ERROR_RT_PARAM_INVALID);
  aclrtStream of_first = make_stream();

  aclrtContext second = nullptr;
  OK(aclrtCreateContext(&second, 1));
  int32_t device = -1;
  OK(aclrtGetDevice(&device));
  EXPECT_EQ(device, 1);
  EXPECT_EQ(aclrtSynchronizeStream(of_first), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_EQ(aclrtDestroyStream(of_first), ACL_ERROR_RT_STREAM_CONTEXT);
  aclrtStream of_second = make_stream();
  OK(aclrtSetCurrentContext(first));
  EXPECT_EQ(aclrtSynchronizeStream(of_second), ACL_ERROR_RT_STREAM_CONTEXT);
  OK(aclrtDestroyContext(second));
  EXPECT_EQ(aclrtSetCurrentContext(second), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_NE(take_message().find("destroyed"), std::string::npos);
  EXPECT_EQ(aclrtSynchronizeStream(of_second), ACL_ERROR_RT_INVALID_HANDLE);
  OK(aclrtDestroyStream(of_first));
}

TEST_F(Runtime, ErrorTextsAreOfThreads) {
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  std::thread([] { EXPECT_EQ(aclGetRecentErrMsg(), nullptr); }).join();
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  const std::string text = take_message();
  EXPECT_NE(text.find("aclrtFree"), std::string::npos) << text;
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST_F(Runtime, WhatIsNotSimulatedSaysSoByName) {
  EXPECT_EQ(aclrtBinaryLoad(nullptr, nullptr), 207000);
  EXPECT_NE(take_message().find("aclrtBinaryLoad"), std::string::npos);
  EXPECT_EQ(HcclBatchSendRecv(nullptr, 0, nullptr, nullptr), 5);
  EXPECT_NE(take_message().find("HcclBatchSendRecv"), std::string::npos);
}

TEST_F(Runtime, AttributesAndParameters) {
  int64_t value = 0;
  OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &value));
  EXPECT_EQ(value, 40);
  OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value));
  EXPECT_EQ(value, int64_t{64} << 30);
  EXPECT_EQ(aclGetDeviceCapability(99, ACL_DEVICE_INFO_L2_SIZE, &value),
            ACL_ERROR_RT_INVALID_DEVICEID);

  OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  EXPECT_EQ(value, 0);
  OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
  OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  EXPECT_EQ(value, 1);
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value),
            ACL_ERROR_RT_SYSPARAMOPT_NOT_SET);
  OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
  OK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));

  aclrtUtilizationInfo info{};
  OK(aclrtGetDeviceUtilizationRate(0, &info));
  EXPECT_EQ(info.memoryUtilization, -1);
  info.utilizationExtend = reinterpret_cast<aclrtUtilizationExtendInfo*>(&info);
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(0, &info), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Runtime, HalfPrecisionRounds) {
  EXPECT_EQ(aclDataTypeSize(ACL_BF16), 2U);
  EXPECT_EQ(aclDataTypeSize(ACL_COMPLEX128), 16U);
  EXPECT_EQ(aclFloatToFloat16(1.0F), 0x3c00);
  EXPECT_EQ(aclFloatToFloat16(65504.0F), 0x7bff);
  EXPECT_EQ(aclFloatToFloat16(65520.0F), 0x7c00);
  EXPECT_EQ(aclFloatToFloat16(5.9604645e-08F), 0x0001);
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    ASSERT_EQ(aclFloatToFloat16(aclFloat16ToFloat(static_cast<aclFloat16>(bits))), bits);
  }
}

}  // namespace
