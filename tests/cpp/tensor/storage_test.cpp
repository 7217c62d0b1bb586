#include "mindtorch/tensor/storage.h"

#include <gtest/gtest.h>

#include <cstring>

#include "mindtorch/base/error.h"
#include "tests/cpp/support/errors.h"

namespace mindtorch {
namespace {

using testing::error_of;

TEST(Storage, HasTheBytesAskedFor) {
  const Storage storage = StorageImpl::allocate(100, DeviceType::kCpu);
  EXPECT_EQ(storage->size_bytes(), 100u);
  EXPECT_TRUE(storage->device().is_cpu());
  EXPECT_TRUE(storage->resizable());
  EXPECT_EQ(storage->version(), 0u);
  ASSERT_NE(storage->data(), nullptr);
  EXPECT_EQ(StorageImpl::allocate(0, DeviceType::kCpu)->data(), nullptr);
}

TEST(Storage, MetaHasASizeButNoBytes) {
  const Storage storage = StorageImpl::allocate(size_t{1} << 50, DeviceType::kMeta);
  EXPECT_EQ(storage->size_bytes(), size_t{1} << 50);
  EXPECT_EQ(storage->data(), nullptr);
  storage->resize(size_t{1} << 51);
  EXPECT_EQ(storage->size_bytes(), size_t{1} << 51);
}

TEST(Storage, ResizeKeepsTheLeadingBytes) {
  const Storage storage = StorageImpl::allocate(16, DeviceType::kCpu);
  std::memcpy(storage->mutable_data(), "0123456789abcdef", 16);
  storage->resize(size_t{1} << 20);
  EXPECT_EQ(storage->size_bytes(), size_t{1} << 20);
  EXPECT_EQ(std::memcmp(storage->data(), "0123456789abcdef", 16), 0);
  std::memset(static_cast<char*>(storage->mutable_data()) + 16, 0, (size_t{1} << 20) - 16);
  storage->resize(4);
  EXPECT_EQ(storage->size_bytes(), 4u);
  EXPECT_EQ(std::memcmp(storage->data(), "0123", 4), 0);

  const Storage empty = StorageImpl::allocate(0, DeviceType::kCpu);
  empty->resize(8);
  ASSERT_NE(empty->data(), nullptr);
  std::memset(empty->mutable_data(), 0, 8);
}

TEST(Storage, BorrowedMemoryIsReturnedOnceAndNeverMoved) {
  int released = 0;
  char bytes[8] = {};
  const auto release = [](void* context) { ++*static_cast<int*>(context); };
  {
    const Storage storage =
        StorageImpl::borrow(bytes, sizeof(bytes), DeviceType::kCpu, release, &released);
    const Storage second = storage;
    EXPECT_EQ(storage->data(), bytes);
    EXPECT_FALSE(storage->resizable());
    EXPECT_EQ(error_of<RuntimeError>([&] { storage->resize(4); }),
              "Trying to resize storage that is not resizable");
    EXPECT_EQ(storage->size_bytes(), sizeof(bytes));
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Storage, ExportedMemoryStaysInPlaceUntilTheLastUserIsGone) {
  const Storage storage = StorageImpl::allocate(16, DeviceType::kCpu);
  storage->add_export();
  storage->add_export();
  storage->remove_export();
  EXPECT_THROW(storage->resize(1024), RuntimeError);
  storage->remove_export();
  storage->resize(1024);
  EXPECT_EQ(storage->size_bytes(), 1024u);
}

TEST(Storage, RefusesDevicesThatAreNotThere) {
  EXPECT_THROW(StorageImpl::allocate(8, Device(DeviceType::kNpu, 63)), RuntimeError);
}

TEST(Storage, VersionsCountUp) {
  const Storage storage = StorageImpl::allocate(8, DeviceType::kCpu);
  storage->bump_version();
  storage->bump_version();
  EXPECT_EQ(storage->version(), 2u);
}

}  // namespace
}  // namespace mindtorch
