// Memory at an address that was used before: what a replayed plan asks for, so that its tensors lie
// where they lay.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

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

// As the steps of a program do: everything goes, neighbours become one, and the same addresses are
// asked for again, in whatever order. Now and then the segments go, too.
TEST(AllocateAt, FindsEveryAddressAgainHoweverTheBlocksWereMerged) {
  TestDevice device;
  CachingAllocator& allocator = *device.allocator;
  std::mt19937 random(7);
  struct Place {
    const char* address;
    size_t bytes;
    Block* block;
  };
  for (int program = 0; program < 5; ++program) {
    std::vector<Place> places;
    for (int i = 0; i < 200; ++i) {
      const size_t bytes = (1 + random() % 16) * 512;
      Block* const block = allocator.allocate(bytes, nullptr);
      places.push_back({block->data, bytes, block});
    }
    for (int step = 0; step < 20; ++step) {
      std::ranges::shuffle(places, random);
      const auto kept = static_cast<size_t>(random() % places.size());
      for (size_t i = kept; i < places.size(); ++i) allocator.release(places[i].block);
      if (step % 2 == 0) std::shuffle(places.begin() + kept, places.end(), random);
      for (size_t i = kept; i < places.size(); ++i) {
        Place& place = places[i];
        place.block = allocator.allocate_at(place.address, place.bytes, nullptr);
        ASSERT_NE(place.block, nullptr);
        ASSERT_EQ(place.block->data, place.address);
      }
      ASSERT_EQ(device.problems(), "");
    }
    for (const Place& place : places) allocator.release(place.block);
    if (program % 2 == 0) allocator.empty_cache();
  }
  EXPECT_EQ(device.problems(), "");
}

}  // namespace
}  // namespace mindtorch::runtime
