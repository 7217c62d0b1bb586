// One queue of recorded ops: who owns it, what runs it, and what an error leaves behind.
#include "mindtorch/dispatch/record/op_queue.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "mindtorch/functional/functions.h"
#include "tests/cpp/support/never_freed.h"

namespace mindtorch::dispatch {
namespace {

class TestOwner final : public OpQueue::Owner {
 public:
  struct Done {
    std::string reason;
    size_t ops;
    bool has_failed;
    size_t failed_op;
    bool is_plan;
  };
  std::vector<Done> done;
  std::function<void(OpQueue&)> then;  // on_done() calls it

 private:
  void on_done(OpQueue& queue, std::string_view reason, const FlushFailure* failure) override {
    done.push_back({std::string(reason), queue.size(), failure != nullptr,
                    failure == nullptr ? 0 : failure->op, failure != nullptr && failure->is_plan});
    if (then) then(queue);
  }
};

// A queue with an owner, that nobody else knows. Never freed, as all queues.
class OpQueueTest : public ::testing::Test {
 protected:
  OpQueueTest() { queue.try_attach(owner); }
  ~OpQueueTest() override {
    owner.then = nullptr;
    queue.flush("end");
    queue.detach();
  }

  // What eager mode does, up to the point where it would launch.
  Tensor record(const char* name, const std::vector<ops::Value>& args) {
    const ops::Op& op = ops::registry().at(name);
    ops::SpecList specs;
    std::optional<ops::PointwiseCall> call;
    if (op.kind == ops::OpKind::kPointwise) {
      call.emplace(op.resolve(args));
      specs.push_back(ops::infer_pointwise(*call));
    } else {
      op.infer(args, specs);
    }
    Tensor out = Tensor::unallocated(specs[0].sizes, IntList(), specs[0].dtype, specs[0].device);
    PreparedCall prepared{op, args, specs[0].device, {&out, 1}};
    prepared.writes = Writes::kNew;
    if (call) {
      prepared.pointwise = &*call;
      prepared.engine = ops::registry().pointwise_engine(specs[0].device.type);
    }
    queue.record(prepared, state);
    return out;
  }
  Tensor mul(const Tensor& a, const Tensor& b) { return record("mul.Tensor", {a, b}); }
  // Fails when it runs.
  Tensor pick_row_nine(const Tensor& x) { return record("index_select", {x, int64_t{0}, nine}); }
  // The op again, compared with the last trace.
  bool match_mul(const Tensor& a, const Tensor& b, ops::Outputs& outputs) {
    const ops::Value args[] = {a, b};
    return queue.match(ops::registry().at("mul.Tensor"), args, outputs, state);
  }

