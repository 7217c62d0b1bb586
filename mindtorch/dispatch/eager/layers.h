#pragma once

#include <cstdint>

#include "mindtorch/base/macros.h"

namespace mindtorch::dispatch {

// The layers an op passes through, outermost first. Backend is always there and comes last: it
// prepares the call and hands it to an executor, which runs it or records it.
enum class Layer : uint8_t { kSparse, kAutocast, kBatching, kAutograd, kBackend };
inline constexpr int kLayerCount = 5;

constexpr uint8_t bit(Layer layer) { return static_cast<uint8_t>(1u << static_cast<int>(layer)); }

// Layers switched on for this thread (autocast), and layers this thread must skip because it is
// inside them or has switched them off. A tensor switches a layer on by its own bits
// (TensorImpl::layers).
struct ThreadLayers {
  uint8_t enabled = 0;
  uint8_t skipped = 0;
  bool grad_mode = true;  // autograd records; without it the layer is skipped
  bool inference_mode = false;
};
namespace detail {
extern MT_API thread_local ThreadLayers t_layers __attribute__((tls_model("initial-exec")));
}
inline ThreadLayers& thread_layers() { return detail::t_layers; }

inline constexpr uint8_t kLayersAboveBackend = bit(Layer::kBackend) - 1;

// Skips a layer, or some: around ops that run inside them.
class SkipLayer {
 public:
  explicit SkipLayer(Layer layer) : SkipLayer(bit(layer)) {}
  explicit SkipLayer(uint8_t layers) : layers_(thread_layers()), saved_(layers_.skipped) {
    layers_.skipped |= layers;
  }
  ~SkipLayer() { layers_.skipped = saved_; }
  SkipLayer(const SkipLayer&) = delete;
  SkipLayer& operator=(const SkipLayer&) = delete;

 private:
  ThreadLayers& layers_;
  const uint8_t saved_;
};

}  // namespace mindtorch::dispatch
