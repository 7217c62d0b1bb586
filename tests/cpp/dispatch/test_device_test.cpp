// A device that the library does not know runs everything, eager and in pipelines.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/autograd/engine.h"
#include "mindtorch/dispatch/record/pipeline.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/tensor/generator.h"
#include "tests/cpp/dispatch/test_device.h"
#include "tests/cpp/support/errors.h"

namespace mindtorch::test {
namespace {

using dispatch::Pipeline;
using dispatch::PipelineConfig;
using Tensors = std::vector<Tensor>;
using Program = std::function<Tensors(const Tensor& x, const Tensor& y)>;

// `with torch.pipeline():`
class Block {
 public:
  Block() : pipeline(PipelineConfig()) { pipeline.enter(); }
  Pipeline pipeline;  // leaves when it goes
};

Tensor ramp(Shape sizes) {
  return arange(Scalar(numel(sizes)), DType::kFloat32).reshape(sizes).clone();
}

Tensor to_device(const Tensor& tensor) {
  TestDevice::instance();
  Tensor moved = empty(tensor.sizes(), tensor.dtype(), Device(TestDevice::kType, 0));
  return moved.copy_(tensor);
}

Tensor to_host(const Tensor& tensor) {
  if (tensor.device().is_cpu()) return tensor;
  Tensor moved = empty(tensor.sizes(), tensor.dtype());
  return moved.copy_(tensor);
}

Tensor cast(const Tensor& tensor, DType dtype) {
  Tensor result = empty(tensor.sizes(), dtype, tensor.device());
  return result.copy_(tensor);
}

// One of each kind and form of op; x and y are {4, 6} or {4, 8}.
const std::map<std::string, Program>& programs() {
  static const std::map<std::string, Program> all = {
      {"Chain",
       [](const Tensor& x, const Tensor& y) {
         return Tensors{relu(sub(mul(x, y), Scalar(5.0))), exp(neg(add(x, y)))};
       }},
      {"LongChain",
       [](const Tensor& x, const Tensor& y) {
         Tensor t = x;
         for (int i = 0; i < 20; ++i) t = add(mul(t, Scalar(0.5)), y);
         return Tensors{t};
       }},
      {"Broadcast",
       [](const Tensor& x, const Tensor& y) {
         return Tensors{mul(add(x, y.select(0, 1)), x.select(1, 2).unsqueeze(1)), x.t().mul(y.t())};
       }},
      {"Casts",
       [](const Tensor& x, const Tensor& y) {
         const Tensor whole = cast(x, DType::kInt32);
         return Tensors{add(whole, whole), gt(x, y), mul(cast(x, DType::kFloat16), Scalar(3.0))};
       }},
      {"Constants",
       [](const Tensor& x, const Tensor& y) {
         const Tensor ones = ones_like(x);
         return Tensors{add(mul(ones, x), full_like(y, Scalar(2.0))), sub(zeros_like(x), y)};
       }},
      {"Reductions",
       [](const Tensor& x, const Tensor& y) {
         const Shape last = {-1};
         return Tensors{sum(x), softmax(sub(x, amax(x, last, true)), -1), mean(y, last)};
       }},
      {"SumsOfLeadingDims",
       [](const Tensor& x, const Tensor& y) {
         const Shape first = {0};
         const Shape two = {0, 1};
         const Tensor both = mul(x, y);
         const Tensor deep = add(both, y).reshape({2, 2, x.size(1)});
         return Tensors{sum(both, first), sum(mul(deep, deep), two, true),
                        mul(sum(sub(x, y), first, true), x)};
       }},
      {"Products", [](const Tensor& x,
                      const Tensor& y) { return Tensors{relu(mm(x, y.t())), mm(relu(x).t(), y)}; }},
      {"InPlace",
       [](const Tensor& x, const Tensor& y) {
         Tensor t = x.clone();
         t.add_(y).mul_(t).sub_(Scalar(1.0));
         t.select(0, 1).zero_();
         t.select(0, 2).fill_(Scalar(7.0));
         return Tensors{t};
       }},
      {"Out",
       [](const Tensor& x, const Tensor& y) {
         Tensor sum = empty_like(x);
         Tensor product = empty({0}, DType::kFloat32, x.device());
         add_out(x, y, Scalar(int64_t{2}), sum);
         mm_out(x, y.t(), product);
         Tensor wide = empty(x.sizes(), DType::kComplex64, x.device());
         mul_out(x, y, wide);
         return Tensors{sum, product, wide};
       }},
      {"Joins",
       [](const Tensor& x, const Tensor& y) {
         return Tensors{cat(Tensors{x, y}, 0), stack(Tensors{x, y}, 1), where(gt(x, y), x, y)};
       }},
      {"Indices",
       [](const Tensor& x, const Tensor& y) {
         const Tensor index = full({2}, Scalar(int64_t{1}), DType::kInt64, x.device());
         return Tensors{index_select(x, 0, index), index_add(y, 0, index, y.narrow(0, 0, 2))};
       }},
      {"HostNumbers",
       [](const Tensor& x, const Tensor& y) {
         const Tensor host = full({}, Scalar(3.0));
         return Tensors{mul(add(x, host), y), add(mul(x, Scalar(2.0)), Scalar(1.0))};
       }},
  };
  return all;
}

class EveryProgram : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { TestDevice::instance(); }

