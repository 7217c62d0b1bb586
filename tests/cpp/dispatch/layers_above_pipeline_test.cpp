// What autograd will rely on: a layer above sees each recorded op once, when it is recorded, with
// outputs that know their shape; and what it calls itself is recorded like everything else.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/dispatch/record/pipeline.h"
#include "mindtorch/functional/functions.h"
#include "tests/cpp/dispatch/without_layers.h"

namespace mindtorch::test {
namespace {

using dispatch::bit;
using dispatch::call_below;
using dispatch::install_layer;
using dispatch::Layer;
using dispatch::Pipeline;
using dispatch::PipelineConfig;
using dispatch::thread_layers;

// What the layer saw of one op.
struct Seen {
  std::string op;
  std::vector<std::string> outputs;  // dtype and sizes
  bool operator==(const Seen&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  out << seen.op;
  for (const std::string& output : seen.outputs) out << " " << output;
  return out;
}

std::vector<Seen> g_seen;
std::vector<std::string> g_runs_inside;  // ops during which a pipeline ran

bool is_pending(const Tensor& tensor) { return tensor.storage()->pending() != nullptr; }

std::string describe(const Tensor& tensor) {
  return std::string(name(tensor.dtype())) + to_string(tensor.sizes());
}

void look(const ops::Op& op, ops::Args args, ops::Outputs& outputs) {
  const Pipeline* const pipeline = Pipeline::current();
  const uint64_t flushes = pipeline == nullptr ? 0 : pipeline->flush_id();
  const size_t index = g_seen.size();
  g_seen.push_back({op.schema.full_name(), {}});
  call_below(Layer::kAutograd, op, args, outputs);
  for (const Tensor& output : outputs.tensors) g_seen[index].outputs.push_back(describe(output));
  if (pipeline != nullptr && pipeline->flush_id() != flushes) {
    g_runs_inside.push_back(op.schema.name);
  }
}

class LayersAbovePipeline : public ::testing::Test {
 protected:
  void SetUp() override {
    g_seen.clear();
    g_runs_inside.clear();
    install(&look);
  }
  static void install(dispatch::LayerFn layer) {
    install_layer(Layer::kAutograd, layer);
    thread_layers().enabled |= bit(Layer::kAutograd);
  }

