#include "mindtorch/autograd/engine.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::autograd {
namespace {

Tensor leaf(std::initializer_list<double> values) {
  Tensor made = Tensor::make({static_cast<int64_t>(values.size())}, DType::kFloat64);
  std::copy(values.begin(), values.end(), made.data<double>());
  set_requires_grad(made, true);
  return made;
}

void backward(const Tensor& result, bool keep_graph = false) {
  BackwardOptions options;
  options.keep_graph = keep_graph;
  const Edge root[] = {gradient_edge(result)};
  std::vector<Tensor> grads;
  grads.push_back(ones_like(result));
  run_backward(root, std::move(grads), options);
}

TEST(Engine, AddsTheGradientsOfAllPaths) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = mul(x, x);
  backward(sum(add(y, mul(y, x))));
  const double* grad = grad_of(x).data<double>();
  for (int i = 1; i <= 3; ++i) EXPECT_DOUBLE_EQ(grad[i - 1], 2 * i + 3 * i * i);
}

TEST(Engine, RunsAndFreesLongGraphs) {
  constexpr int kOps = 200'000;
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < kOps; ++i) y = add(y, x);
  backward(y);
  EXPECT_DOUBLE_EQ(*grad_of(x).data<double>(), kOps + 1);
  y = mul(x, x);
  for (int i = 0; i < kOps; ++i) y = mul(y, Scalar(1.0));  // freed without being run
}

TEST(Engine, ThreadsShareAGraph) {
  const Tensor x = leaf({1, 2});
  const Tensor y = sum(mul(x, x));
  constexpr int kThreads = 4;
  constexpr int kTimes = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kTimes; ++k) backward(y, true);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_DOUBLE_EQ(grad_of(x).data<double>()[1], 4.0 * kThreads * kTimes);
}

TEST(Engine, ThreadsMakeAndDropTheSameLeafsAccumulator) {
  const Tensor x = leaf({1});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 2000; ++k) mul(x, x);
    });
  }
  for (std::thread& thread : threads) thread.join();
  backward(mul(x, x));
  EXPECT_DOUBLE_EQ(*grad_of(x).data<double>(), 2);
}

int g_resolved = 0;
ops::PointwiseCall counted(const Tensor& self) {
  ++g_resolved;
  return ops::PointwiseCall(ops::Pointwise::kExp, self.dtype(), self.dtype()).on(self);
}

TEST(Engine, ARecordedPointwiseOpIsResolvedOnce) {
  ops::Registry registry;
  registry.define<counted>("counted(Tensor self) -> Tensor").variants(ops::kInplaceVariant);
  const Tensor x = leaf({0, 1});
  for (const char* const name : {"counted", "counted_"}) {
    const Tensor y = mul(x, x);
    const ops::Value args[] = {ops::Value(y)};
    ops::Outputs outputs;
    g_resolved = 0;
    dispatch::call(registry.at(name), args, outputs);
    EXPECT_EQ(g_resolved, 1) << name;
    EXPECT_TRUE(requires_grad(outputs.tensors[0]));
    EXPECT_DOUBLE_EQ(outputs.tensors[0].data<double>()[0], 1);
  }
}

TEST(Engine, FreesWhatWasSavedAsItRuns) {
  const Tensor x = leaf({1, 2});
  Tensor y = exp(x);
  const Tensor kept = y;
  Tensor loss = sum(mul(y, y));
  y = Tensor();
  backward(loss);
  EXPECT_EQ(kept.storage()->use_count(), 1u);
  try {
    backward(loss);
    FAIL();
  } catch (const RuntimeError& error) {
    EXPECT_NE(std::string(error.what()).find("a second time"), std::string::npos);
  }
}

TEST(Engine, AFailureLeavesTheThreadAsItWas) {
  const Tensor x = leaf({1, 2});
  Tensor y = mul(x, Scalar(1.0));
  const Tensor z = mul(y, y);
  add_(y, Scalar(1.0));
  EXPECT_THROW(backward(sum(z)), RuntimeError);
  EXPECT_TRUE(is_grad_enabled());
  EXPECT_FALSE(is_running_backward());
  backward(sum(mul(x, x)));
  EXPECT_DOUBLE_EQ(grad_of(x).data<double>()[1], 4);
}

TEST(Views, WritingOneWritesTheBase) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor whole = zeros({4}, DType::kFloat64);
  const Tensor part = narrow(whole, 0, 1, 2);
  copy_(part, narrow(mul(x, Scalar(2.0)), 0, 0, 2));
  EXPECT_TRUE(requires_grad(whole));
  EXPECT_TRUE(requires_grad(part));
  backward(sum(mul(whole, whole)));
  const double* grad = grad_of(x).data<double>();
  EXPECT_DOUBLE_EQ(grad[0], 8);
  EXPECT_DOUBLE_EQ(grad[1], 16);
  EXPECT_DOUBLE_EQ(grad[2], 0);
}

}  // namespace
}  // namespace mindtorch::autograd
