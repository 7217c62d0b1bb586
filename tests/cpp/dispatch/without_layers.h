#pragma once

#include <array>

#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/ops/registry.h"

namespace mindtorch::test {

// Removes autograd's and autocast's layers for as long as it lives: for tests that install their
// own.
class WithoutLayers {
 public:
  WithoutLayers() : of_thread_(dispatch::thread_layers()) {
    ops::registry();  // the first one to ask installs them
    for (size_t i = 0; i < kLayers.size(); ++i) {
      layers_[i] = dispatch::install_layer(kLayers[i], nullptr);
    }
    dispatch::thread_layers() = {};
  }
  ~WithoutLayers() {
    for (size_t i = 0; i < kLayers.size(); ++i) dispatch::install_layer(kLayers[i], layers_[i]);
    dispatch::thread_layers() = of_thread_;
  }
  WithoutLayers(const WithoutLayers&) = delete;
  WithoutLayers& operator=(const WithoutLayers&) = delete;

 private:
  static constexpr std::array kLayers = {dispatch::Layer::kAutocast, dispatch::Layer::kAutograd};

  std::array<dispatch::LayerFn, kLayers.size()> layers_ = {};
  dispatch::ThreadLayers of_thread_;
};

}  // namespace mindtorch::test
