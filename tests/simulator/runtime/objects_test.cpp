// Objects that only hold data: descriptions of tensors, buffers, groups, allocators.
#include "tests/simulator/runtime/support.h"

namespace {

using Objects = Simulator;

TEST_F(Objects, DescriptionsOfTensors) {
  const int64_t dims[] = {2, 3, 4};
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT16, 3, dims, ACL_FORMAT_ND);
  ASSERT_NE(desc, nullptr);
  EXPECT_EQ(aclGetTensorDescType(desc), ACL_FLOAT16);
  EXPECT_EQ(aclGetTensorDescFormat(desc), ACL_FORMAT_ND);
  EXPECT_EQ(aclGetTensorDescElementCount(desc), 24U);
  EXPECT_EQ(aclGetTensorDescSize(desc), 48U);
  EXPECT_EQ(aclGetTensorDescNumDims(desc), 3U);
  EXPECT_EQ(aclGetTensorDescDim(desc, 2), 4);
  EXPECT_EQ(aclGetTensorDescDim(desc, 3), -1);
  int64_t size = 0;
  OK(aclGetTensorDescDimV2(desc, 1, &size));
  EXPECT_EQ(size, 3);
  EXPECT_EQ(aclGetTensorDescDimV2(desc, 3, &size), ACL_ERROR_INVALID_PARAM);
  EXPECT_STREQ(aclGetTensorDescName(desc), "");
  aclSetTensorDescName(desc, "x");
  EXPECT_STREQ(aclGetTensorDescName(desc), "x");

  int64_t range[2] = {};
  OK(aclGetTensorDescDimRange(desc, 0, 2, range));
  EXPECT_EQ(range[1], 2);
  EXPECT_EQ(aclGetTensorDescDimRange(desc, 0, 1, range), ACL_ERROR_INVALID_PARAM);
  int64_t ranges[3][2] = {{1, 8}, {3, 3}, {4, 4}};
  OK(aclSetTensorShapeRange(desc, 3, ranges));
  OK(aclGetTensorDescDimRange(desc, 0, 2, range));
  EXPECT_EQ(range[0], 1);
  EXPECT_EQ(range[1], 8);

  const int64_t other[] = {6, 4};
  OK(aclSetTensorOriginShape(desc, 2, other));
  EXPECT_EQ(aclGetTensorDescNumDims(desc), 2U);
  OK(aclSetTensorOriginFormat(desc, ACL_FORMAT_NCHW));
  EXPECT_EQ(aclGetTensorDescFormat(desc), ACL_FORMAT_NCHW);
  OK(aclSetTensorShape(desc, 3, dims));
  OK(aclSetTensorFormat(desc, ACL_FORMAT_FRACTAL_NZ));
  EXPECT_EQ(aclGetTensorDescFormat(desc), ACL_FORMAT_NCHW) << "storage is another thing";
  EXPECT_EQ(aclSetTensorShape(desc, -1, dims), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetTensorShape(nullptr, 3, dims), ACL_ERROR_INVALID_PARAM);

  EXPECT_EQ(aclGetTensorDescAddress(desc), nullptr);
  char bytes[] = {1, 2, 3};
  OK(aclSetTensorConst(desc, bytes, sizeof bytes));
  EXPECT_EQ(static_cast<char*>(aclGetTensorDescAddress(desc))[2], 3);
  EXPECT_EQ(aclSetTensorConst(desc, nullptr, 1), ACL_ERROR_INVALID_PARAM);
  OK(aclSetTensorPlaceMent(desc, ACL_MEMTYPE_HOST));
  OK(aclSetTensorDynamicInput(desc, "xs"));
  EXPECT_EQ(aclGetTensorDescByIndex(desc, 0), desc);
  EXPECT_EQ(aclGetTensorDescByIndex(desc, 1), nullptr);
  aclDestroyTensorDesc(desc);

  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, 2, nullptr, ACL_FORMAT_ND), nullptr);
  const int64_t unknown = -2;
  desc = aclCreateTensorDesc(ACL_FLOAT, 1, &unknown, ACL_FORMAT_ND);
  EXPECT_EQ(aclGetTensorDescNumDims(desc), static_cast<size_t>(-2));
  EXPECT_EQ(aclGetTensorDescSize(desc), 0U);
  aclDestroyTensorDesc(desc);
  EXPECT_EQ(aclGetTensorDescType(nullptr), ACL_DT_UNDEFINED);
  aclDestroyTensorDesc(nullptr);
}

