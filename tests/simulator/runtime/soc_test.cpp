// What differs between the chips.
#include "tests/simulator/runtime/support.h"

namespace {

class Soc : public Simulator {
 protected:
  void be(const char* name) {
    mtsim_reset();
    mtsim_set("print", "0");
    ASSERT_EQ(mtsim_set("soc", name), 0);
    OK(aclInit(nullptr));
    OK(aclrtSetDevice(0));
    EXPECT_STREQ(aclrtGetSocName(), name);
  }

  // Phase one of a product of 2 x 2 matrices.
  static aclnnStatus plan_product(aclDataType dtype, int8_t cube_math_type) {
    const int64_t shape[] = {2, 2};
    void* data = device_memory(64);
    aclTensor* tensor = aclCreateTensor(shape, 2, dtype, nullptr, 0, ACL_FORMAT_ND, shape, 2, data);
    uint64_t workspace = 0;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status =
        aclnnMmGetWorkspaceSize(tensor, tensor, tensor, cube_math_type, &workspace, &executor);
    if (status == 0) {
      EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
    }
    aclDestroyTensor(tensor);
    EXPECT_EQ(aclrtFree(data), ACL_SUCCESS);
    return status;
  }

  static uint32_t streams() {
    uint32_t count = 0;
    EXPECT_EQ(aclrtGetStreamAvailableNum(&count), ACL_SUCCESS);
    return count;
  }
  static uint32_t events() {
    uint32_t count = 0;
    EXPECT_EQ(aclrtGetEventAvailNum(&count), ACL_SUCCESS);
    return count;
  }
};

TEST_F(Soc, OldOnesHaveNoBfloat16AndNoFullProducts) {
  for (const char* old : {"Ascend910A", "Ascend910ProA", "Ascend910B", "Ascend310P3"}) {
    be(old);
    EXPECT_EQ(plan_product(ACL_BF16, 1), 161002) << old;
    EXPECT_NE(take_message().find("BFLOAT16"), std::string::npos);
    EXPECT_EQ(plan_product(ACL_FLOAT, 0), 161002) << old;
    EXPECT_NE(take_message().find("cubeMathType"), std::string::npos);
    EXPECT_EQ(plan_product(ACL_FLOAT, 1), 0) << old;
    EXPECT_EQ(plan_product(ACL_FLOAT16, 0), 0) << old;
  }
  for (const char* newer : {"Ascend910B3", "Ascend910_9391", "Ascend950PR"}) {
    be(newer);
    EXPECT_EQ(plan_product(ACL_BF16, 0), 0) << newer;
    EXPECT_EQ(plan_product(ACL_FLOAT, 0), 0) << newer;
  }
}

TEST_F(Soc, LimitsOfStreamsAndEvents) {
  be("Ascend310P3");
  const uint32_t default_streams = 1;
  EXPECT_EQ(streams() + default_streams, 1024U);
  EXPECT_EQ(events(), 1023U);
  be("Ascend910A");
  EXPECT_EQ(streams() + default_streams, 2048U);
  EXPECT_EQ(events(), 65535U);
  be("Ascend910B3");
  EXPECT_EQ(streams() + default_streams, 1984U);
  EXPECT_EQ(events(), 65536U);
}

TEST_F(Soc, NewestPadsNothing) {
  const auto used = [](size_t bytes) {
    size_t before = 0, after = 0, total = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), ACL_SUCCESS);
    void* data = device_memory(bytes);
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(data), ACL_SUCCESS);
    return before - after;
  };
  be("Ascend910B3");
  EXPECT_EQ(used(4096), 8192U) << "32 bytes more, and so another page";
  be("Ascend950PR");
  EXPECT_EQ(used(4096), 4096U);
}

}  // namespace
