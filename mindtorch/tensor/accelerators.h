#pragma once

#include <atomic>
#include <optional>

#include "mindtorch/base/macros.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/tensor/device.h"
#include "mindtorch/tensor/dtype.h"

// From a device to its driver, and which accelerator is meant where a program does not say.
namespace mindtorch {

namespace detail {
MT_API extern std::atomic<runtime::Accelerator*> g_accelerators[kDeviceTypeCount];
MT_API runtime::Accelerator* look_accelerator_up(DeviceType type) noexcept;
MT_API bool takes_int32_indices(DeviceType type) noexcept;
}  // namespace detail

// The driver of a type, by its name only the first time; null: none is registered.
inline runtime::Accelerator* find_accelerator(DeviceType type) noexcept {
  runtime::Accelerator* const known =
      detail::g_accelerators[static_cast<size_t>(type)].load(std::memory_order_acquire);
  return MT_LIKELY(known != nullptr) ? known : detail::look_accelerator_up(type);
}
// What there is of an accelerator, with its index. Throws RuntimeError without a driver.
inline runtime::DeviceRuntime& runtime_of(Device device) {
  runtime::Accelerator* const found = find_accelerator(device.type);
  return MT_LIKELY(found != nullptr) ? found->runtime(device.index)
                                     : runtime::runtime_for(name(device.type), device.index);
}

// Whether an op on the device that takes indices of int64 on the CPU takes these.
inline bool is_index_dtype(DType dtype, Device device) noexcept {
  return MT_LIKELY(dtype == DType::kInt64) ||
         (dtype == DType::kInt32 && detail::takes_int32_indices(device.type));
}

// The first type of which there is a device here.
MT_API std::optional<DeviceType> find_accelerator_type();
// The same; throws torch's RuntimeError without one.
MT_API DeviceType accelerator_type();

}  // namespace mindtorch
