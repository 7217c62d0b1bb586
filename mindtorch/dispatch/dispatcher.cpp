#include "mindtorch/dispatch/dispatcher.h"

#include <atomic>
#include <bit>

#include "mindtorch/dispatch/eager/eager.h"
#include "mindtorch/dispatch/execute/plan_graphs.h"
#include "mindtorch/dispatch/record/pipeline.h"

namespace mindtorch::dispatch {
namespace {

std::atomic<LayerFn> g_layers[kLayerCount];
std::atomic<uint8_t> g_installed{0};

uint8_t tensor_layers(ops::Args args) {
  uint8_t mask = 0;
  for (const ops::Value& value : args) {
    if (value.kind() == ops::ValueKind::kTensor) {
      mask |= value.tensor().impl()->layers;
    } else if (value.kind() == ops::ValueKind::kTensorList) {
      for (const Tensor& tensor : value.tensor_list()) {
        if (tensor.defined()) mask |= tensor.impl()->layers;
      }
    }
  }
  return mask;
}

void run(uint8_t candidates, const ops::Op& op, ops::Args args, ops::Outputs& outputs) {
  const ThreadLayers& thread = thread_layers();
  const auto active =
      static_cast<uint8_t>(candidates & ~thread.skipped & (thread.enabled | tensor_layers(args)));
  if (active == 0) {
    run_eager(op, args, outputs);
    return;
  }
  g_layers[std::countr_zero(active)].load(std::memory_order_acquire)(op, args, outputs);
}

}  // namespace

void install_hooks() {
  Pipeline::install_hooks();
  PlanGraphs::install_hooks();
}

void install_layer(Layer layer, LayerFn function) {
  MT_CHECK(layer != Layer::kBackend, RuntimeError, "the backend layer is not replaceable");
  g_layers[static_cast<int>(layer)].store(function, std::memory_order_release);
  if (function != nullptr) {
    g_installed.fetch_or(bit(layer), std::memory_order_release);
  } else {
    g_installed.fetch_and(static_cast<uint8_t>(~bit(layer)), std::memory_order_release);
  }
}

void call(const ops::Op& op, ops::Args args, ops::Outputs& outputs) {
  const uint8_t installed = g_installed.load(std::memory_order_relaxed);
  if (MT_LIKELY(installed == 0)) {
    run_eager(op, args, outputs);
  } else {
    run(installed, op, args, outputs);
  }
}

void call_below(Layer layer, const ops::Op& op, ops::Args args, ops::Outputs& outputs) {
  const auto below = static_cast<uint8_t>(~((bit(layer) << 1) - 1));
  run(static_cast<uint8_t>(g_installed.load(std::memory_order_relaxed) & below), op, args, outputs);
}

}  // namespace mindtorch::dispatch
