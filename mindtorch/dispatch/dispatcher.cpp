#include "mindtorch/dispatch/dispatcher.h"

#include <atomic>
#include <bit>

#include "mindtorch/dispatch/eager/eager.h"
#include "mindtorch/dispatch/execute/plan_graphs.h"
#include "mindtorch/dispatch/op_arguments.h"
#include "mindtorch/dispatch/record/pipeline.h"
#include "mindtorch/profiler/recorder.h"

namespace mindtorch::dispatch {
namespace {

std::atomic<LayerFn> g_layers[kLayerCount];
// Of the layers; and a bit that no layer has: each op is told to a profiler. One load shows both.
std::atomic<uint8_t> g_installed{0};
constexpr uint8_t kProfiled = 0x80;
static_assert(bit(Layer::kBackend) < kProfiled);

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

// The op as an event, which encloses what all layers do.
[[gnu::noinline]] void run_profiled(uint8_t candidates,
                                    const ops::Op& op,
                                    ops::Args args,
                                    ops::Outputs& outputs) {
  EncodedArguments arguments;
  if (profiler::wants(profiler::kArguments) && profiler::is_thread_recorded()) {
    encode_arguments(args, arguments);
  }
  const auto next_sequence = profiler::hooks().next_sequence;
  const bool has_sequence = thread_layers().grad_mode && next_sequence != nullptr;
  const profiler::Span span({.kind = profiler::Kind::kOp,
                             .name = op.schema.name,
                             .detail = op.schema.overload,
                             .sequence = has_sequence ? next_sequence() : -1,
                             .arguments = {arguments.data(), arguments.size()}});
  run(candidates, op, args, outputs);
}

void tell_ops(uint32_t wanted) {
  if ((wanted & profiler::kHost) != 0) {
    g_installed.fetch_or(kProfiled, std::memory_order_relaxed);
  } else {
    g_installed.fetch_and(static_cast<uint8_t>(~kProfiled), std::memory_order_relaxed);
  }
}

}  // namespace

void install_hooks() {
  profiler::hooks().changed = &tell_ops;
  Pipeline::install_hooks();
  PlanGraphs::install_hooks();
}

LayerFn install_layer(Layer layer, LayerFn function) {
  MT_CHECK(layer != Layer::kBackend, RuntimeError, "the backend layer is not replaceable");
  const LayerFn before =
      g_layers[static_cast<int>(layer)].exchange(function, std::memory_order_acq_rel);
  if (function != nullptr) {
    g_installed.fetch_or(bit(layer), std::memory_order_release);
  } else {
    g_installed.fetch_and(static_cast<uint8_t>(~bit(layer)), std::memory_order_release);
  }
  return before;
}

void call(const ops::Op& op, ops::Args args, ops::Outputs& outputs) {
  const uint8_t installed = g_installed.load(std::memory_order_relaxed);
  if (MT_LIKELY((installed & kProfiled) == 0)) {
    run(installed, op, args, outputs);
  } else {
    run_profiled(installed, op, args, outputs);
  }
}

void call_below(Layer layer, const ops::Op& op, ops::Args args, ops::Outputs& outputs) {
  const auto below = static_cast<uint8_t>(~((bit(layer) << 1) - 1));
  run(static_cast<uint8_t>(g_installed.load(std::memory_order_relaxed) & below), op, args, outputs);
}

}  // namespace mindtorch::dispatch
