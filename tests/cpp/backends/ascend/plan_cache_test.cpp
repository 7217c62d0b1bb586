#include "mindtorch/backends/ascend/plan_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

using ascend::CachedPlan;
using ascend::PlanCache;
using ascend::PlanKey;
using ascend::PlanLease;

struct CountedPlan final : CachedPlan {
  explicit CountedPlan(std::atomic<int>& count) : alive(count) { ++alive; }
  ~CountedPlan() override { --alive; }
  std::atomic<int>& alive;
  std::atomic<int> users{0};
};

PlanKey key_of(uint64_t number) {
  PlanKey key;
  key.add(uint64_t{7});
  key.add(number);
  key.add(number * 3);
  return key;
}

class PlanCacheTest : public RuntimeTest {
 protected:
  PlanCache& make(size_t capacity) {
    cache = std::make_unique<PlanCache>(device().default_stream(), capacity);
    return *cache;
  }
  CachedPlan* run(PlanCache& plans, uint64_t number) {
    const PlanKey key = key_of(number);
    PlanLease lease(plans, key);
    CachedPlan* const known = lease.get();
    if (known == nullptr) lease.renew(std::make_unique<CountedPlan>(alive));
    lease.keep();
    return known;
  }
  // The device does what is queued; what waited for that goes.
  void synchronize() { device().synchronize(); }

  std::atomic<int> alive{0};
  std::unique_ptr<PlanCache> cache;
};

TEST_F(PlanCacheTest, TheSecondCallFindsThePlanOfTheFirst) {
  PlanCache& plans = make(8);
  EXPECT_EQ(run(plans, 1), nullptr);
  CachedPlan* const plan = run(plans, 1);
  EXPECT_NE(plan, nullptr);
  EXPECT_EQ(run(plans, 1), plan);
  EXPECT_EQ(run(plans, 2), nullptr);
  EXPECT_EQ(plans.size(), 2u);
}

TEST_F(PlanCacheTest, KeysThatAreAPrefixOfAnotherAreDifferent) {
  PlanCache& plans = make(8);
  run(plans, 1);
  PlanKey shorter;
  shorter.add(uint64_t{7});
  shorter.add(uint64_t{1});
  PlanLease lease(plans, shorter);
  EXPECT_EQ(lease.get(), nullptr);
}

TEST_F(PlanCacheTest, IsBounded) {
  PlanCache& plans = make(16);
  for (uint64_t i = 0; i < 1000; ++i) run(plans, i);
  EXPECT_EQ(plans.size(), 16u);
  synchronize();
  EXPECT_EQ(alive, 16);
}

TEST_F(PlanCacheTest, APlanUsedAgainAndAgainStays) {
  PlanCache& plans = make(16);
  run(plans, 0);
  for (uint64_t i = 1; i < 1000; ++i) {
    run(plans, i);
    EXPECT_NE(run(plans, 0), nullptr) << i;
  }
}

TEST_F(PlanCacheTest, AReplacedPlanLivesUntilTheStreamHasDoneItsWork) {
  PlanCache& plans = make(1);
  run(plans, 1);
  run(plans, 2);
  EXPECT_EQ(alive, 2);
  synchronize();
  EXPECT_EQ(alive, 1);
}

TEST_F(PlanCacheTest, APlanThatFailedIsNotUsedAgain) {
  PlanCache& plans = make(8);
  run(plans, 1);
  run(plans, 2);
  {
    const PlanKey key = key_of(1);
    PlanLease lease(plans, key);
    EXPECT_NE(lease.get(), nullptr);
  }
  EXPECT_EQ(plans.size(), 1u);
  EXPECT_EQ(run(plans, 1), nullptr);
  EXPECT_NE(run(plans, 2), nullptr);
}

TEST_F(PlanCacheTest, TwoThreadsNeverHoldOnePlan) {
  PlanCache& plans = make(8);
  const PlanKey key = key_of(1);
  run(plans, 1);
  PlanLease first(plans, key);
  PlanLease second(plans, key);
  EXPECT_NE(first.get(), nullptr);
  EXPECT_EQ(second.get(), nullptr);
  second.renew(std::make_unique<CountedPlan>(alive));
  second.keep();
  first.keep();
  EXPECT_EQ(plans.size(), 2u);
}

TEST_F(PlanCacheTest, AClearedCacheIsEmptyAndWorksOn) {
  PlanCache& plans = make(8);
  for (uint64_t i = 0; i < 5; ++i) run(plans, i);
  plans.clear();
  EXPECT_EQ(plans.size(), 0u);
  synchronize();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(run(plans, 1), nullptr);
  EXPECT_NE(run(plans, 1), nullptr);
}

TEST_F(PlanCacheTest, ManyThreadsShareACacheThatIsTooSmall) {
  PlanCache& plans = make(4);
  std::atomic<bool> shared{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 2000; ++i) {
        const PlanKey key = key_of((i + static_cast<uint64_t>(t)) % 7);
        PlanLease lease(plans, key);
        auto* plan = static_cast<CountedPlan*>(lease.get());
        if (plan == nullptr) {
          plan = new CountedPlan(alive);
          lease.renew(std::unique_ptr<CachedPlan>(plan));
        }
        if (plan->users.fetch_add(1) != 0) shared = true;
        plan->users.fetch_sub(1);
        if (i % 50 != 0) lease.keep();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(shared);
  EXPECT_LE(plans.size(), 4u);
  synchronize();
  EXPECT_EQ(static_cast<size_t>(alive), plans.size());
}

}  // namespace
}  // namespace mindtorch::test