  // On the device, each as the CPU computes it. Queues keep their plans, and with these the engines
  // that the device had: with other ones the shape must be another.
  void check(int64_t width = 6) {
    const Program& program = programs().at(GetParam());
    const Tensor x = ramp({4, width});
    const Tensor y = sub(ramp({4, width}), Scalar(7.0));
    const Tensors expected = program(x, y);
    const Tensor dx = to_device(x);
    const Tensor dy = to_device(y);
    const auto compare = [&](const Tensors& got, const char* how) {
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i].device().type, TestDevice::kType) << how;
        EXPECT_EQ(got[i].dtype(), expected[i].dtype()) << how;
        EXPECT_TRUE(equal(to_host(got[i]), expected[i])) << how << ", result " << i;
      }
    };
    compare(program(dx, dy), "eager");
    for (const char* how : {"recorded", "matched", "again"}) {
      Tensors got;
      {
        Block block;
        got = program(dx, dy);
      }
      compare(got, how);
    }
    EXPECT_EQ(TestDevice::instance().driver().failures(), std::vector<std::string>());
  }
};

TEST_P(EveryProgram, RunsOnTheDevice) { check(); }

TEST_P(EveryProgram, RunsByKernelsAlone) {
  const WithoutPointwiseEngine without;
  const int before = TestDevice::instance().pointwise;
  check();
  EXPECT_EQ(TestDevice::instance().pointwise, before);
}

// A pointwise call is a group of one step.
TEST_P(EveryProgram, RunsByTheFusionEngineAlone) {
  const WithFusionEngineOnly only;
  const int before = TestDevice::instance().pointwise;
  check(8);
  EXPECT_EQ(TestDevice::instance().pointwise, before);
}

INSTANTIATE_TEST_SUITE_P(,
                         EveryProgram,
                         ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& [name, program] : programs()) names.push_back(name);
                           return names;
                         }()),
                         [](const auto& info) { return info.param; });

TEST(TestDevicePipeline, GroupsKeepToTheEnginesLimits) {
  TestDevice& device = TestDevice::instance();
  const Tensor x = to_device(ramp({4, 6}));
  const int groups = device.groups;
  device.largest_group = 0;
  // On a thread that has recorded nothing: what came before in this one may have changed its shapes
  // all the time, so that ops that begin alike run at once.
  std::thread([&] {
    Block block;
    Tensor t = x;
    for (int i = 0; i < 13; ++i) t = add(mul(t, x), x);
    block.pipeline.flush("test");
  }).join();
  EXPECT_EQ(device.groups - groups, 5);  // 26 ops, 6 in each
  EXPECT_EQ(device.largest_group, TestDevice::kMaxSteps);
}

// The gradient of a bias, with what it is the gradient of.
TEST(TestDevicePipeline, SumsOfLeadingDimsArePartOfAGroup) {
  TestDevice& device = TestDevice::instance();
  const Tensor x = to_device(ramp({4, 6}));
  const int kernels = device.kernels;
  const int groups = device.groups;
  std::thread([&] {
    const Shape first = {0};
    Block block;
    const Tensor gradient = mul(x, x);
    const Tensor bias = sum(gradient, first);
    block.pipeline.flush("test");
    EXPECT_EQ(device.kernels, kernels);
    EXPECT_EQ(device.groups, groups + 1);
  }).join();
}

