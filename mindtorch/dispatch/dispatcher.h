#pragma once

#include <cstdint>

#include "mindtorch/ops/registry.h"

namespace mindtorch::dispatch {

// The layers an op passes through, outermost first. Backend is always there and comes last: it
// prepares the call and hands it to an executor, which runs it or records it.
enum class Layer : uint8_t { kAutocast, kAutograd, kBackend };
inline constexpr int kLayerCount = 3;

constexpr uint8_t bit(Layer layer) { return static_cast<uint8_t>(1u << static_cast<int>(layer)); }

// A layer sees each op once. It may call dispatch::call_below(layer, ...) to go on inwards.
using LayerFn = void (*)(const ops::Op& op, ops::Args args, ops::Outputs& outputs);

// Installs a layer, once, from library.cpp or a test; null removes it.
MT_API void install_layer(Layer layer, LayerFn function);

// Layers switched on for this thread (autocast), and layers this thread must skip
// because it is inside them. A tensor switches a layer on by its own bits (TensorImpl::layers).
struct ThreadLayers {
  uint8_t enabled = 0;
  uint8_t skipped = 0;
};
MT_API ThreadLayers& thread_layers();

// Connects deferred execution with the layers below, which call it back. Once, from library.cpp.
MT_API void install_hooks();

// Runs an op through all layers that apply.
MT_API void call(const ops::Op& op, ops::Args args, ops::Outputs& outputs);
// The same, from inside `layer`: only the layers below it.
MT_API void call_below(Layer layer, const ops::Op& op, ops::Args args, ops::Outputs& outputs);

}  // namespace mindtorch::dispatch
