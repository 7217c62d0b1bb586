// Which recorded ops become one group, and what the group says: no device runs anything here.
#include "mindtorch/dispatch/plan/group_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/cpp/dispatch/trace_writer.h"

namespace mindtorch::dispatch {
namespace {

// An engine with these limits, that runs nothing.
ops::FusionEngine engine_with(size_t max_steps, size_t max_inputs, size_t max_stores) {
  return {.max_steps = max_steps, .max_inputs = max_inputs, .max_stores = max_stores};
}

// The ops of a trace, given to a builder one after the other.
class Group {
 public:
  Group(const TraceWriter& writer, const ops::FusionEngine& engine)
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
  const ops::FusionEngine engine_;
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

}  // namespace
}  // namespace mindtorch::dispatch