// Fused groups and kernels together become a graph of the device, from the third time on.
TEST(TestDevicePipeline, FusedTracesAreCapturedAndReplayed) {
  TestDevice& device = TestDevice::instance();
  const Tensor x = to_device(ramp({4, 6}));
  const Tensor y = to_device(ramp({4, 6}));
  const Tensor weight = to_device(ramp({6, 6}));
  Tensor out = to_device(ramp({4, 6}));
  const auto program = [&] {
    Tensor t = mm(relu(mul(x, y)), weight);
    t = mm(add(mul(t, y), x), weight);
    t = mm(sub(mul(t, y), x), weight);
    out.copy_(t.mul(y).add(x));
  };
  program();
  const Tensor expected = to_host(out);
  out.zero_();
  const size_t replays = device.driver().replays().size();
  for (int i = 0; i < 8; ++i) {
    out.zero_();
    {
      Block block;
      program();
    }
    EXPECT_TRUE(equal(to_host(out), expected)) << i;
  }
  EXPECT_GE(device.driver().replays().size(), replays + 4);
}

// More addresses than a plan has graphs for: the device changes the oldest ones in place.
TEST(TestDevicePipeline, GraphsOfOtherAddressesAreChangedInPlace) {
  TestDevice& device = TestDevice::instance();
  const Tensor weight = to_device(ramp({6, 6}));
  const auto program = [&](const Tensor& x) {
    Tensor t = x;
    for (int i = 0; i < 5; ++i) t = mm(sub(mul(t, Scalar(0.01)), x), weight);
    return t;
  };
  constexpr int kTensors = 70;
  Tensors inputs;
  Tensors expected;
  for (int i = 0; i < kTensors; ++i) {
    inputs.push_back(to_device(add(ramp({3, 6}), Scalar(double(i)))));
    expected.push_back(to_host(program(inputs.back())));
  }
  const int64_t before = device.driver().count(Call::update_graph);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kTensors; ++i) {
      for (int times = 0; times < 4; ++times) {
        Tensor found;
        {
          Block block;
          found = program(inputs[static_cast<size_t>(i)]);
        }
        EXPECT_TRUE(equal(to_host(found), expected[static_cast<size_t>(i)])) << round << i;
      }
    }
  }
  EXPECT_GE(device.driver().count(Call::update_graph), before + kTensors);
}

TEST(TestDevicePipeline, WhatHasNeitherEngineNorKernelIsRefusedAtTheCall) {
  TestDevice& device = TestDevice::instance();
  const Tensor x = to_device(ramp({4}));
  const WithoutPointwiseEngine without;
  auto& op = const_cast<ops::Op&>(ops::registry().at("add.Tensor"));
  ops::Kernel& kernel = op.kernels[static_cast<int>(TestDevice::kType)];
  const ops::Kernel before = std::exchange(kernel, {});
  EXPECT_THROW(add(x, x), NotImplementedError);
  {
    Block block;
    EXPECT_THROW(add(x, x), NotImplementedError);
    EXPECT_EQ(block.pipeline.pending_count(), 0u);
  }
  kernel = before;
  EXPECT_EQ(device.driver().failures(), std::vector<std::string>());
}

// --- what the device states of itself
// ------------------------------------------------------------

constexpr const char* kTaken =
    "it takes bool, uint8, int32, int64, float16, float32, complex64, uint16, float8_e5m2";

TEST(TestDeviceStates, TheDTypesOfItsTensors) {
  const Device device(TestDevice::kType, 0);
  TestDevice::instance();
  const auto refused = [](const std::function<void()>& call) {
    return testing::error_of<NotImplementedError>(call);
  };
  EXPECT_EQ(refused([&] { zeros({2}, DType::kFloat64, device); }),
            std::string("Could not run 'zeros' on device cuda:0 for torch.float64: ") + kTaken);
  EXPECT_EQ(refused([&] { empty({2}, DType::kBFloat16, device); }),
            std::string("Could not run 'empty.memory_format' on device cuda:0 for "
                        "torch.bfloat16: ") +
                kTaken);
  // What neither the CPU's products nor NPUs take in this way.
  EXPECT_EQ(to_host(zeros({2}, DType::kUInt16, device)).dtype(), DType::kUInt16);
  const Tensor x = to_device(ramp({4}));
  const auto wide_sum = [&] { sum(x, {}, false, DType::kFloat64); };
  EXPECT_EQ(refused(wide_sum),
            "Could not run 'sum.dim_IntList' on device cuda:0 for torch.float64: it takes bool, "
            "uint8, int32, int64, float16, float32, complex64, uint16");
  EXPECT_EQ(refused([&] { cast(x, DType::kInt16); }),
            std::string("Could not run 'empty.memory_format' on device cuda:0 for torch.int16: ") +
                kTaken);
}

TEST(TestDeviceStates, DTypesAreRefusedAtTheCallInPipelinesToo) {
  const Tensor x = to_device(ramp({4}));
  Block block;
  EXPECT_THROW(sum(x, {}, false, DType::kFloat64), NotImplementedError);
  EXPECT_EQ(block.pipeline.pending_count(), 0u);
}