  OpQueue& queue = testing::never_freed(new OpQueue);
  TestOwner owner;
  OpQueue::State state{};
  const Tensor x = full({2, 3}, Scalar(3.0));
  const Tensor nine = full({1}, Scalar(int64_t{9}), DType::kInt64);
};

bool is_pending(const Tensor& tensor) { return tensor.storage()->pending() != nullptr; }

TEST_F(OpQueueTest, HasOneOwnerAtATime) {
  TestOwner other;
  EXPECT_FALSE(queue.try_attach(other));
  queue.detach();
  EXPECT_TRUE(queue.try_attach(other));
  EXPECT_FALSE(queue.try_attach(owner));
  queue.detach();
  EXPECT_TRUE(queue.try_attach(owner));
}

TEST_F(OpQueueTest, WhatIsRecordedRunsAtAFlush) {
  const Tensor square = mul(x, x);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(state.ops, 1u);
  EXPECT_EQ(state.unallocated_bytes, 24u);
  EXPECT_EQ(square.storage()->pending(), &queue);
  const OpQueue::Flushed flushed = queue.flush("test", &owner);
  EXPECT_TRUE(flushed.has_run);
  EXPECT_EQ(flushed.error, nullptr);
  EXPECT_FALSE(is_pending(square));
  EXPECT_TRUE(equal(square, full({2, 3}, Scalar(9.0))));
  EXPECT_EQ(queue.size(), 0u);
}

// It may still look at the ops.
TEST_F(OpQueueTest, TheOwnerIsToldWhileTheOpsAreThere) {
  std::vector<std::string> names;
  owner.then = [&](OpQueue& done) {
    for (const OpRecord& op : done.trace().ops) names.push_back(op.op->schema.name);
  };
  const Tensor square = mul(x, x);
  queue.flush("test");
  EXPECT_EQ(names, std::vector<std::string>{"mul"});
  ASSERT_EQ(owner.done.size(), 1u);
  EXPECT_EQ(owner.done[0].reason, "test");
  EXPECT_EQ(owner.done[0].ops, 1u);
  EXPECT_FALSE(owner.done[0].has_failed);
}

TEST_F(OpQueueTest, WithoutOpsNothingRuns) {
  EXPECT_FALSE(queue.flush("test").has_run);
  EXPECT_TRUE(owner.done.empty());
}

TEST_F(OpQueueTest, AFlushForAnotherOwnerLeavesItAlone) {
  const TestOwner other;
  const Tensor square = mul(x, x);
  EXPECT_FALSE(queue.flush("test", &other).has_run);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_TRUE(is_pending(square));
}

TEST_F(OpQueueTest, ReadingAResultRunsIt) {
  const Tensor square = mul(x, x);
  EXPECT_EQ(static_cast<const float*>(square.storage()->data())[5], 9.0f);
  ASSERT_EQ(owner.done.size(), 1u);
  EXPECT_EQ(owner.done[0].reason, "read");
}

TEST_F(OpQueueTest, AnyThreadMayReadAResult) {
  const Tensor square = mul(x, x);
  float value = 0;
  std::thread([&] { value = static_cast<const float*>(square.storage()->data())[0]; }).join();
  EXPECT_EQ(value, 9.0f);
  EXPECT_EQ(queue.size(), 0u);
}

TEST_F(OpQueueTest, KnowsWhatItReads) {
  const Tensor other = full({2, 3}, Scalar(1.0));
  const Tensor square = mul(x, x);
  EXPECT_TRUE(queue.reads(*x.storage()));
  EXPECT_FALSE(queue.reads(*other.storage()));
  EXPECT_EQ(x.storage()->pending_readers(), 1u);
  queue.flush("test");
  EXPECT_EQ(x.storage()->pending_readers(), 0u);
}

TEST_F(OpQueueTest, CountsTracesAndRandomOps) {
  const uint64_t before = queue.generation();
  const Tensor square = mul(x, x);
  const Tensor cube = mul(square, x);
  EXPECT_EQ(queue.generation(), before + 1);
  EXPECT_FALSE(queue.has_random());
  const Tensor order = record("randperm", {int64_t{5}, {}, {}, {}});
  EXPECT_TRUE(queue.has_random());
  queue.flush("test");
  EXPECT_FALSE(queue.has_random());
  const Tensor again = mul(x, x);
  EXPECT_EQ(queue.generation(), before + 2);
}

TEST_F(OpQueueTest, AnErrorStaysWithWhatWasNotWritten) {
  const Tensor square = mul(x, x);
  const Tensor row = pick_row_nine(x);
  const Tensor more = mul(row, row);
  const OpQueue::Flushed flushed = queue.flush("test");
  EXPECT_TRUE(flushed.has_run);
  EXPECT_THROW(std::rethrow_exception(flushed.error), IndexError);
  ASSERT_EQ(owner.done.size(), 1u);
  EXPECT_TRUE(owner.done[0].has_failed);
  EXPECT_EQ(owner.done[0].failed_op, 1u);
  EXPECT_FALSE(owner.done[0].is_plan);
  EXPECT_TRUE(equal(square, full({2, 3}, Scalar(9.0))));
  EXPECT_THROW(row.storage()->data(), IndexError);
  EXPECT_THROW(more.storage()->data(), IndexError);
  // The queue goes on.
  const Tensor later = mul(x, x);
  EXPECT_EQ(queue.flush("test").error, nullptr);
  EXPECT_TRUE(equal(later, square));
}

TEST_F(OpQueueTest, AFlushWithinAFlushDoesNothing) {
  bool has_run = true;
  owner.then = [&](OpQueue& done) { has_run = done.flush("inner").has_run; };
  const Tensor square = mul(x, x);
  queue.flush("test");
  EXPECT_FALSE(has_run);
  EXPECT_EQ(owner.done.size(), 1u);
}

TEST_F(OpQueueTest, AnotherThreadNeedNotWaitForAFlush) {
  bool has_run = true;
  owner.then = [&](OpQueue& done) {
    std::thread([&] { has_run = done.flush("other", nullptr, false).has_run; }).join();
  };
  const Tensor square = mul(x, x);
  queue.flush("test");
  EXPECT_FALSE(has_run);
}

TEST_F(OpQueueTest, WhoeverWaitedForAFlushFindsNothingToDo) {
  bool has_run = true;
  std::thread waiting;
  owner.then = [&](OpQueue& done) {
    waiting = std::thread([&] { has_run = done.flush("other").has_run; });
  };
  const Tensor square = mul(x, x);
  queue.flush("test");
  waiting.join();
  EXPECT_FALSE(has_run);
  EXPECT_EQ(owner.done.size(), 1u);
}

TEST_F(OpQueueTest, NeighboursAreLaunchedAsOne) {
  const Tensor square = mul(x, x);
  const Tensor cube = mul(square, x);
  queue.flush("test");
  EXPECT_EQ(queue.last_launches(), 1u);
  EXPECT_TRUE(equal(cube, full({2, 3}, Scalar(27.0))));
  EXPECT_TRUE(equal(square, full({2, 3}, Scalar(9.0))));
}

TEST_F(OpQueueTest, OpsThatRepeatAreOnlyCompared) {
  ops::Outputs outputs;
  EXPECT_FALSE(match_mul(x, x, outputs));
  for (int i = 0; i < 3; ++i) {
    const Tensor square = mul(x, x);
    queue.flush("test");
  }
  EXPECT_EQ(queue.plans_made(), 1u);
  ASSERT_TRUE(match_mul(x, x, outputs));
  const Tensor square = outputs.tensors[0];
  EXPECT_EQ(square.storage()->pending(), &queue);
  EXPECT_EQ(queue.size(), 1u);
  queue.flush("test");
  EXPECT_TRUE(equal(square, full({2, 3}, Scalar(9.0))));
  EXPECT_EQ(queue.plans_made(), 1u);
}

TEST_F(OpQueueTest, WhatDiffersFromThePredictionIsRecordedAnew) {
  for (int i = 0; i < 2; ++i) {
    const Tensor square = mul(x, x);
    const Tensor cube = mul(square, x);
    queue.flush("test");
  }
  ops::Outputs outputs;
  ASSERT_TRUE(match_mul(x, x, outputs));
  const Tensor square = outputs.tensors[0];
  ops::Outputs none;
  const Tensor wide = full({4, 2, 3}, Scalar(2.0));
  EXPECT_FALSE(match_mul(square, wide, none));
  const Tensor product = mul(square, wide);
  EXPECT_EQ(queue.size(), 2u);
  queue.flush("test");
  EXPECT_TRUE(equal(product, full({4, 2, 3}, Scalar(18.0))));
  EXPECT_EQ(queue.plans_made(), 2u);
}

}  // namespace
}  // namespace mindtorch::dispatch
