#pragma once

#include <array>

#include "tests/simulator/runtime/support.h"

inline constexpr int64_t kCount = 8;
using Values = std::array<float, kCount>;

// out = a + b with a repeatable executor, as a plan cache calls it.
class Sum {
 public:
  Sum() {
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(aclrtMalloc(&data_[i], sizeof(Values), ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
      tensors_[i] =
          aclCreateTensor(&kCount, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &kCount, 1, data_[i]);
      write(i, {});
    }
    float one = 1;
    alpha_ = aclCreateScalar(&one, ACL_FLOAT);
    uint64_t workspace = 0;
    EXPECT_EQ(aclnnAddGetWorkspaceSize(tensors_[0], tensors_[1], alpha_, tensors_[2], &workspace,
                                       &executor_),
              ACL_SUCCESS);
    EXPECT_EQ(workspace, 0U);
    EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor_), ACL_SUCCESS);
  }

  ~Sum() {
    EXPECT_EQ(aclDestroyAclOpExecutor(executor_), ACL_SUCCESS);
    for (const aclTensor* tensor : tensors_) aclDestroyTensor(tensor);
    aclDestroyScalar(alpha_);
    for (void* pointer : data_) aclrtFree(pointer);
  }

  void write(size_t i, const Values& values) {
    EXPECT_EQ(aclrtMemcpy(data_[i], sizeof values, values.data(), sizeof values,
                          ACL_MEMCPY_HOST_TO_DEVICE),
              ACL_SUCCESS);
  }
  Values read(size_t i) {
    Values values{};
    EXPECT_EQ(aclrtMemcpy(values.data(), sizeof values, data_[i], sizeof values,
                          ACL_MEMCPY_DEVICE_TO_HOST),
              ACL_SUCCESS);
    return values;
  }

  // The operands by number: data[out] = data[a] + data[b].
  aclnnStatus launch(size_t a, size_t b, size_t out, aclrtStream stream) {
    EXPECT_EQ(aclSetInputTensorAddr(executor_, 0, tensors_[0], data_[a]), ACL_SUCCESS);
    EXPECT_EQ(aclSetInputTensorAddr(executor_, 1, tensors_[1], data_[b]), ACL_SUCCESS);
    EXPECT_EQ(aclSetOutputTensorAddr(executor_, 0, tensors_[2], data_[out]), ACL_SUCCESS);
    return aclnnAdd(nullptr, 0, executor_, stream);
  }

  // data[0] += data[1], so many times.
  aclmdlRI capture(int times, aclrtStream stream) {
    EXPECT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL), ACL_SUCCESS);
    for (int i = 0; i < times; ++i) EXPECT_EQ(launch(0, 1, 0, stream), ACL_SUCCESS);
    aclmdlRI model = nullptr;
    EXPECT_EQ(aclmdlRICaptureEnd(stream, &model), ACL_SUCCESS);
    return model;
  }

  aclOpExecutor* executor() { return executor_; }

 private:
  std::array<void*, 3> data_{};
  std::array<aclTensor*, 3> tensors_{};
  aclScalar* alpha_ = nullptr;
  aclOpExecutor* executor_ = nullptr;
};

inline Values all(float value) {
  Values values;
  values.fill(value);
  return values;
}
