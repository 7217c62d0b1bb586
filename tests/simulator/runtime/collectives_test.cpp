#include <cstring>
#include <vector>

#include "tests/simulator/runtime/support.h"

namespace {

constexpr uint64_t kCount = 6;

// A group of one rank, and two buffers: the numbers 1 to 6, and zeros.
class Collectives : public Simulator {
 protected:
  void SetUp() override {
    Simulator::SetUp();
    HcclRootInfo root;
    ASSERT_EQ(HcclGetRootInfo(&root), HCCL_SUCCESS);
    ASSERT_EQ(HcclCommInitRootInfo(1, &root, 0, &comm), HCCL_SUCCESS) << take_message();
    stream = make_stream();
    send = static_cast<float*>(device_memory(kCount * sizeof(float)));
    receive = static_cast<float*>(device_memory(kCount * sizeof(float)));
    const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
    OK(aclrtMemcpy(send, kCount * sizeof(float), numbers.data(), kCount * sizeof(float),
                   ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemset(receive, kCount * sizeof(float), 0, kCount * sizeof(float)));
  }
  void TearDown() override {
    OK(aclrtDestroyStream(stream));
    OK(aclrtFree(send));
    OK(aclrtFree(receive));
    EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
    Simulator::TearDown();
  }
  std::vector<float> received() {
    std::vector<float> numbers(kCount);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(numbers.data(), kCount * sizeof(float), receive, kCount * sizeof(float),
                          ACL_MEMCPY_DEVICE_TO_HOST),
              ACL_SUCCESS);
    return numbers;
  }

