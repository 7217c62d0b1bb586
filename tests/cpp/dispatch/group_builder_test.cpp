// Which recorded ops become one group, and what the group says: no device runs anything here.
#include "mindtorch/dispatch/plan/group_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/cpp/dispatch/trace_writer.h"

namespace mindtorch::dispatch {
namespace {

// An engine with these limits, that runs nothing.
class Engine final : public ops::FusionEngine {
 public:
  Engine(size_t max_steps, size_t max_inputs, size_t max_stores)
      : FusionEngine({.max_steps = max_steps,
                      .max_inputs = max_inputs,
                      .max_stores = max_stores,
                      .min_row = 2,
                      .max_row = 64}) {}
  bool can_fuse(ops::Pointwise function, DType compute) const override {
    return function != refused || compute != refused_in;
  }
  ops::Preparation prepare(const ops::FusedGroup&, const ops::FusedProgram*) const override {
    return ops::Preparation::never();
  }
  bool can_fuse(ops::RowFunction function, DType) const override {
    return function == ops::RowFunction::kSum;
  }
  bool can_fuse_leading(ops::RowFunction function, DType) const override {
    return takes_leading && function == ops::RowFunction::kSum;
  }
  bool takes_leading = true;
  ops::Pointwise refused{};
  DType refused_in = DType::kBool;
};
Engine engine_with(size_t max_steps, size_t max_inputs, size_t max_stores) {
  return {max_steps, max_inputs, max_stores};
}

// The ops of a trace, given to a builder one after the other.
class Group {
 public:
  Group(const TraceWriter& writer, const Engine& engine)
      : trace_(writer.trace),
        engine_(engine),
        liveness_(find_liveness(trace_, writer.visible)),
        fills_(trace_.ops.size()),
        builder_(trace_, liveness_, fills_, engine_, DeviceType::kCpu) {}

  // How many it takes before it refuses one.
  size_t fill() {
    while (taken_ < trace_.ops.size() && builder_.add(trace_.ops[taken_])) ++taken_;
    return taken_;
  }
  bool is_worth_it() const { return builder_.is_worth_it(); }
  ops::FusedGroup finish() {
    std::vector<uint8_t> members(trace_.ops.size());
    std::fill_n(members.begin(), taken_, 1);
    return builder_.finish(members, addresses);
  }
  std::vector<TensorAddress> addresses;

