#pragma once

#include <optional>

#include "mindtorch/tensor/device.h"

namespace mindtorch::python {

// Where factories put tensors when no device is named: `with torch.device("meta"):` and
// torch.set_default_device. One per thread, like torch's.
extern bool g_default_device_used;  // true once any thread has set one
std::optional<Device> thread_default_device();

inline std::optional<Device> default_device() {
  return MT_LIKELY(!g_default_device_used) ? std::nullopt : thread_default_device();
}

// Tensors on cpu and meta carry no index.
constexpr Device without_host_index(Device device) {
  const bool host = device.type == DeviceType::kCpu || device.type == DeviceType::kMeta;
  return host ? Device(device.type) : device;
}

}  // namespace mindtorch::python