  HcclComm comm = nullptr;
  aclrtStream stream = nullptr;
  float* send = nullptr;
  float* receive = nullptr;
};

const std::vector<float> kAll = {1, 2, 3, 4, 5, 6};
constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;

TEST_F(Collectives, OneRankGetsItsOwn) {
  EXPECT_EQ(HcclAllReduce(send, receive, kCount, kFloat, HCCL_REDUCE_SUM, comm, stream),
            HCCL_SUCCESS);
  EXPECT_EQ(received(), kAll);
  OK(aclrtMemset(receive, 24, 0, 24));
  EXPECT_EQ(HcclAllGather(send, receive, 3, kFloat, comm, stream), HCCL_SUCCESS);
  EXPECT_EQ(received(), (std::vector<float>{1, 2, 3, 0, 0, 0}));
  EXPECT_EQ(HcclReduceScatter(send + 3, receive, 3, kFloat, HCCL_REDUCE_MAX, comm, stream),
            HCCL_SUCCESS);
  EXPECT_EQ(received(), (std::vector<float>{4, 5, 6, 0, 0, 0}));
  EXPECT_EQ(HcclReduce(send, receive, 1, kFloat, HCCL_REDUCE_PROD, 0, comm, stream), HCCL_SUCCESS);
  EXPECT_EQ(HcclScatter(send, receive + 5, 1, kFloat, 0, comm, stream), HCCL_SUCCESS);
  EXPECT_EQ(HcclAlltoAll(send, 1, kFloat, receive + 4, 1, kFloat, comm, stream), HCCL_SUCCESS);
  EXPECT_EQ(HcclBroadcast(send, kCount, kFloat, 0, comm, stream), HCCL_SUCCESS);
  EXPECT_EQ(HcclBarrier(comm, stream), HCCL_SUCCESS);
  EXPECT_EQ(received(), (std::vector<float>{1, 5, 6, 0, 1, 1}));
}

TEST_F(Collectives, CountsAndDisplacementsAreOfItems) {
  const uint64_t count = 2;
  const uint64_t from = 3;
  const uint64_t to = 1;
  EXPECT_EQ(HcclAlltoAllV(send, &count, &from, kFloat, receive, &count, &to, kFloat, comm, stream),
            HCCL_SUCCESS);
  EXPECT_EQ(received(), (std::vector<float>{0, 4, 5, 0, 0, 0}));
  EXPECT_EQ(HcclAllGatherV(send, count, receive, &count, &from, kFloat, comm, stream),
            HCCL_SUCCESS);
  EXPECT_EQ(HcclReduceScatterV(send, &count, &from, receive, count, kFloat, HCCL_REDUCE_SUM, comm,
                               stream),
            HCCL_SUCCESS);
  EXPECT_EQ(received(), (std::vector<float>{4, 5, 5, 1, 2, 0}));
}

TEST_F(Collectives, QueueOnTheirStream) {
  // A second stream that reads the result without waiting races, and is told so.
  EXPECT_EQ(HcclAllReduce(send, receive, kCount, kFloat, HCCL_REDUCE_SUM, comm, stream),
            HCCL_SUCCESS);
  const aclrtStream other = make_stream();
  OK(aclrtMemcpyAsync(send, 24, receive, 24, ACL_MEMCPY_DEVICE_TO_DEVICE, other));
  OK(aclrtSynchronizeDevice());
  const std::string reports = take_reports();
  EXPECT_NE(reports.find("HcclAllReduce"), std::string::npos) << reports;
  OK(aclrtDestroyStream(other));
}

TEST_F(Collectives, TheGroupIsAsked) {
  uint32_t number = 9;
  EXPECT_EQ(HcclGetRankSize(comm, &number), HCCL_SUCCESS);
  EXPECT_EQ(number, 1U);
  EXPECT_EQ(HcclGetRankId(comm, &number), HCCL_SUCCESS);
  EXPECT_EQ(number, 0U);
  HcclResult error = HCCL_E_REMOTE;
  EXPECT_EQ(HcclGetCommAsyncError(comm, &error), HCCL_SUCCESS);
  EXPECT_EQ(error, HCCL_SUCCESS);
  char name[128] = {};
  EXPECT_EQ(HcclGetCommName(comm, name), HCCL_SUCCESS);
  EXPECT_NE(std::strlen(name), 0U);
  HcclRootInfo root;
  HcclCommConfig config = {};
  std::strcpy(config.hcclCommName, "mine");
  HcclComm named = nullptr;
  EXPECT_EQ(HcclGetRootInfo(&root), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommInitRootInfoConfig(1, &root, 0, &config, &named), HCCL_SUCCESS);
  EXPECT_EQ(HcclGetCommName(named, name), HCCL_SUCCESS);
  EXPECT_STREQ(name, "mine");
  EXPECT_EQ(HcclCommDestroy(named), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommDestroy(named), HCCL_E_PARA);
  EXPECT_STREQ(HcclGetErrorString(HCCL_E_TIMEOUT), "timeout");
}

TEST_F(Collectives, MistakesAreNamed) {
  HcclRootInfo root;
  HcclComm none = nullptr;
  EXPECT_EQ(HcclGetRootInfo(&root), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommInitRootInfo(2, &root, 0, &none), HCCL_E_NOT_SUPPORT);
  EXPECT_NE(take_message().find("more than one rank"), std::string::npos);
  EXPECT_EQ(HcclCommInitRootInfo(1, &root, 1, &none), HCCL_E_PARA);
  root = {};
  EXPECT_EQ(HcclCommInitRootInfo(1, &root, 0, &none), HCCL_E_PARA);
  EXPECT_EQ(HcclAllReduce(send, receive, 1, HCCL_DATA_TYPE_FP64, HCCL_REDUCE_SUM, comm, stream),
            HCCL_E_NOT_SUPPORT);
  EXPECT_EQ(HcclAllReduce(send, receive, 1, kFloat, HCCL_REDUCE_RESERVED, comm, stream),
            HCCL_E_PARA);
  EXPECT_EQ(HcclAllReduce(send, nullptr, 1, kFloat, HCCL_REDUCE_SUM, comm, stream), HCCL_E_PTR);
  EXPECT_EQ(HcclBroadcast(send, 1, kFloat, 1, comm, stream), HCCL_E_PARA);
  EXPECT_EQ(HcclSend(send, 1, kFloat, 0, comm, stream), HCCL_E_PARA);
  EXPECT_EQ(HcclBarrier(nullptr, stream), HCCL_E_PARA);
}

}  // namespace