// A number of the host may have a dtype that the device lacks.
TEST(TestDeviceStates, NumbersOfTheHostAreNotItsOwn) {
  const Tensor number = full({}, Scalar(2.0), DType::kFloat64);
  Tensor x = to_device(ramp({4}));
  x.fill_(number);
  EXPECT_TRUE(equal(to_host(mul(x, number)), full({4}, Scalar(4.0))));
}

TEST(TestDeviceStates, NotesOfItsAttention) {
  const auto gradients = [](const std::function<Tensor(const Tensor&)>& place) {
    Tensors leaves;
    for (int i = 0; i < 3; ++i) {
      leaves.push_back(place(sin(add(ramp({2, 5, 4}), Scalar(double(i))))));
      autograd::set_requires_grad(leaves.back(), true);
    }
    const Tensor out = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], {}, 0.0, true);
    const autograd::Edge root[] = {autograd::gradient_edge(out)};
    std::vector<Tensor> grads = {ones_like(out)};
    autograd::run_backward(root, std::move(grads), {});
    Tensors found = {to_host(out.detach())};
    for (const Tensor& leaf : leaves) found.push_back(to_host(autograd::grad_of(leaf)));
    return found;
  };
  const Tensors expected = gradients([](const Tensor& x) { return x; });
  for (const bool deferred : {false, true, true, true}) {
    Tensors found;
    if (deferred) {
      Block block;
      found = gradients(&to_device);
    } else {
      found = gradients(&to_device);
    }
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(equal(found[i], expected[i])) << i;
  }
  const Tensor q = to_device(ramp({2, 5, 4}));
  const auto results = _scaled_dot_product_flash_attention(q, q, q, {}, false, 1.0, false);
  EXPECT_EQ(std::get<1>(results).sizes(), (Shape{2, 5, 2}));
  EXPECT_EQ(std::get<2>(results).sizes(), (Shape{0}));
  EXPECT_EQ(TestDevice::instance().foreign_notes, 0);
}

// Of what it drops it keeps a seed and an offset, and both directions draw the same of them.
TEST(TestDeviceStates, DropoutOfItsAttention) {
  constexpr double kP = 0.25;
  const auto drop = [](const Tensor& query, const Tensor& key, const Tensor& value) {
    default_generator(Device(TestDevice::kType, 0))->manual_seed(7);
    return scaled_dot_product_attention(query, key, value, {}, kP);
  };
  // Queries that see all keys alike, and values that tell which key they are of, show what stays.
  const Tensor nothing = to_device(zeros({2, 5, 4}));
  const Tensor seen = to_host(drop(nothing, nothing, to_device(eye(5).expand({2, 5, 5}).clone())));
  const Tensor noise = div(cast(gt(seen, Scalar(0.0)), DType::kFloat32), Scalar(1 - kP));
  EXPECT_TRUE(any(eq(noise, Scalar(0.0))).item().to_bool());
  EXPECT_TRUE(any(gt(noise, Scalar(0.0))).item().to_bool());

  using Attend = std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)>;
  const auto gradients = [](const Attend& attend,
                            const std::function<Tensor(const Tensor&)>& place) {
    Tensors leaves;
    for (int i = 0; i < 3; ++i) {
      leaves.push_back(place(sin(add(ramp({2, 5, 4}), Scalar(double(i))))));
      autograd::set_requires_grad(leaves.back(), true);
    }
    const Tensor out = attend(leaves[0], leaves[1], leaves[2]);
    const autograd::Edge root[] = {autograd::gradient_edge(out)};
    std::vector<Tensor> grads = {place(sin(ramp({2, 5, 4})))};
    autograd::run_backward(root, std::move(grads), {});
    Tensors found = {to_host(out.detach())};
    for (const Tensor& leaf : leaves) found.push_back(to_host(autograd::grad_of(leaf)));
    return found;
  };
  const auto formula = [&](const Tensor& query, const Tensor& key, const Tensor& value) {
    const Tensor scores = mul(matmul(query, transpose(key, -2, -1)), Scalar(0.5));
    return matmul(mul(softmax(scores, -1), noise), value);
  };
  const Tensors expected = gradients(formula, [](const Tensor& x) { return x; });
  for (const bool deferred : {false, true, true, true}) {
    Tensors found;
    if (deferred) {
      Block block;
      found = gradients(drop, &to_device);
    } else {
      found = gradients(drop, &to_device);
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(allclose(found[i], expected[i], 1e-5, 1e-5)) << i;
    }
  }
}

}  // namespace
}  // namespace mindtorch::test
