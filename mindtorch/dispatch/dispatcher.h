#pragma once

#include <cstdint>

#include "mindtorch/dispatch/eager/layers.h"
#include "mindtorch/ops/registry.h"

namespace mindtorch::dispatch {

// A layer sees each op once. It may call dispatch::call_below(layer, ...) to go on inwards.
using LayerFn = void (*)(const ops::Op& op, ops::Args args, ops::Outputs& outputs);

// Installs a layer, once, from library.cpp or a test; null removes it. Gives what was there.
MT_API LayerFn install_layer(Layer layer, LayerFn function);

// Connects deferred execution with the layers below, which call it back. Once, from library.cpp.
MT_API void install_hooks();

// Runs an op through all layers that apply.
MT_API void call(const ops::Op& op, ops::Args args, ops::Outputs& outputs);
// The same, from inside `layer`: only the layers below it.
MT_API void call_below(Layer layer, const ops::Op& op, ops::Args args, ops::Outputs& outputs);

}  // namespace mindtorch::dispatch
