// The planner on traces written by hand, and on recorded ones: no device runs anything here.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "mindtorch/dispatch/plan/liveness.h"
#include "mindtorch/dispatch/plan/plan.h"

namespace mindtorch::dispatch {
namespace {

constexpr DType kF32 = DType::kFloat32;

// Writes traces of float tensors, all contiguous and each with a storage of its own.
class TraceWriter {
 public:
  Trace trace;
  std::vector<uint8_t> visible;

  uint32_t tensor(Shape sizes, bool is_unallocated, bool is_visible) {
    TensorRecord record{};
    record.storage = static_cast<uint32_t>(trace.storages.size());
    record.first_dim = static_cast<uint32_t>(trace.dims.size());
    record.rank = static_cast<uint32_t>(sizes.size());
    record.dtype = kF32;
    record.is_contiguous = 1;
    const Shape strides = contiguous_strides(sizes);
    trace.dims.insert(trace.dims.end(), sizes.begin(), sizes.end());
    trace.dims.insert(trace.dims.end(), strides.begin(), strides.end());
    trace.storages.push_back(
        {static_cast<uint64_t>(numel(sizes) * 4), DeviceType::kCpu, is_unallocated, 0});
    trace.tensors.push_back(record);
    visible.push_back(is_visible);
    return static_cast<uint32_t>(trace.tensors.size() - 1);
  }
  uint32_t input(Shape sizes) { return tensor(std::move(sizes), false, true); }

  // A new tensor that a pointwise op makes of others.
  uint32_t pointwise(const char* op,
                     ops::Pointwise function,
                     std::initializer_list<uint32_t> operands,
                     bool is_visible = false) {
    const Shape sizes(trace.sizes(trace.tensors[*operands.begin()]));
    const uint32_t out = tensor(sizes, true, is_visible);
    OpRecord record = begin(op, operands, {out});
    record.is_pointwise = 1;
    record.function = function;
    record.compute = record.result = kF32;
    record.unrounded = -1;
    add(record);
    return out;
  }
  uint32_t mul(uint32_t a, uint32_t b, bool is_visible = false) {
    return pointwise("mul.Tensor", ops::Pointwise::kMul, {a, b}, is_visible);
  }
  uint32_t add(uint32_t a, uint32_t b, bool is_visible = false) {
    return pointwise("add.Tensor", ops::Pointwise::kAdd, {a, b}, is_visible);
  }
  uint32_t mm(uint32_t a, uint32_t b, Shape sizes, bool is_visible = false) {
    const uint32_t out = tensor(std::move(sizes), true, is_visible);
    add(begin("mm", {a, b}, {out}));
    return out;
  }
  // a *= b
  void mul_in_place(uint32_t a, uint32_t b) {
    OpRecord record = begin("mul.Tensor", {a, b}, {a});
    record.is_pointwise = 1;
    record.function = ops::Pointwise::kMul;
    record.compute = record.result = kF32;
    record.unrounded = -1;
    add(record);
  }
  Plan plan() const { return make_plan(trace, visible); }

 private:
  OpRecord begin(const char* op,
                 std::initializer_list<uint32_t> operands,
                 std::initializer_list<uint32_t> outputs) {
    OpRecord record{};
    record.op = &ops::registry().at(op);
    record.first_id = static_cast<uint32_t>(trace.tensor_ids.size());
    record.operand_count = static_cast<uint32_t>(operands.size());
    record.output_count = static_cast<uint16_t>(outputs.size());
    record.first_argument = static_cast<uint32_t>(trace.arguments.size());
    record.device = DeviceType::kCpu;
    trace.tensor_ids.insert(trace.tensor_ids.end(), operands);
    trace.tensor_ids.insert(trace.tensor_ids.end(), outputs);
    return record;
  }
  void add(const OpRecord& record) {
    trace.ops.push_back(record);
    trace.params.emplace_back();
  }
};

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
