// Memory at an address that was used before: what a replayed plan asks for, so that its tensors lie
// where they lay.
#include <gtest/gtest.h>

#include "mindtorch/runtime/caching_allocator.h"
#include "tests/cpp/support/allocator_fixture.h"

namespace mindtorch::runtime {
namespace {

using test::kKiB;
using test::kMiB;
using test::TestDevice;

TEST(AllocateAt, GivesTheSameAddressAgain) {
  TestDevice device;
  CachingAllocator& allocator = *device.allocator;
  Block* first = allocator.allocate(4 * kKiB, nullptr);
  Block* second = allocator.allocate(4 * kKiB, nullptr);
  const char* const where = second->data;
  allocator.release(second);
  allocator.release(first);
  // A plain request would get the front of the segment.
  Block* again = allocator.allocate_at(where, 4 * kKiB, nullptr);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->data, where);
  EXPECT_EQ(device.problems(), "");
  // What lies before and behind it is free, and serves others.
  Block* front = allocator.allocate(4 * kKiB, nullptr);
  EXPECT_LT(front->data, where);
  EXPECT_EQ(device.current(Metric::kSegment), 1);
  allocator.release(front);
  allocator.release(again);
  EXPECT_EQ(device.problems(), "");
  EXPECT_EQ(device.current(Metric::kAllocatedBytes), 0);
}

TEST(AllocateAt, RefusesWhatIsInUse) {
  TestDevice device;
  CachingAllocator& allocator = *device.allocator;
  Block* block = allocator.allocate(8 * kKiB, nullptr);
  EXPECT_EQ(allocator.allocate_at(block->data, 4 * kKiB, nullptr), nullptr);
  EXPECT_EQ(allocator.allocate_at(block->data + 4 * kKiB, 4 * kKiB, nullptr), nullptr);
  allocator.release(block);
  EXPECT_EQ(device.problems(), "");
}

TEST(AllocateAt, RefusesWhatDoesNotFit) {
  TestDevice device;
  CachingAllocator& allocator = *device.allocator;
  Block* first = allocator.allocate(4 * kKiB, nullptr);
  Block* second = allocator.allocate(4 * kKiB, nullptr);
  const char* const where = first->data;
  allocator.release(first);
  EXPECT_EQ(allocator.allocate_at(where, 8 * kKiB, nullptr), nullptr);  // into the second
  Block* again = allocator.allocate_at(where, 4 * kKiB, nullptr);
  EXPECT_EQ(again, first);
  allocator.release(again);
  allocator.release(second);
  EXPECT_EQ(device.problems(), "");
}

TEST(AllocateAt, KnowsOnlyItsOwnSegments) {
  TestDevice device;
  CachingAllocator& allocator = *device.allocator;
  const char elsewhere = 0;
  EXPECT_EQ(allocator.allocate_at(&elsewhere, 4 * kKiB, nullptr), nullptr);
  Block* small = allocator.allocate(4 * kKiB, nullptr);
  const char* const where = small->data;
  allocator.release(small);
  EXPECT_EQ(allocator.allocate_at(where, 2 * kMiB, nullptr), nullptr);  // of the other pool
  const driver::StreamHandle stream = device.new_stream();
  EXPECT_EQ(allocator.allocate_at(where, 4 * kKiB, stream), nullptr);  // of another stream
  Block* again = allocator.allocate_at(where, 4 * kKiB, nullptr);
  ASSERT_NE(again, nullptr);
  allocator.release(again);
}

}  // namespace
}  // namespace mindtorch::runtime
