// A device whose engine refuses some functions, takes its time, fails and compiles for long: what
// programs see of it, which is nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "mindtorch/dispatch/record/pipeline.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/ops/prepared_group.h"
#include "tests/cpp/dispatch/test_device.h"
#include "tests/cpp/support/never_freed.h"

namespace mindtorch::test {
namespace {

using dispatch::Pipeline;
using dispatch::PipelineConfig;
using ops::FusedGroup;
using ops::PreparedGroup;
using Tensors = std::vector<Tensor>;

// Declines half of the functions. Of each group it says "not yet" three times, fails once, then
// compiles for 200 ms, or for as long as a test wants.
class HardEngine final : public ops::FusionEngine {
 public:
  static HardEngine& make() { return testing::never_freed(new HardEngine); }

  using FusionEngine::can_fuse;
  bool can_fuse(ops::Pointwise function, DType) const override {
    return static_cast<int>(function) % 2 == static_cast<int>(ops::Pointwise::kMul) % 2;
  }
  ops::Preparation prepare(const FusedGroup& group, const ops::FusedProgram*) const override {
    std::unique_lock lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    const int asked = ++asked_[&group];
    if (asked <= 3) return ops::Preparation::not_yet();
    if (asked == 4) throw std::runtime_error("the compiler is out of memory");
    ++compiling_;
    changed_.notify_all();
    if (is_held_) {
      changed_.wait(lock, [this] { return !is_held_; });
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return ops::Preparation::ready(TestDevice::program(group));
  }

  // Compiling does not end before let_go().
  void hold() {
    const std::scoped_lock lock(mutex_);
    is_held_ = true;
  }
  void let_go() {
    const std::scoped_lock lock(mutex_);
    is_held_ = false;
    changed_.notify_all();
  }
  void wait_until_compiling() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return compiling_ > 0; });
  }
  size_t groups_asked_for() const {
    const std::scoped_lock lock(mutex_);
    return asked_.size();
  }
  bool was_asked_by(std::thread::id thread) const {
    const std::scoped_lock lock(mutex_);
    return threads_.contains(thread);
  }

 private:
  HardEngine()
      : FusionEngine({.max_steps = 6, .max_inputs = 7, .max_stores = 16, .compiles = true}) {}

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::map<const FusedGroup*, int> asked_;
  mutable std::set<std::thread::id> threads_;
  mutable int compiling_ = 0;
  bool is_held_ = false;
};

Tensor on_device(Tensor host) {
  Tensor moved = empty(host.sizes(), host.dtype(), Device(TestDevice::kType, 0));
  return moved.copy_(host);
}
Tensor ramp(int64_t width, double step) {
  return mul(arange(Scalar(4 * width), DType::kFloat32).reshape({4, width}), Scalar(step));
}

// Pointwise functions of both halves, numbers, casts, fills, writes in place and to views, and
// results that are kept or not.
Tensors program(const Tensor& x, const Tensor& y) {
  Tensor t = mul(x, y);
  t = mul(mul(t, Scalar(0.5)), t);
  t = add(t, Scalar(1.0));
  const Tensor kept = sub(div(t, x), y);
  Tensor whole = empty(x.sizes(), DType::kInt32, x.device());
  whole.copy_(kept);
  Tensor written = ones_like(x);
  written.mul_(kept).mul_(Scalar(3.0));
  written.select(0, 1).mul_(Scalar(2.0));
  written.select(0, 2).zero_();
  return {relu(neg(kept)), mul(mul(written, x), y), mul(whole, whole), maximum(written, y)};
}

Tensors run_in_a_block(const Tensor& x, const Tensor& y) {
  Pipeline pipeline{PipelineConfig()};
  pipeline.enter();
  Tensors results = program(x, y);
  pipeline.leave();
  return results;
}

class FusionEngineTest : public ::testing::Test {
 protected:
  // As the CPU has it in eager mode.
  void expect_right(const Tensors& got) const {
    for (size_t i = 0; i < got.size(); ++i) {
      Tensor host = empty(got[i].sizes(), got[i].dtype());
      EXPECT_TRUE(equal(host.copy_(got[i]), expected_[i])) << "result " << i;
    }
  }

  TestDevice& device_ = TestDevice::instance();
  HardEngine& engine_ = HardEngine::make();
  const WithFusionEngine with_{engine_};
  // Queues keep their plans, with what the engine of an earlier test has made: each has a shape of
  // its own.
  static inline int64_t width_ = 6;
  const Tensor host_x_ = add(ramp(++width_, 0.5), Scalar(1.0));
  const Tensor host_y_ = sub(ramp(width_, 0.25), Scalar(3.0));
  const Tensor x_ = on_device(host_x_);
  const Tensor y_ = on_device(host_y_);
  const Tensors expected_ = program(host_x_, host_y_);
};

TEST_F(FusionEngineTest, ProgramsSeeNothingOfAnEngineThatIsHardToPlease) {
  const int before = device_.groups;
  for (int window = 0; window < 4; ++window) {
    expect_right(run_in_a_block(x_, y_));
    PreparedGroup::wait_for_engines();
    EXPECT_EQ(device_.groups, before) << window;  // not yet, not yet, not yet, an error
  }
  expect_right(run_in_a_block(x_, y_));  // while it compiles
  PreparedGroup::wait_for_engines();
  for (int window = 0; window < 6; ++window) expect_right(run_in_a_block(x_, y_));
  EXPECT_GE(device_.groups, before + 1);
  EXPECT_EQ(device_.driver().failures(), std::vector<std::string>());
}

// Held while it compiles: whatever waited for it would wait for ever.
TEST_F(FusionEngineTest, NobodyWaitsForTheCompiler) {
  engine_.hold();
  const int before = device_.groups;
  for (int window = 0; window < 4; ++window) {
    expect_right(run_in_a_block(x_, y_));
    PreparedGroup::wait_for_engines();
  }
  run_in_a_block(x_, y_);
  engine_.wait_until_compiling();
  for (int window = 0; window < 5; ++window) expect_right(run_in_a_block(x_, y_));
  std::thread([&] { expect_right(run_in_a_block(x_, y_)); }).join();
  EXPECT_EQ(device_.groups, before);
  EXPECT_FALSE(engine_.was_asked_by(std::this_thread::get_id()));
  engine_.let_go();
  PreparedGroup::wait_for_engines();
  expect_right(run_in_a_block(x_, y_));
  EXPECT_GT(device_.groups, before);
}

TEST_F(FusionEngineTest, QueuesShareWhatIsPrepared) {
  size_t groups = 0;
  for (int thread = 0; thread < 3; ++thread) {
    std::thread([&] { expect_right(run_in_a_block(x_, y_)); }).join();
    PreparedGroup::wait_for_engines();
    if (thread == 0) groups = engine_.groups_asked_for();
    EXPECT_EQ(engine_.groups_asked_for(), groups);
  }
  EXPECT_GT(groups, 0u);
}

TEST_F(FusionEngineTest, WhatTheOnlyEngineRefusesIsRefusedAtTheCall) {
  const WithFusionEngineOnly only;
  const std::string text = "Could not run 'sub' on device cuda:0 for torch.float32: ";
  const auto expect_refusal = [&] {
    try {
      sub(x_, y_);
      FAIL();
    } catch (const NotImplementedError& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  expect_refusal();
  Pipeline pipeline{PipelineConfig()};
  pipeline.enter();
  expect_refusal();
  EXPECT_EQ(pipeline.pending_count(), 0u);
  pipeline.leave();
}

}  // namespace
}  // namespace mindtorch::test
