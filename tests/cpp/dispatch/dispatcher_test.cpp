#include "mindtorch/dispatch/dispatcher.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/cpp/dispatch/without_layers.h"
#include "tests/cpp/support/errors.h"

namespace mindtorch::dispatch {
namespace {

using ops::Args;
using ops::Launch;
using ops::Op;
using ops::Outputs;
using ops::TensorSpec;
using ops::Value;
using testing::error_of;

std::vector<std::string> g_log;

TensorSpec like(const Tensor& self) { return {self.sizes(), self.dtype(), self.device(), {}}; }
TensorSpec like_first(TensorList tensors) { return like(tensors[0]); }
void twice_kernel(Launch&, const Tensor& self, Tensor& out) {
  g_log.push_back("kernel");
  for (int64_t i = 0; i < self.numel(); ++i) out.data<float>()[i] = 2 * self.data<float>()[i];
}
void list_kernel(Launch&, TensorList, Tensor&) { g_log.push_back("kernel"); }

const ops::Registry& test_ops() {
  static const ops::Registry& filled = []() -> const ops::Registry& {
    auto& ops = *new ops::Registry;
    ops.define<like>("twice(Tensor self) -> Tensor");
    ops.define<like_first>("first(Tensor[] tensors) -> Tensor");
    ops.kernel<twice_kernel>(DeviceType::kCpu, "twice");
    ops.kernel<list_kernel>(DeviceType::kCpu, "first");
    return ops;
  }();
  return filled;
}

template <Layer kLayer>
void log_and_go_on(const Op& op, Args args, Outputs& outputs) {
  const char* const layer = kLayer == Layer::kAutograd ? "autograd " : "autocast ";
  g_log.push_back(layer + op.schema.name);
  call_below(kLayer, op, args, outputs);
}
// Answers itself, so that nothing below sees the call.
void answer(const Op&, Args args, Outputs& outputs) {
  g_log.push_back("answered");
  outputs.tensors.push_back(args[0].tensor());
}
// Calls the op anew while its own layer is skipped, as autograd does.
void call_again(const Op& op, Args args, Outputs& outputs) {
  g_log.push_back("again");
  thread_layers().skipped |= bit(Layer::kAutograd);
  call(op, args, outputs);
  thread_layers().skipped &= static_cast<uint8_t>(~bit(Layer::kAutograd));
}

class DispatcherTest : public ::testing::Test {
 protected:
  void SetUp() override { g_log.clear(); }

  Tensor twice() {
    const Value args[] = {input_};
    Outputs outputs;
    call(test_ops().at("twice"), Args(args), outputs);
    return outputs.tensors[0];
  }

  Tensor input_ = [] {
    Tensor tensor = Tensor::make({1}, DType::kFloat32);
    *tensor.data<float>() = 3;
    return tensor;
  }();

 private:
  const test::WithoutLayers without_layers_;
};

using Log = std::vector<std::string>;

TEST_F(DispatcherTest, WithoutLayersTheKernelRunsAtOnce) {
  thread_layers().enabled = 0xff;
  EXPECT_EQ(*twice().data<float>(), 6);
  EXPECT_EQ(g_log, Log{"kernel"});
}

TEST_F(DispatcherTest, EachLayerSeesTheCallOnceFromTheOutside) {
  install_layer(Layer::kAutograd, &log_and_go_on<Layer::kAutograd>);
  install_layer(Layer::kAutocast, &log_and_go_on<Layer::kAutocast>);
  thread_layers().enabled = bit(Layer::kAutocast) | bit(Layer::kAutograd);
  EXPECT_EQ(*twice().data<float>(), 6);
  EXPECT_EQ(g_log, (Log{"autocast twice", "autograd twice", "kernel"}));
}

TEST_F(DispatcherTest, AnInstalledLayerSleepsUntilSwitchedOn) {
  install_layer(Layer::kAutograd, &log_and_go_on<Layer::kAutograd>);
  twice();
  EXPECT_EQ(g_log, Log{"kernel"});
}

TEST_F(DispatcherTest, ATensorSwitchesItsLayerOn) {
  install_layer(Layer::kAutograd, &log_and_go_on<Layer::kAutograd>);
  input_.impl()->layers = bit(Layer::kAutograd);
  twice();
  EXPECT_EQ(g_log, (Log{"autograd twice", "kernel"}));

  // In a list, too, where None may be an entry.
  g_log.clear();
  const Tensor list[] = {Tensor::make({1}, DType::kFloat32), input_, Tensor()};
  const Value args[] = {TensorList(list)};
  Outputs outputs;
  call(test_ops().at("first"), Args(args), outputs);
  EXPECT_EQ(g_log, (Log{"autograd first", "kernel"}));
}

TEST_F(DispatcherTest, ALayerMayAnswerItself) {
  install_layer(Layer::kAutocast, &answer);
  install_layer(Layer::kAutograd, &log_and_go_on<Layer::kAutograd>);
  thread_layers().enabled = bit(Layer::kAutocast) | bit(Layer::kAutograd);
  EXPECT_TRUE(twice().is_same(input_));
  EXPECT_EQ(g_log, Log{"answered"});
}

TEST_F(DispatcherTest, ASkippedLayerDoesNotSeeCallsFromInsideItself) {
  install_layer(Layer::kAutograd, &call_again);
  install_layer(Layer::kAutocast, &log_and_go_on<Layer::kAutocast>);
  thread_layers().enabled = bit(Layer::kAutograd) | bit(Layer::kAutocast);
  twice();
  EXPECT_EQ(g_log, (Log{"autocast twice", "again", "autocast twice", "kernel"}));
}

TEST_F(DispatcherTest, LayersAreSwitchedOnForOneThread) {
  install_layer(Layer::kAutograd, &log_and_go_on<Layer::kAutograd>);
  thread_layers().enabled = bit(Layer::kAutograd);
  std::thread([&] { twice(); }).join();
  EXPECT_EQ(g_log, Log{"kernel"});
}

TEST_F(DispatcherTest, RemovedLayersAreGone) {
  install_layer(Layer::kAutograd, &log_and_go_on<Layer::kAutograd>);
  install_layer(Layer::kAutocast, &log_and_go_on<Layer::kAutocast>);
  thread_layers().enabled = bit(Layer::kAutograd) | bit(Layer::kAutocast);
  install_layer(Layer::kAutocast, nullptr);
  twice();
  EXPECT_EQ(g_log, (Log{"autograd twice", "kernel"}));
}

TEST_F(DispatcherTest, TheBackendLayerStays) {
  EXPECT_EQ(error_of<RuntimeError>([] { install_layer(Layer::kBackend, &answer); }),
            "the backend layer is not replaceable");
}

TEST_F(DispatcherTest, ErrorsPassThroughLayers) {
  install_layer(Layer::kAutograd, &log_and_go_on<Layer::kAutograd>);
  thread_layers().enabled = bit(Layer::kAutograd);
  const Tensor list[] = {input_, Tensor::make({1}, DType::kFloat32, DeviceType::kMeta)};
  const Value args[] = {TensorList(list)};
  Outputs outputs;
  EXPECT_THROW(call(test_ops().at("first"), Args(args), outputs), RuntimeError);
  EXPECT_EQ(g_log, Log{"autograd first"});
  EXPECT_EQ(*twice().data<float>(), 6);
}

}  // namespace
}  // namespace mindtorch::dispatch
