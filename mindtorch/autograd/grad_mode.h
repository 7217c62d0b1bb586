#pragma once

#include "mindtorch/dispatch/dispatcher.h"

namespace mindtorch::autograd {

inline constexpr uint8_t kLayerBit = dispatch::bit(dispatch::Layer::kAutograd);

inline bool is_grad_enabled() { return dispatch::thread_layers().grad_mode; }
inline bool is_inference_mode() { return dispatch::thread_layers().inference_mode; }

// Both switch the layer for this thread: it is skipped where nothing is recorded, and sees every op
// where new tensors must be marked as inference tensors.
inline void set_grad_enabled(bool enabled) {
  dispatch::ThreadLayers& layers = dispatch::thread_layers();
  layers.grad_mode = enabled;
  const bool skip = !enabled && !layers.inference_mode;
  layers.skipped =
      static_cast<uint8_t>(skip ? layers.skipped | kLayerBit : layers.skipped & ~kLayerBit);
}
inline void set_inference_mode(bool enabled) {
  dispatch::ThreadLayers& layers = dispatch::thread_layers();
  layers.inference_mode = enabled;
  layers.enabled =
      static_cast<uint8_t>(enabled ? layers.enabled | kLayerBit : layers.enabled & ~kLayerBit);
  set_grad_enabled(!enabled && layers.grad_mode);
}

// Restores all of it.
class GradModeGuard {
 public:
  explicit GradModeGuard(bool enabled) : saved_(dispatch::thread_layers()) {
    set_grad_enabled(enabled);
  }
  ~GradModeGuard() { dispatch::thread_layers() = saved_; }
  GradModeGuard(const GradModeGuard&) = delete;
  GradModeGuard& operator=(const GradModeGuard&) = delete;

 private:
  const dispatch::ThreadLayers saved_;
};

}  // namespace mindtorch::autograd
