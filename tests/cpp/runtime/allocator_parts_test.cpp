// The parts of CachingAllocator on their own: ArenaSet, PrivatePools, MemoryLimit, and the order of
// OomPolicy's steps.
#include <gtest/gtest.h>

#include <vector>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/allocator_state.h"
#include "mindtorch/runtime/private_pools.h"
#include "tests/cpp/support/allocator_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::AllocatorState;
using runtime::Arena;
using runtime::ArenaSet;
using runtime::Block;
using runtime::MemoryLimit;
using runtime::PoolId;
using runtime::PoolKind;
using runtime::PrivatePool;
using runtime::PrivatePools;
using runtime::SlowPathFlags;

driver::StreamHandle stream(uintptr_t number) {
  return reinterpret_cast<driver::StreamHandle>(number << 4);
}

TEST(ArenaSet, HasOneArenaPerStreamAndPool) {
  ArenaSet arenas;
  PrivatePool pool;
  Arena& first = arenas.of_stream(stream(1));
  EXPECT_EQ(&arenas.of_stream(stream(1)), &first);
  EXPECT_NE(&arenas.of_stream(stream(2)), &first);
  EXPECT_NE(&arenas.find_or_add(stream(1), &pool), &first);
  // 8 entries a thread: stream 9 takes the place of stream 1, which is found again.
  EXPECT_NE(&arenas.of_stream(stream(9)), &first);
  EXPECT_EQ(&arenas.of_stream(stream(1)), &first);
  ArenaSet others;
  EXPECT_NE(&others.of_stream(stream(1)), &first);
}

TEST(ArenaSet, ArenasOfAPoolThatIsGoneServeAnother) {
  ArenaSet arenas;
  PrivatePool gone;
  PrivatePool next;
  Arena& arena = arenas.find_or_add(stream(1), &gone);
  const auto every = [](const Arena&) { return true; };
  {
    const ArenaSet::Selection selection = arenas.select(every);
    EXPECT_EQ(selection.end() - selection.begin(), 1);
    EXPECT_FALSE(arenas.disown(&gone));  // somebody works with it
  }
  char memory[512];
  arena.lock();
  runtime::Segment* segment = arena.add_segment(memory, sizeof memory, PoolKind::kSmall);
  arena.unlock();
  EXPECT_FALSE(arenas.disown(&gone));  // it has memory
  arena.lock();
  arena.make_available(segment->first);
  arena.detach(segment);
  arena.unlock();
  Arena::destroy(segment);
  EXPECT_TRUE(arenas.disown(&gone));
  const ArenaSet::Selection selection = arenas.select(every);
  EXPECT_EQ(selection.begin(), selection.end());
  EXPECT_EQ(&arenas.find_or_add(stream(2), &next), &arena);
  EXPECT_EQ(arena.stream(), stream(2));
}

TEST(PrivatePools, TheScopeOpenedLastDecides) {
  ArenaSet arenas;
  SlowPathFlags flags;
  PrivatePools pools(arenas, flags);
  const PoolId outer(0, 1);
  const PoolId inner(0, 2);
  EXPECT_FALSE(flags.any());
  pools.open_for_thread(outer);
  pools.open_for_capture(inner, stream(3));
  EXPECT_TRUE(flags.has(SlowPathFlags::kPoolScopes));
  EXPECT_TRUE(pools.capturing());
  EXPECT_EQ(pools.route(stream(3)).owner()->id, inner);
  EXPECT_EQ(pools.route(stream(4)).owner()->id, outer);
  EXPECT_THROW(pools.open_for_thread(outer), RuntimeError);
  EXPECT_EQ(pools.use_count(outer), 1);
  EXPECT_TRUE(pools.close(inner));
  EXPECT_FALSE(pools.capturing());
  EXPECT_FALSE(pools.close(outer));
  EXPECT_FALSE(flags.any());
  EXPECT_EQ(pools.route(stream(3)).owner(), nullptr);
  pools.forget_unused();
  EXPECT_THROW(pools.release(outer), RuntimeError);
}

TEST(MemoryLimit, ReservationsCountUntilTheyAreGone) {
  FakeOptions options;
  options.memory_bytes = 100 * kMiB;
  FakeDriver driver(options);
  AllocatorState state(driver, 0, {});
  state.limit.set_fraction(0.5);
  EXPECT_EQ(state.limit.bytes(), static_cast<int64_t>(50 * kMiB));
  {
    const MemoryLimit::Reservation first(state.limit, 30 * kMiB);
    EXPECT_TRUE(first.granted());
    EXPECT_FALSE(MemoryLimit::Reservation(state.limit, 30 * kMiB).granted());
    EXPECT_TRUE(MemoryLimit::Reservation(state.limit, 20 * kMiB).granted());
  }
  EXPECT_TRUE(MemoryLimit::Reservation(state.limit, 50 * kMiB).granted());
  state.stats.set_reserved_bytes(21 * static_cast<int64_t>(kMiB));
  EXPECT_FALSE(MemoryLimit::Reservation(state.limit, 30 * kMiB).granted());
  EXPECT_THROW(state.limit.set_fraction(1.5), ValueError);
}

std::vector<Call> calls_of_a_failure(TestDevice& device) {
  std::vector<Call> calls;
  device.driver.set_on_call([&](Call call) { calls.push_back(call); });
  EXPECT_THROW(device.allocator->allocate(50 * kMiB, nullptr), OutOfMemoryError);
  device.driver.set_on_call(nullptr);
  std::erase(calls, Call::memory_info);  // of the error's text
  return calls;
}

TEST(OomPolicy, TakesItsStepsInOrder) {
  TestDevice device(100 * kMiB);
  auto& allocator = *device.allocator;
  Block* held = allocator.allocate(60 * kMiB, nullptr);
  allocator.release(allocator.allocate(20 * kMiB, device.new_stream()));
  const std::vector<Call> expected = {
      Call::allocate,      // grow
      Call::wait_device,   // wait_for_device_and_search
      Call::query_stream,  // release_cache_and_grow: the side stream's segment
      Call::release,       //
      Call::allocate,      //
      Call::query_stream,  // borrow_from_idle_streams
  };
  EXPECT_EQ(calls_of_a_failure(device), expected);
  allocator.release(held);
}

TEST(OomPolicy, NeitherWaitsNorGivesBackDuringACapture) {
  TestDevice device(100 * kMiB);
  auto& allocator = *device.allocator;
  const PoolId pool(1, 0);
  Block* held = allocator.allocate(60 * kMiB, nullptr);
  allocator.release(allocator.allocate(20 * kMiB, nullptr));
  allocator.begin_capture_scope(pool, device.new_stream());
  EXPECT_EQ(calls_of_a_failure(device), std::vector<Call>{Call::allocate});
  allocator.end_scope(pool);
  allocator.release(held);
}

}  // namespace
}  // namespace mindtorch::test
