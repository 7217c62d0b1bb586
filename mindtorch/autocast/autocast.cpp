#include "mindtorch/autocast/autocast.h"

#include <array>
#include <optional>
#include <unordered_map>

#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/ops/registry.h"

namespace mindtorch::autocast {
namespace {

// A cast weight, and the weight it was made of: held, so that no other tensor gets its address.
struct CachedCast {
  Tensor source;
  uint32_t version;
  Tensor result;
};

struct State {
  std::array<bool, kDeviceTypeCount> enabled{};
  std::array<std::optional<DType>, kDeviceTypeCount> dtypes{};  // that the program has chosen
  bool cache_enabled = true;
  int nesting = 0;
  std::unordered_map<const TensorImpl*, CachedCast> casts;
};

State& state() {
  thread_local State state;
  return state;
}

size_t index(DeviceType type) { return static_cast<size_t>(type); }

// Torch's choice: bfloat16 on the CPU, float16 on accelerators, if it is there.
DType default_dtype(DeviceType type) {
  const DTypeSet held = ops::registry().device_dtypes(type);
  return is_accelerator(type) && contains(held, DType::kFloat16) ? DType::kFloat16
                                                                 : DType::kBFloat16;
}

// A weight is used many times in a step, and its casts share one history.
bool is_worth_keeping(const Tensor& tensor, DType dtype, DType lower) {
  return dtype == lower && tensor.dtype() == DType::kFloat32 && state().cache_enabled &&
         autograd::is_grad_enabled() && autograd::requires_grad(tensor) &&
         !tensor.impl()->view_base && autograd::is_leaf(tensor);
}

}  // namespace

bool is_enabled(DeviceType type) noexcept { return state().enabled[index(type)]; }

void set_enabled(DeviceType type, bool enabled) noexcept {
  State& own = state();
  own.enabled[index(type)] = enabled;
  bool any = false;
  for (const bool each : own.enabled) any |= each;
  dispatch::ThreadLayers& layers = dispatch::thread_layers();
  const uint8_t bit = dispatch::bit(dispatch::Layer::kAutocast);
  layers.enabled = static_cast<uint8_t>(any ? layers.enabled | bit : layers.enabled & ~bit);
}

DType dtype(DeviceType type) noexcept {
  const std::optional<DType> chosen = state().dtypes[index(type)];
  return MT_LIKELY(chosen.has_value()) ? *chosen : default_dtype(type);
}

void set_dtype(DeviceType type, DType dtype) { state().dtypes[index(type)] = dtype; }

bool is_cache_enabled() noexcept { return state().cache_enabled; }
void set_cache_enabled(bool enabled) noexcept { state().cache_enabled = enabled; }
void clear_cache() noexcept { state().casts.clear(); }
int increment_nesting() noexcept { return ++state().nesting; }
int decrement_nesting() noexcept { return --state().nesting; }

bool is_eligible(const Tensor& tensor, DeviceType type) {
  return tensor.defined() && tensor.device().type == type && is_floating_point(tensor.dtype()) &&
         tensor.dtype() != DType::kFloat64;
}

Tensor cast(const Tensor& tensor, DType to) {
  if (tensor.dtype() == to) return tensor;
  if (!is_worth_keeping(tensor, to, dtype(tensor.device().type))) return _to_copy(tensor, to);
  State& own = state();
  const uint32_t version = tensor.storage()->version();
  const auto found = own.casts.find(tensor.impl());
  if (found != own.casts.end() && found->second.version == version &&
      found->second.result.dtype() == to) {
    return found->second.result;
  }
  Tensor result = _to_copy(tensor, to);
  own.casts[tensor.impl()] = {tensor, version, result};
  return result;
}

}  // namespace mindtorch::autocast
