// Page-locked memory where there is more than one kind of accelerator.
#include "mindtorch/tensor/pinned.h"

#include <gtest/gtest.h>

#include "mindtorch/runtime/page_locked.h"
#include "mindtorch/tensor/accelerators.h"
#include "tests/cpp/dispatch/test_device.h"

namespace mindtorch::test {
namespace {

TEST(Pinned, MemoryBelongsToTheKindItIsPinnedFor) {
  FakeDriver& driver = TestDevice::instance().driver();
  const size_t before = driver.pinned_bytes();
  const Tensor own = empty_pinned({1000}, {1}, DType::kFloat32, TestDevice::kType);
  EXPECT_GT(driver.pinned_bytes(), before);
  EXPECT_TRUE(is_pinned(own, TestDevice::kType));
  EXPECT_TRUE(is_pinned(own));

  const Storage page_locked =
      StorageImpl::allocate_from(runtime::page_locked_memory(), 4000, DeviceType::kCpu);
  const Tensor foreign = Tensor::over(page_locked, DType::kFloat32, {1000}, {1}, 0);
  EXPECT_FALSE(is_pinned(foreign, TestDevice::kType));
  EXPECT_TRUE(is_pinned(foreign));
  EXPECT_FALSE(is_pinned(Tensor::make({1000}, DType::kFloat32), TestDevice::kType));
}

TEST(Accelerators, OneThatIsHereIsMeant) {
  TestDevice::instance();
  const std::optional<DeviceType> type = find_accelerator_type();
  ASSERT_TRUE(type);
  EXPECT_TRUE(is_accelerator(*type));
  EXPECT_EQ(accelerator_type(), *type);
  EXPECT_FALSE(is_accelerator(DeviceType::kCpu));
  EXPECT_FALSE(is_accelerator(DeviceType::kMeta));
}

}  // namespace
}  // namespace mindtorch::test
