#include "mindtorch/base/intrusive_ptr.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

namespace mindtorch {
namespace {

struct Counted : RefCounted {
  static inline std::atomic<int> alive = 0;
  static inline int refuse_to_die = 0;
  Counted() { ++alive; }
  ~Counted() { --alive; }
  static void destroy(Counted* object) noexcept {
    if (refuse_to_die > 0) {
      --refuse_to_die;
      object->revive();
      return;
    }
    delete object;
  }
};
using Pointer = IntrusivePtr<Counted>;

TEST(IntrusivePtr, DestroysWithTheLastReference) {
  {
    Pointer first = Pointer::adopt(new Counted);
    EXPECT_EQ(first->use_count(), 1u);
    Pointer second = first;
    EXPECT_EQ(first->use_count(), 2u);
    EXPECT_EQ(first, second);
    first.reset();
    EXPECT_FALSE(first);
    EXPECT_EQ(second->use_count(), 1u);
    EXPECT_EQ(Counted::alive, 1);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(IntrusivePtr, MovesWithoutCounting) {
  Pointer first = Pointer::adopt(new Counted);
  Counted* object = first.get();
  Pointer second = std::move(first);
  EXPECT_EQ(first.get(), nullptr);  // NOLINT: that is the question
  EXPECT_EQ(second.get(), object);
  EXPECT_EQ(second->use_count(), 1u);
}

TEST(IntrusivePtr, AssignsOverItselfAndOverOthers) {
  Pointer first = Pointer::adopt(new Counted);
  Pointer second = Pointer::adopt(new Counted);
  const Pointer& same = first;
  first = same;
  EXPECT_EQ(first->use_count(), 1u);
  second = first;
  EXPECT_EQ(Counted::alive, 1);
  EXPECT_EQ(first->use_count(), 2u);
  second = nullptr;
  first = nullptr;
  EXPECT_EQ(Counted::alive, 0);
}

TEST(IntrusivePtr, RetainsAndReleasesRawPointers) {
  Pointer owner = Pointer::adopt(new Counted);
  Pointer second = Pointer::retain(owner.get());
  EXPECT_EQ(owner->use_count(), 2u);
  Counted* raw = second.release();
  EXPECT_FALSE(second);
  EXPECT_EQ(owner->use_count(), 2u);
  Pointer::adopt(raw).reset();
  EXPECT_EQ(owner->use_count(), 1u);
  EXPECT_FALSE(Pointer::retain(nullptr));
}

TEST(IntrusivePtr, DestroyMayTakeTheObjectBack) {
  Pointer owner = Pointer::adopt(new Counted);
  Counted* raw = owner.get();
  Counted::refuse_to_die = 1;
  owner.reset();
  ASSERT_EQ(Counted::alive, 1);
  EXPECT_EQ(raw->use_count(), 1u);
  Pointer::adopt(raw).reset();
  EXPECT_EQ(Counted::alive, 0);
}

TEST(IntrusivePtr, ReadersAreCountedAmongTheOwners) {
  Pointer owner = Pointer::adopt(new Counted);
  Counted* const raw = owner.get();
  raw->retain_unseen();
  EXPECT_EQ(raw->use_count(), 2u);
  raw->add_reader();
  raw->retain_reader();
  EXPECT_EQ(raw->use_count(), 3u);
  EXPECT_EQ(raw->readers(), 2u);
  EXPECT_FALSE(raw->drop_reader());
  owner.reset();
  EXPECT_EQ(raw->use_count(), 1u);
  EXPECT_EQ(raw->readers(), 1u);
  EXPECT_EQ(Counted::alive, 1);
  EXPECT_TRUE(raw->drop_reader());
  Counted::destroy(raw);
  EXPECT_EQ(Counted::alive, 0);
}

TEST(IntrusivePtr, ThreadsShareOneObject) {
  {
    const Pointer shared = Pointer::adopt(new Counted);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([copy = shared] {
        for (int round = 0; round < 10000; ++round) {
          const Pointer again = copy;
          copy->retain_reader();
          EXPECT_FALSE(copy->drop_reader());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    EXPECT_EQ(shared->use_count(), 1u);
    EXPECT_EQ(shared->readers(), 0u);
  }
  EXPECT_EQ(Counted::alive, 0);
}

}  // namespace
}  // namespace mindtorch
