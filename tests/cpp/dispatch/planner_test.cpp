// The planner on traces written by hand, and on recorded ones: no device runs anything here.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "mindtorch/dispatch/plan/liveness.h"
#include "mindtorch/dispatch/plan/plan.h"
#include "tests/cpp/dispatch/trace_writer.h"

namespace mindtorch::dispatch {
namespace {

// The first op of each step; fused ones with the number of their ops.
using Steps = std::vector<std::pair<uint32_t, size_t>>;
Steps steps_of(const Plan& plan) {
  Steps steps;
  for (const PlanStep& step : plan.steps) {
    steps.emplace_back(step.first_op, step.is_fused ? step.group.steps.size() : 0);
  }
  return steps;
}

bool contains(const std::vector<uint32_t>& list, uint32_t value) {
  return std::ranges::find(list, value) != list.end();
}

TEST(Liveness, GoesBackwardsFromWhatIsVisible) {
  TraceWriter w;
  const uint32_t x = w.input({8});
  const uint32_t used = w.mul(x, x);
  w.mul(used, x);  // nobody sees it
  w.add(used, x, true);
  const Liveness liveness = find_liveness(w.trace, w.visible);
  EXPECT_EQ(liveness.is_dead, (std::vector<uint8_t>{0, 1, 0}));
  EXPECT_TRUE(liveness.storages[w.trace.tensors[used].storage].is_needed);
  EXPECT_EQ(liveness.storages[w.trace.tensors[used].storage].last_use, 2);
  EXPECT_EQ(liveness.storages[w.trace.tensors[used].storage].last_write, 0);
}

TEST(Planner, NeighboursBecomeOneGroup) {
  TraceWriter w;
  const uint32_t x = w.input({8});
  const uint32_t y = w.add(w.mul(x, x), x, true);
  const Plan plan = w.plan();
  EXPECT_EQ(steps_of(plan), (Steps{{0, 2}}));
  EXPECT_EQ(plan.fused_ops, (std::vector<uint32_t>{0, 1}));
  // The product in between is never stored.
  ASSERT_EQ(plan.steps[0].group.stores.size(), 1u);
  EXPECT_EQ(plan.steps[0].allocates, (std::vector<uint32_t>{w.trace.tensors[y].storage}));
  EXPECT_EQ(plan.outputs, (std::vector<uint32_t>{w.trace.tensors[y].storage}));
}

// Another trace may begin behind an op that no group reaches over.
TEST(Planner, TellsWhereATraceMayEnd) {
  TraceWriter w;
  const uint32_t x = w.input({4, 4});
  const uint32_t product = w.mul(x, x);
  const uint32_t other = w.mm(x, x, {4, 4}, true);
  const uint32_t sum = w.add(product, x);
  w.mm(sum, other, {4, 4}, true);
  const Plan plan = w.plan();
  ASSERT_EQ(steps_of(plan), (Steps{{0, 2}, {1, 0}, {3, 0}}));
  EXPECT_EQ(plan.ends_within, (std::vector<uint8_t>{1, 1, 0, 0}));
  ASSERT_EQ(plan.unstored.size(), 1u);
  EXPECT_EQ(plan.unstored[0].storage, w.trace.tensors[product].storage);
  EXPECT_EQ(plan.unstored[0].last_op, 2u);
}

TEST(Planner, DeadOpsHaveNoStep) {
  TraceWriter w;
  const uint32_t x = w.input({8});
  w.mul(x, x);
  w.add(x, x, true);
  EXPECT_EQ(steps_of(w.plan()), (Steps{{1, 0}}));
}

TEST(Planner, AnIndependentOpDoesNotSplitAGroup) {
  TraceWriter w;
  const uint32_t x = w.input({4, 4});
  const uint32_t a = w.input({2, 3});
  const uint32_t b = w.input({3, 5});
  const uint32_t product = w.mul(x, x);
  w.mm(a, b, {2, 5}, true);
  w.add(product, x, true);
  EXPECT_EQ(steps_of(w.plan()), (Steps{{0, 2}, {1, 0}}));
}

TEST(Planner, AnOpThatDependsOnTheOneBetweenStaysBehindIt) {
  TraceWriter w;
  const uint32_t x = w.input({4, 4});
  const uint32_t product = w.mul(x, x);
  const uint32_t between = w.mm(product, x, {4, 4});
  w.add(product, between, true);
  EXPECT_EQ(steps_of(w.plan()), (Steps{{0, 0}, {1, 0}, {2, 0}}));
}

// The value is read by the op in between: it must be in memory.
TEST(Planner, WhatTheOpBetweenReadsIsStored) {
  TraceWriter w;
  const uint32_t x = w.input({4, 4});
  const uint32_t product = w.mul(x, x);
  w.mm(product, x, {4, 4}, true);
  w.add(product, x, true);
  const Plan plan = w.plan();
  EXPECT_EQ(steps_of(plan), (Steps{{0, 2}, {1, 0}}));
  EXPECT_EQ(plan.steps[0].group.stores.size(), 2u);
  EXPECT_TRUE(contains(plan.steps[1].releases, w.trace.tensors[product].storage));
}

// If the op in between fails, x must be as it was.
TEST(Planner, WritesOfOldMemoryDoNotPassOthers) {
  TraceWriter w;
  const uint32_t x = w.input({4, 4});
  const uint32_t a = w.input({2, 2});
  w.mul(x, x, true);
  w.mm(a, a, {2, 2}, true);
  w.mul_in_place(x, x);
  EXPECT_EQ(steps_of(w.plan()), (Steps{{0, 0}, {1, 0}, {2, 0}}));
}

TEST(Planner, AGroupReachesOverAFewOpsOnly) {
  TraceWriter w;
  const uint32_t x = w.input({4, 4});
  const uint32_t a = w.input({2, 2});
  const uint32_t product = w.mul(x, x);
  for (int i = 0; i < 40; ++i) w.mm(a, a, {2, 2}, true);
  w.add(product, x, true);
  const Plan plan = w.plan();
  EXPECT_EQ(plan.steps.size(), 42u);
  EXPECT_TRUE(plan.fused_ops.empty());
}

TEST(Planner, ResultsTakeOverTheMemoryOfOperandsThatEnd) {
  TraceWriter w;
  const uint32_t x = w.input({4, 4});
  const uint32_t first = w.mm(x, x, {4, 4});
  const uint32_t second = w.mul(first, x);
  w.mm(second, x, {4, 4}, true);
  const Plan plan = w.plan();
  EXPECT_EQ(plan.buffer_of[w.trace.tensors[second].storage], w.trace.tensors[first].storage);
  EXPECT_TRUE(contains(plan.steps[1].donated, w.trace.tensors[second].storage));
  EXPECT_TRUE(contains(plan.steps[2].releases, w.trace.tensors[first].storage));
}

// What never reaches memory as one needs some, from the op that makes it to the last that reads it.
TEST(Planner, AGroupOneByOneHasMemoryForWhatItKeepsInside) {
  TraceWriter w;
  const uint32_t x = w.input({8});
  const uint32_t first = w.mul(x, x);
  const uint32_t second = w.add(first, x);
  const uint32_t kept = w.mul(second, first, true);
  w.mul(second, kept, true);
  const Plan plan = w.plan();
  ASSERT_EQ(steps_of(plan), (Steps{{0, 4}}));
  const std::vector<PlanStep> singles = single_steps(w.trace, plan, plan.steps[0]);
  const auto storage = [&](uint32_t id) { return w.trace.tensors[id].storage; };
  using List = std::vector<uint32_t>;
  ASSERT_EQ(singles.size(), 4u);
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(singles[i].first_op, i);
    EXPECT_FALSE(singles[i].is_fused);
  }
  EXPECT_EQ(singles[0].allocates, List{storage(first)});
  EXPECT_EQ(singles[1].allocates, List{storage(second)});
  EXPECT_EQ(singles[2].releases, List{storage(first)});
  EXPECT_EQ(singles[3].releases, List{storage(second)});
  // The group as a whole allocates what others see.
  EXPECT_TRUE(singles[2].allocates.empty() && singles[3].allocates.empty());
}

TEST(Planner, MemoryIsReleasedAfterItsLastUse) {
  TraceWriter w;
  const uint32_t x = w.input({4, 4});
  const uint32_t first = w.mm(x, x, {4, 4});
  const uint32_t second = w.mm(first, x, {4, 4});
  w.mm(second, x, {4, 4}, true);
  const Plan plan = w.plan();
  EXPECT_EQ(plan.steps[0].allocates, (std::vector<uint32_t>{w.trace.tensors[first].storage}));
  EXPECT_EQ(plan.steps[1].releases, (std::vector<uint32_t>{w.trace.tensors[first].storage}));
  EXPECT_EQ(plan.steps[2].releases, (std::vector<uint32_t>{w.trace.tensors[second].storage}));
}

}  // namespace
}  // namespace mindtorch::dispatch