 private:
  const Trace& trace_;
  const Engine engine_;
  const Liveness liveness_;
  const std::vector<uint32_t> fills_;
  GroupBuilder builder_;
  size_t taken_ = 0;
};

// The gradient of clamp(x, min, max): of all three and the incoming gradient.
const ops::Pointwise kFunctionOfFour =
    function_info(ops::Pointwise::kClamp).derivatives[0].function;

TEST(GroupBuilder, KeepsToTheEnginesInputsWithAFunctionOfFourOperands) {
  ASSERT_EQ(function_info(kFunctionOfFour).arity, ops::kMaxOperands);
  for (const size_t limit : {1, 2, 3, 4, 5, 6}) {
    TraceWriter w;
    const uint32_t product = w.mul(w.input({8}), w.input({8}));
    w.pointwise("add.Tensor", kFunctionOfFour, {product, w.input({8}), w.input({8}), w.input({8})},
                true);
    Group group(w, engine_with(16, limit, 16));
    const size_t expected = limit < 2 ? 0 : limit < 5 ? 1 : 2;
    EXPECT_EQ(group.fill(), expected) << limit;
    EXPECT_LE(group.finish().inputs.size(), limit);
  }
}

// Where elements share memory, what a write leaves there depends on its order.
TEST(GroupBuilder, WritesToElementsThatOverlapStayOut) {
  TraceWriter w;
  const uint32_t x = w.input({4, 3});
  const uint32_t windows = w.view(w.input({6}), {4, 3}, {1, 1});
  w.mul_in_place(windows, x);
  w.add(windows, x, true);
  EXPECT_EQ(Group(w, engine_with(16, 16, 16)).fill(), 0u);
  const Plan plan = w.plan();
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_FALSE(plan.steps[0].is_fused);
}

TEST(GroupBuilder, ReadsOfElementsThatOverlapJoin) {
  TraceWriter w;
  const uint32_t x = w.input({4, 3});
  const uint32_t windows = w.view(w.input({6}), {4, 3}, {1, 1});
  w.add(w.mul(windows, x), windows, true);
  EXPECT_EQ(Group(w, engine_with(16, 16, 16)).fill(), 2u);
}

TEST(GroupBuilder, KeepsToTheEnginesStepsAndStores) {
  TraceWriter w;
  const uint32_t x = w.input({8});
  uint32_t t = x;
  for (int i = 0; i < 5; ++i) t = w.mul(t, x, true);
  EXPECT_EQ(Group(w, engine_with(3, 16, 16)).fill(), 3u);
  EXPECT_EQ(Group(w, engine_with(16, 16, 2)).fill(), 2u);
}

TEST(GroupBuilder, WhatTheEngineRefusesStaysOut) {
  TraceWriter w;
  const uint32_t x = w.input({8});
  w.add(w.mul(x, x), x, true);
  Engine engine = engine_with(16, 16, 16);
  engine.refused = ops::Pointwise::kAdd;
  EXPECT_EQ(Group(w, engine).fill(), 2u);  // in bool only
  engine.refused_in = kF32;
  EXPECT_EQ(Group(w, engine).fill(), 1u);
}

TEST(GroupBuilder, IsWorthItWhereAValueOrAnInputIsShared) {
  const auto is_worth_it = [](auto&& second) {
    TraceWriter w;
    const uint32_t x = w.input({8});
    const uint32_t product = w.mul(x, w.input({8}), true);
    second(w, x, product);
    Group group(w, engine_with(16, 16, 16));
    EXPECT_EQ(group.fill(), 2u);
    return group.is_worth_it();
  };
  EXPECT_TRUE(
      is_worth_it([](auto& w, uint32_t, uint32_t made) { w.add(made, w.input({8}), true); }));
  EXPECT_TRUE(is_worth_it([](auto& w, uint32_t x, uint32_t) { w.add(w.input({8}), x, true); }));
  EXPECT_FALSE(
      is_worth_it([](auto& w, uint32_t, uint32_t) { w.add(w.input({8}), w.input({8}), true); }));
}

TEST(GroupBuilder, AnOpThatDoesNotJoinSharesNothing) {
  TraceWriter w;
  const uint32_t x = w.input({8});
  w.mul(x, w.input({8}), true);
  w.add(x, w.view(w.input({16}), {8}, {2}), true);
  // It would read x, which the group has, but also one input more than there may be.
  Group group(w, engine_with(16, 2, 16));
  EXPECT_EQ(group.fill(), 1u);
  EXPECT_FALSE(group.is_worth_it());
}

TEST(GroupBuilder, StoresWhatIsSeenOutsideAlone) {
  TraceWriter w;
  const uint32_t x = w.input({8});
  const uint32_t inner = w.mul(x, x);
  const uint32_t kept = w.add(inner, x, true);
  w.mul(kept, inner, true);
  Group group(w, engine_with(16, 16, 16));
  EXPECT_EQ(group.fill(), 3u);
  const ops::FusedGroup made = group.finish();
  ASSERT_EQ(made.inputs.size(), 1u);
  ASSERT_EQ(made.stores.size(), 2u);
  EXPECT_EQ(made.stores[0].value, 2);
  EXPECT_EQ(made.stores[1].value, 3);
  EXPECT_EQ(made.steps[2].operands[0], 2);
  EXPECT_EQ(made.steps[2].operands[1], 1);
  EXPECT_EQ(group.addresses.size(), 3u);
}

// In place: the old value is read, the new one stored.
TEST(GroupBuilder, ASecondWriteReplacesTheFirst) {
  TraceWriter w;
  const uint32_t x = w.input({8});
  w.mul_in_place(x, x);
  w.mul_in_place(x, x);
  Group group(w, engine_with(16, 16, 16));
  EXPECT_EQ(group.fill(), 2u);
  const ops::FusedGroup made = group.finish();
  EXPECT_EQ(made.inputs.size(), 1u);
  ASSERT_EQ(made.stores.size(), 1u);
  EXPECT_EQ(made.stores[0].value, 2);
}

TEST(GroupBuilder, PartsOfWhatTheGroupReadsOrWritesStayOut) {
  TraceWriter w;
  const uint32_t x = w.input({8});
  const uint32_t first = w.view(x, {4}, {1});
  const uint32_t later = w.view(x, {4}, {1}, 2);
  w.mul_in_place(first, w.input({4}));
  w.add(later, w.input({4}), true);  // half of what is written
  EXPECT_EQ(Group(w, engine_with(16, 16, 16)).fill(), 1u);
  TraceWriter v;
  const uint32_t y = v.input({8});
  v.mul(v.view(y, {4}, {1}), v.input({4}), true);
  v.mul_in_place(v.view(y, {4}, {1}, 2), v.input({4}));  // half of what is read
  EXPECT_EQ(Group(v, engine_with(16, 16, 16)).fill(), 1u);
}

TEST(GroupBuilder, RowsAndWhatFollowsFromThemJoin) {
  TraceWriter w;
  const uint32_t x = w.input({4, 8});
  const uint32_t sums = w.sum(w.mul(x, x), {-1}, {4, 1}, true, false);
  w.add(x, sums, true);
  Group group(w, engine_with(16, 16, 16));
  EXPECT_EQ(group.fill(), 3u);
  const ops::FusedGroup made = group.finish();
  EXPECT_TRUE(made.steps[1].is_row);
  EXPECT_EQ(made.steps[1].leading_dims, 0);
  EXPECT_EQ(made.stores.size(), 1u);
}

// The gradient of a bias.
TEST(GroupBuilder, SumsOverLeadingDimsJoinWhereTheEngineTakesThem) {
  TraceWriter w;
  const uint32_t x = w.input({4, 2, 8});
  w.sum(w.mul(x, x, true), {0, 1}, {8});
  Engine engine = engine_with(16, 16, 16);
  Group group(w, engine);
  ASSERT_EQ(group.fill(), 2u);
  EXPECT_TRUE(group.is_worth_it());
  const ops::FusedGroup made = group.finish();
  EXPECT_EQ(made.sizes, (Shape{4, 2, 8}));
  EXPECT_EQ(made.steps[1].leading_dims, 2);
  EXPECT_FALSE(made.steps[1].is_row);
  ASSERT_EQ(made.stores.size(), 2u);
  EXPECT_EQ(made.stores[1].layout.strides, (Shape{0, 0, 1}));
  engine.takes_leading = false;
  EXPECT_EQ(Group(w, engine).fill(), 1u);
}

// It is complete when the group has run.
TEST(GroupBuilder, NoStepReadsASumOverLeadingDims) {
  TraceWriter w;
  const uint32_t x = w.input({4, 8});
  const uint32_t sum = w.sum(w.mul(x, x), {0}, {1, 8}, true);
  w.add(x, sum, true);
  EXPECT_EQ(Group(w, engine_with(16, 16, 16)).fill(), 2u);
  TraceWriter v;
  const uint32_t y = v.input({4, 8});
  v.sum(v.mul(y, v.input({8})), {0}, {8});
  v.sum(y, {1}, {4});  // rows of the same group
  EXPECT_EQ(Group(v, engine_with(16, 16, 16)).fill(), 2u);
}

TEST(GroupBuilder, SumsOverOtherDimsStayOut) {
  TraceWriter w;
  const uint32_t x = w.input({4, 2, 8});
  w.sum(w.mul(x, x), {1}, {4, 8});
  EXPECT_EQ(Group(w, engine_with(16, 16, 16)).fill(), 1u);
}

}  // namespace
}  // namespace mindtorch::dispatch
