#include "mindtorch/runtime/math_mode.h"

#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/hooks.h"

namespace mindtorch::runtime {
namespace {

void run_what_is_recorded() { hooks().before_sync(SyncPoint::kWaitDevice); }

}  // namespace

MathMode& MathMode::instance() {
  static auto* const mode = new MathMode;
  return *mode;
}

void MathMode::set_reduces_float32(bool on) {
  const std::scoped_lock lock(mutex_);
  if (reduces_float32() == on) return;
  run_what_is_recorded();
  hooks().before_empty_cache();  // graphs
  reduces_float32_.store(on, std::memory_order_relaxed);
}

void MathMode::set_deterministic(bool on) {
  const std::scoped_lock lock(mutex_);
  if (is_deterministic() == on) return;
  run_what_is_recorded();
  hooks().before_empty_cache();
  is_deterministic_.store(on, std::memory_order_relaxed);
  for (Accelerator* const accelerator : accelerators()) {
    if (!accelerator->initialized()) continue;
    accelerator->driver().set_deterministic(on);
    for (int i = 0; i < Accelerator::kMaxDevices; ++i) {
      if (DeviceRuntime* const runtime = accelerator->find_runtime(i)) runtime->forget_prepared();
    }
  }
}

void MathMode::apply(Accelerator& accelerator) {
  if (is_deterministic()) accelerator.driver().set_deterministic(true);
}

}  // namespace mindtorch::runtime
