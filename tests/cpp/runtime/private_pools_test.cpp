#include <gtest/gtest.h>

#include <thread>

#include "tests/cpp/support/allocator_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::AllocConf;
using runtime::Block;
using runtime::Metric;
using runtime::PoolId;

constexpr PoolId kGraphPool{1, 0};
constexpr PoolId kUserPool{0, 1};

TEST(PrivatePools, KeepTheirMemoryApart) {
  TestDevice device;
  auto& allocator = *device.allocator;
  allocator.release(allocator.allocate(3 * kMiB, nullptr));
  allocator.begin_pool_scope(kUserPool);
  Block* inside = allocator.allocate(3 * kMiB, nullptr);
  EXPECT_EQ(device.driver.count(Call::allocate), 2);
  allocator.end_scope(kUserPool);
  Block* outside = allocator.allocate(3 * kMiB, nullptr);
  EXPECT_NE(outside->segment, inside->segment);
  EXPECT_EQ(allocator.snapshot(&kUserPool).size(), 1u);
  EXPECT_EQ(allocator.snapshot().size(), 2u);
  allocator.release(inside);
  allocator.release(outside);
  EXPECT_EQ(device.problems(), "");
}

TEST(PrivatePools, KeepTheirMemoryWhileACacheIsEmptied) {
  TestDevice device;
  auto& allocator = *device.allocator;
  const auto use = [&](PoolId pool) {
    allocator.begin_pool_scope(pool);
    allocator.release(allocator.allocate(3 * kMiB, nullptr));
    allocator.end_scope(pool);
  };
  allocator.release(allocator.allocate(3 * kMiB, nullptr));
  use(kUserPool);
  allocator.empty_cache();  // the pool is forgotten: the next one may get its arena
  allocator.release(allocator.allocate(3 * kMiB, nullptr));
  bool used = false;
  device.driver.set_on_call([&](Call call) {
    if (call != Call::query_stream || used) return;
    used = true;
    allocator.retain_pool(kGraphPool);
    use(kGraphPool);
  });
  allocator.empty_cache();
  device.driver.set_on_call({});
  EXPECT_TRUE(used);
  EXPECT_EQ(allocator.snapshot(&kGraphPool).size(), 1u);
  allocator.release_pool(kGraphPool);
  EXPECT_EQ(device.problems(), "");
}

TEST(PrivatePools, OfAUserApplyToTheThread) {
  TestDevice device;
  auto& allocator = *device.allocator;
  allocator.begin_pool_scope(kUserPool);
  Block* other = nullptr;
  std::thread([&] { other = allocator.allocate(1000, nullptr); }).join();
  Block* own = allocator.allocate(1000, nullptr);
  EXPECT_NE(other->segment, own->segment);
  EXPECT_THROW(allocator.begin_pool_scope(kUserPool), RuntimeError);
  EXPECT_EQ(allocator.pool_use_count(kUserPool), 1);
  allocator.end_scope(kUserPool);
  EXPECT_THROW(allocator.end_scope(kUserPool), RuntimeError);
  allocator.release(other);
  allocator.release(own);
}

TEST(PrivatePools, OfACaptureApplyToItsStream) {
  TestDevice device;
  auto& allocator = *device.allocator;
  driver::StreamHandle captured = device.new_stream();
  driver::StreamHandle side = device.new_stream();
  Block* shared = allocator.allocate(1000, nullptr);
  allocator.record_stream(shared, side);
  allocator.begin_capture_scope(kGraphPool, captured);
  Block* inside = nullptr;
  std::thread([&] { inside = allocator.allocate(1000, captured); }).join();
  Block* outside = allocator.allocate(1000, nullptr);
  EXPECT_NE(inside->segment, outside->segment);
  // No event may be recorded while capturing.
  allocator.release(shared);
  EXPECT_EQ(device.driver.count(Call::record_event), 0);
  allocator.empty_cache();
  EXPECT_EQ(device.driver.count(Call::wait_stream), 0);
  allocator.end_scope(kGraphPool);
  EXPECT_EQ(device.driver.count(Call::record_event), 1);
  allocator.release(inside);
  allocator.release(outside);
}

TEST(PrivatePools, GoWhenNobodyHoldsThem) {
  TestDevice device;
  auto& allocator = *device.allocator;
  allocator.retain_pool(kGraphPool);
  allocator.begin_pool_scope(kGraphPool);
  Block* block = allocator.allocate(3 * kMiB, nullptr);
  allocator.end_scope(kGraphPool);
  allocator.release(block);
  allocator.empty_cache();
  EXPECT_EQ(device.current(Metric::kReservedBytes), static_cast<int64_t>(20 * kMiB));
  allocator.release_pool(kGraphPool);
  EXPECT_THROW(allocator.release_pool(kGraphPool), RuntimeError);
  allocator.empty_cache();
  EXPECT_EQ(device.current(Metric::kReservedBytes), 0);
  // Its arena serves the next pool.
  allocator.begin_pool_scope(kUserPool);
  Block* next = allocator.allocate(3 * kMiB, device.new_stream());
  allocator.end_scope(kUserPool);
  EXPECT_EQ(device.problems(), "");
  allocator.release(next);
}

TEST(PrivatePools, MayHelpOutOrForbidCuts) {
  TestDevice device(40 * kMiB);
  auto& allocator = *device.allocator;
  allocator.retain_pool(kUserPool, true, true);
  allocator.begin_pool_scope(kUserPool);
  Block* whole = allocator.allocate(4 * kMiB, nullptr);
  EXPECT_EQ(whole->size, 20 * kMiB);  // no_split
  Block* second = allocator.allocate(20 * kMiB, nullptr);
  allocator.end_scope(kUserPool);
  allocator.release(whole);
  Block* rescued = allocator.allocate(4 * kMiB, nullptr);  // use_on_oom
  EXPECT_EQ(device.driver.count(Call::release), 0);
  EXPECT_EQ(device.problems(), "");
  allocator.release(second);
  allocator.release(rescued);
  allocator.release_pool(kUserPool);
  EXPECT_THROW(allocator.retain_pool(PoolId()), ValueError);
}

}  // namespace
}  // namespace mindtorch::test