 private:
  const WithoutLayers without_layers_;
};

// `with torch.pipeline():`
class Block {
 public:
  Block() : pipeline(PipelineConfig()) { pipeline.enter(); }
  Pipeline pipeline;  // leaves when it goes
};

// Inside the layer, as autograd is: its own calls do not come back to it.
class Inside {
 public:
  Inside() { thread_layers().skipped |= bit(Layer::kAutograd); }
  ~Inside() { thread_layers().skipped &= static_cast<uint8_t>(~bit(Layer::kAutograd)); }
};

using Program = std::function<std::vector<Tensor>()>;

Tensor ramp(Shape sizes) {
  const Inside quiet;
  return arange(Scalar(numel(sizes)), DType::kFloat32).reshape(sizes).clone();
}

// Every kind and form of op there is.
const std::map<std::string, Program>& programs() {
  static const std::map<std::string, Program> all = {
      {"Pointwise",
       [] {
         const Tensor x = ramp({3, 4});
         return std::vector<Tensor>{relu(sub(mul(x, x), Scalar(5.0))), gt(x, Scalar(2.0))};
       }},
      {"Kernels",
       [] {
         const Tensor x = ramp({3, 4});
         return std::vector<Tensor>{mm(x, x.t()), sum(x), cat(std::vector<Tensor>{x, x}, 0)};
       }},
      {"Creation",
       [] { return std::vector<Tensor>{zeros({2, 3}), full({3}, Scalar(2.0)), eye(3)}; }},
      {"Views",
       [] {
         const Tensor x = ramp({3, 4});
         const Tensor y = add(x, Scalar(1.0));
         return std::vector<Tensor>{y.t(), y.select(0, 1), y.unsqueeze(0).expand({2, 3, 4})};
       }},
      {"InPlace",
       [] {
         Tensor x = ramp({3, 4});
         x.add_(Scalar(1.0)).mul_(x);
         x.select(0, 1).zero_();
         x.copy_(x.clone()).fill_(Scalar(3.0));
         return std::vector<Tensor>{x};
       }},
      {"OfAFunction",  // cumsum_ and the like: a new result, copied
       [] {
         Tensor x = ramp({3, 4});
         x.cumsum_(0);
         return std::vector<Tensor>{x};
       }},
      {"Out",
       [] {
         const Tensor x = ramp({3, 4});
         Tensor out = ramp({3, 4});
         Tensor product = ramp({3, 3});
         add_out(x, x, Scalar(int64_t{1}), out);
         mm_out(x, x.t(), product);
         return std::vector<Tensor>{out, product};
       }},
      {"Composites",
       [] {
         const Tensor x = ramp({3, 4});
         const Tensor y = ramp({2, 3, 4});
         return std::vector<Tensor>{matmul(y, x.t()), stack(std::vector<Tensor>{x, x}, 0),
                                    x.flatten(),      x.reshape({4, 3}),
                                    linear(y, x),     vstack(std::vector<Tensor>{x, x})};
       }},
      {"FunctionsOfMutations",
       [] {
         const Tensor x = ramp({3, 4});
         const Tensor index = full({1}, Scalar(int64_t{1}), DType::kInt64);
         return std::vector<Tensor>{index_add(x, 0, index, ramp({1, 4})),
                                    index_fill(x, 0, index, Scalar(7.0))};
       }},
      {"Random", [] { return std::vector<Tensor>{rand({3}), randn({2, 2})}; }},
  };
  return all;
}

class EveryKind : public LayersAbovePipeline, public ::testing::WithParamInterface<std::string> {};

TEST_P(EveryKind, IsSeenOnceAndWhenItIsRecorded) {
  const Program& program = programs().at(GetParam());
  default_generator(DeviceType::kCpu)->manual_seed(7);
  const std::vector<Tensor> expected = program();
  const std::vector<Seen> eager = std::exchange(g_seen, {});
  ASSERT_FALSE(eager.empty());

  Block block;
  default_generator(DeviceType::kCpu)->manual_seed(7);
  const std::vector<Tensor> got = program();
  EXPECT_EQ(g_seen, eager);
  EXPECT_EQ(g_runs_inside, std::vector<std::string>());
  for (const Tensor& tensor : got) EXPECT_TRUE(is_pending(tensor)) << describe(tensor);
  g_seen.clear();
  block.pipeline.flush("test");
  EXPECT_EQ(g_seen, std::vector<Seen>());

  const Inside quiet;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_FALSE(is_pending(got[i]));
    EXPECT_EQ(describe(got[i]), describe(expected[i]));
    EXPECT_TRUE(equal(got[i], expected[i])) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(,
                         EveryKind,
                         ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& [name, program] : programs()) names.push_back(name);
                           return names;
                         }()),
                         [](const auto& info) { return info.param; });

// The mark stays on the tensor while the op runs, and makes the layer see what is done with it.
TEST_F(LayersAbovePipeline, PendingOutputsCarryWhatTheLayerPutsOnThem) {
  thread_layers() = {};
  install_layer(Layer::kAutograd, [](const ops::Op& op, ops::Args args, ops::Outputs& outputs) {
    look(op, args, outputs);
    for (const Tensor& output : outputs.tensors) output.impl()->layers |= bit(Layer::kAutograd);
  });
  const Tensor leaf = ramp({4});
  leaf.impl()->layers = bit(Layer::kAutograd);
  const Tensor other = ramp({4});
  Block block;
  add(other, other);
  EXPECT_EQ(g_seen.size(), 0u);
  const Tensor y = mul(leaf, other);
  const Tensor z = add(other, y);
  EXPECT_EQ(g_seen.size(), 2u);
  EXPECT_TRUE(is_pending(z));
  const TensorImpl* const impl = z.impl();
  block.pipeline.flush("test");
  EXPECT_EQ(z.impl(), impl);
  EXPECT_EQ(z.impl()->layers, bit(Layer::kAutograd));
  neg(z);
  EXPECT_EQ(g_seen.size(), 3u);
  EXPECT_EQ(z.data<float>()[3], 12);
}

// Autograd saves what it needs, and does work of its own.
TEST_F(LayersAbovePipeline, ItsOwnOpsAreRecordedToo) {
  static std::vector<Tensor> saved;
  install([](const ops::Op& op, ops::Args args, ops::Outputs& outputs) {
    const Inside inside;
    const Tensor twice = mul(args[0].tensor(), Scalar(2.0));
    EXPECT_TRUE(is_pending(twice));
    saved.push_back(twice);
    call_below(Layer::kAutograd, op, args, outputs);
    EXPECT_TRUE(is_pending(outputs.tensors[0]));
  });
  const Tensor x = ramp({4});
  Block block;
  const Tensor y = exp(x);
  EXPECT_EQ(block.pipeline.pending_count(), 2u);
  const Tensor z = neg(y);
  EXPECT_EQ(block.pipeline.pending_count(), 4u);
  block.pipeline.flush("test");
  install_layer(Layer::kAutograd, nullptr);
  EXPECT_TRUE(equal(saved[0], mul(x, Scalar(2.0))));
  EXPECT_TRUE(equal(saved[1], mul(y, Scalar(2.0))));
  EXPECT_TRUE(equal(z, neg(exp(x))));
  saved.clear();
}

// Forward and backward in one trace: a tape of what each op needs, walked before anything ran.
TEST_F(LayersAbovePipeline, BackwardIsRecorded) {
  struct Node {
    std::string op;
    Tensor a, b, out;
  };
  static std::vector<Node> tape;
  install([](const ops::Op& op, ops::Args args, ops::Outputs& outputs) {
    {
      const Inside inside;
      call_below(Layer::kAutograd, op, args, outputs);
    }
    tape.push_back({op.schema.name, args[0].tensor(), args[1].tensor(), outputs.tensors[0]});
  });
  // The gradients of mm(x, w) * mm(x, w), summed, for x.
  const auto gradient = [](const Tensor& x, const Tensor& w) {
    tape.clear();
    const Tensor product = mm(x, w);
    mul(product, product);
    const Inside inside;
    std::map<const TensorImpl*, Tensor> gradients;
    const auto add_to = [&](const Tensor& tensor, const Tensor& gradient) {
      Tensor& sum = gradients[tensor.impl()];
      sum = sum.defined() ? add(sum, gradient) : gradient;
    };
    gradients[tape.back().out.impl()] = ones_like(tape.back().out);
    for (size_t i = tape.size(); i-- > 0;) {
      const Node& node = tape[i];
      const Tensor gradient = gradients.at(node.out.impl());
      if (node.op == "mul") {
        add_to(node.a, mul(gradient, node.b));
        add_to(node.b, mul(gradient, node.a));
      } else {
        add_to(node.a, mm(gradient, node.b.t()));
      }
    }
    return gradients.at(x.impl());
  };
  const Tensor x = ramp({3, 4});
  const Tensor w = ramp({4, 2});
  const Tensor expected = gradient(x, w);
  EXPECT_EQ(tape.size(), 2u);
  Block block;
  const Tensor got = gradient(x, w);
  EXPECT_EQ(tape.size(), 2u);
  EXPECT_TRUE(is_pending(got));
  EXPECT_EQ(block.pipeline.flush_id(), 0u);
  tape.clear();
  block.pipeline.flush("test");
  EXPECT_EQ(tape.size(), 0u);
  EXPECT_EQ(block.pipeline.flush_id(), 1u);
  install_layer(Layer::kAutograd, nullptr);
  EXPECT_TRUE(equal(got, expected));
}

TEST_F(LayersAbovePipeline, MistakesPassThroughWhenTheOpIsCalled) {
  const Tensor x = ramp({3});
  const Tensor y = ramp({4});
  Block block;
  EXPECT_THROW(add(x, y), RuntimeError);
  EXPECT_EQ(g_seen.size(), 1u);
  EXPECT_EQ(block.pipeline.pending_count(), 0u);
}

TEST_F(LayersAbovePipeline, AFlushThatFailsCallsNobody) {
  const Tensor x = ramp({3});
  const Tensor index = [] {
    const Inside quiet;
    return full({2}, Scalar(int64_t{9}), DType::kInt64);
  }();
  Block block;
  const Tensor bad = index_select(x, 0, index);
  const Tensor after = neg(bad);
  EXPECT_EQ(g_seen.size(), 2u);
  EXPECT_THROW(block.pipeline.flush("test"), IndexError);
  EXPECT_THROW(after.data_ptr(), IndexError);
  EXPECT_EQ(g_seen.size(), 2u);
}

}  // namespace
}  // namespace mindtorch::test