TEST_F(Objects, Buffers) {
  char bytes[16];
  aclDataBuffer* buffer = aclCreateDataBuffer(bytes, 16);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), bytes);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 16U);
  OK(aclUpdateDataBuffer(buffer, bytes + 8, 8));
  EXPECT_EQ(aclGetDataBufferAddr(buffer), bytes + 8);
  EXPECT_EQ(aclGetDataBufferSize(buffer), 8U);
  OK(aclDestroyDataBuffer(buffer));
  EXPECT_EQ(aclDestroyDataBuffer(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclUpdateDataBuffer(nullptr, bytes, 8), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Objects, OneGroupHoldsAllCores) {
  uint32_t count = 0;
  OK(aclrtGetGroupCount(&count));
  EXPECT_EQ(count, 1U);
  OK(aclrtSetGroup(0));
  EXPECT_EQ(aclrtSetGroup(1), ACL_ERROR_RT_PARAM_INVALID);
  aclrtGroupInfo* info = aclrtCreateGroupInfo();
  int32_t cores = 0;
  size_t size = 0;
  EXPECT_EQ(aclrtGetGroupInfoDetail(info, 0, ACL_GROUP_AICORE_INT, &cores, 4, &size),
            ACL_ERROR_INVALID_PARAM)
      << "nothing was asked yet";
  OK(aclrtGetAllGroupInfo(info));
  OK(aclrtGetGroupInfoDetail(info, 0, ACL_GROUP_AICORE_INT, &cores, 4, &size));
  int64_t all = 0;
  OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &all));
  EXPECT_EQ(cores, all);
  EXPECT_EQ(size, 4U);
  EXPECT_EQ(aclrtGetGroupInfoDetail(info, 1, ACL_GROUP_AICORE_INT, &cores, 4, &size),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetGroupInfoDetail(info, 0, ACL_GROUP_AICORE_INT, &cores, 2, &size),
            ACL_ERROR_INVALID_PARAM);
  OK(aclrtDestroyGroupInfo(info));
  OK(aclrtSetTsDevice(ACL_TS_ID_AICORE));
  EXPECT_EQ(aclrtSetTsDevice(ACL_TS_ID_AIVECTOR), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Objects, AllocatorsAreRegisteredForStreams) {
  const aclrtStream stream = make_stream();
  EXPECT_EQ(aclrtAllocatorUnregister(stream), ACL_ERROR_INVALID_PARAM);
  aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
  EXPECT_EQ(aclrtAllocatorRegister(stream, desc), ACL_ERROR_INVALID_PARAM) << "it is empty";
  OK(aclrtAllocatorSetObjToDesc(desc, &desc));
  OK(aclrtAllocatorSetAllocFuncToDesc(desc,
                                      [](aclrtAllocator, size_t) -> void* { return nullptr; }));
  OK(aclrtAllocatorSetFreeFuncToDesc(desc, [](aclrtAllocator, aclrtAllocatorBlock) {}));
  OK(aclrtAllocatorSetAllocAdviseFuncToDesc(
      desc, [](aclrtAllocator, size_t, aclrtAllocatorAddr) -> void* { return nullptr; }));
  EXPECT_EQ(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, nullptr), ACL_ERROR_INVALID_PARAM);
  OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(
      desc, [](aclrtAllocatorBlock block) -> void* { return block; }));
  OK(aclrtAllocatorRegister(stream, desc));
  OK(aclrtAllocatorDestroyDesc(desc));
  OK(aclrtAllocatorUnregister(stream));
  EXPECT_EQ(aclrtAllocatorDestroyDesc(nullptr), ACL_ERROR_INVALID_PARAM);
  OK(aclrtDestroyStream(stream));
}

TEST_F(Objects, OverflowIsToldByTheNumbersThemselves) {
  auto* status = static_cast<char*>(device_memory(64));
  OK(aclrtMemset(status, 64, 7, 64));
  OK(aclrtResetOverflowStatus(nullptr));
  OK(aclrtGetOverflowStatus(status, 64, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(status[0], 0);
  EXPECT_EQ(aclrtGetOverflowStatus(status, 63, nullptr), ACL_ERROR_INVALID_PARAM);
  OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION));
  EXPECT_EQ(aclrtGetOverflowStatus(status, 64, nullptr), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  OK(aclrtFree(status));
}

TEST_F(Objects, ThreadsKnowTheirLastTask) {
  const aclrtStream stream = make_stream();
  void* memory = device_memory(64);
  uint32_t before = 0;
  uint32_t after = 0;
  OK(aclrtMemsetAsync(memory, 64, 0, 64, stream));
  OK(aclrtGetThreadLastTaskId(&before));
  OK(aclrtMemsetAsync(memory, 64, 0, 64, stream));
  std::thread([&] {
    OK(aclrtSetDevice(0));
    OK(aclrtMemsetAsync(memory, 64, 0, 64, stream));
    OK(aclrtResetDevice(0));
  }).join();
  OK(aclrtGetThreadLastTaskId(&after));
  EXPECT_EQ(after, before + 1);
  EXPECT_EQ(aclrtGetThreadLastTaskId(nullptr), ACL_ERROR_INVALID_PARAM);
  OK(aclrtDestroyStream(stream));
  OK(aclrtFree(memory));
}

TEST_F(Objects, ArraysOfNothingAndOfTooMuch) {
  const int64_t one = 1;
  EXPECT_EQ(aclCreateIntArray(nullptr, 1), nullptr);
  EXPECT_NE(take_message().find("aclCreateIntArray: value is null"), std::string::npos);
  EXPECT_EQ(aclCreateIntArray(&one, ~uint64_t{0}), nullptr);
  EXPECT_NE(take_message().find("aclCreateIntArray: size"), std::string::npos);
  EXPECT_EQ(aclCreateTensorList(nullptr, 2), nullptr);
  EXPECT_NE(take_message().find("aclCreateTensorList: value is null"), std::string::npos);
  aclIntArray* empty = aclCreateIntArray(nullptr, 0);
  uint64_t size = 1;
  OK(aclGetIntArraySize(empty, &size));
  EXPECT_EQ(size, 0U);
  OK(aclDestroyIntArray(empty));
  EXPECT_NE(aclDestroyIntArray(empty), ACL_SUCCESS);
}

}  // namespace
