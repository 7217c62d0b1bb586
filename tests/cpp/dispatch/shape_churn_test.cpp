// Traces that have new shapes every time are executed at once; whatever else comes is recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "mindtorch/dispatch/record/pipeline.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::test {
namespace {

using dispatch::Pipeline;
using dispatch::PipelineConfig;

bool is_pending(const Tensor& tensor) { return tensor.storage()->pending() != nullptr; }

// One block; whether its ops waited, and a result.
struct Step {
  bool waited;
  Tensor result;
};
Step step(const Tensor& x) {
  Pipeline pipeline{PipelineConfig()};
  pipeline.enter();
  const Tensor y = relu(add(mul(x, x), x));
  return {is_pending(y), y};
}

// Lets shapes grow until ops are executed at once. How many blocks that took.
int grow_until_immediate(int64_t& size) {
  for (int i = 1; i < 20; ++i) {
    const Step done = step(full({++size}, Scalar(2.0)));
    EXPECT_EQ(done.result.data<float>()[size - 1], 6);
    if (!done.waited) return i;
  }
  return 0;
}

// Each test is a program of its own: what a thread recorded before does not count on another.
template <typename Body>
void on_new_thread(Body body) {
  std::thread(body).join();
}

TEST(ShapeChurn, AfterAFewNewShapesOpsRunAtOnce) {
  on_new_thread([] {
    int64_t size = 100;
    EXPECT_EQ(grow_until_immediate(size), 5);
    for (int i = 0; i < 50; ++i) EXPECT_FALSE(step(full({++size}, Scalar(2.0))).waited) << i;
  });
}

TEST(ShapeChurn, OtherOpsAreRecordedAgain) {
  on_new_thread([] {
    int64_t size = 1000;
    ASSERT_NE(grow_until_immediate(size), 0);
    {
      Pipeline pipeline{PipelineConfig()};
      pipeline.enter();
      const Tensor y = exp(full({4}, Scalar(0.0)));
      EXPECT_TRUE(is_pending(y));
    }
    EXPECT_TRUE(step(full({5}, Scalar(2.0))).waited);
  });
}

TEST(ShapeChurn, LargeResultsAreRecordedAgain) {
  on_new_thread([] {
    int64_t size = 2000;
    ASSERT_NE(grow_until_immediate(size), 0);
    EXPECT_TRUE(step(full({int64_t{1} << 20}, Scalar(2.0))).waited);
  });
}

// A queue that is free serves any thread: what it knows of another's program does not count.
TEST(ShapeChurn, TheProgramOfAnotherThreadIsRecorded) {
  on_new_thread([] {
    int64_t size = 4000;
    ASSERT_NE(grow_until_immediate(size), 0);
    ASSERT_FALSE(step(full({++size}, Scalar(2.0))).waited);
    bool waited = false;
    std::thread([&] { waited = step(full({5}, Scalar(2.0))).waited; }).join();
    EXPECT_TRUE(waited);
  });
}

// A cache that grows to the same length again and again, with another op in between, which ends
// what ran at once. Each pass finds the plans of the one before and would add a few of its own, so
// that in the end all shapes were recorded; plans from long ago count as new.
TEST(ShapeChurn, ShapesThatComeBackLateRunAtOnce) {
  on_new_thread([] {
    constexpr int64_t kFirst = 5000;
    constexpr int64_t kSizes = 100;
    int64_t most = 0;
    for (int pass = 0; pass < 40; ++pass) {
      int64_t recorded = 0;
      for (int64_t size = kFirst; size < kFirst + kSizes; ++size) {
        recorded += step(full({size}, Scalar(2.0))).waited ? 1 : 0;
      }
      most = std::max(most, recorded);
      Pipeline pipeline{PipelineConfig()};
      pipeline.enter();
      exp(full({4}, Scalar(0.0)));
    }
    EXPECT_LT(most, kSizes / 2);
  });
}

// To begin and flush a trace takes longer than to call a few small ops.
TEST(ShapeChurn, AFewSmallOpsThatRepeatRunAtOnce) {
  on_new_thread([] {
    const Tensor small = full({8}, Scalar(2.0));
    const Tensor larger = full({4096}, Scalar(2.0));
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 16; ++i) EXPECT_TRUE(step(small).waited) << i;
      for (int i = 0; i < 40; ++i) {
        const Step done = step(small);
        EXPECT_FALSE(done.waited) << i;
        EXPECT_EQ(done.result.data<float>()[7], 6);
      }
      Pipeline pipeline{PipelineConfig()};
      pipeline.enter();
      EXPECT_TRUE(is_pending(exp(small)));
    }
    for (int i = 0; i < 40; ++i) EXPECT_TRUE(step(larger).waited) << i;
  });
}

TEST(ShapeChurn, AFewSmallOpsGoOnRunningAtOnce) {
  on_new_thread([] {
    const Tensor small = full({8}, Scalar(2.0));
    for (int i = 0; i < 16; ++i) step(small);
    for (int i = 0; i < 2000; ++i) EXPECT_FALSE(step(small).waited) << i;
    EXPECT_TRUE(step(full({4096}, Scalar(2.0))).waited);
  });
}

// What begins like them is not them.
TEST(ShapeChurn, MoreOpsThanAFewAreRecorded) {
  on_new_thread([] {
    const Tensor small = full({8}, Scalar(2.0));
    for (int i = 0; i < 17; ++i) step(small);
    Pipeline pipeline{PipelineConfig()};
    pipeline.enter();
    Tensor y = relu(add(mul(small, small), small));
    EXPECT_FALSE(is_pending(y));
    y = exp(y);
    EXPECT_TRUE(is_pending(y));
    pipeline.leave();
    EXPECT_FLOAT_EQ(y.data<float>()[7], std::exp(6.0F));
  });
}

TEST(ShapeChurn, ShapesThatComeBackAreRecorded) {
  on_new_thread([] {
    for (int64_t size = 3000; size < 3040; ++size) {
      const Tensor x = full({size}, Scalar(2.0));
      EXPECT_TRUE(step(x).waited) << size;
      EXPECT_TRUE(step(x).waited) << size;
    }
  });
}

}  // namespace
}  // namespace mindtorch::test
