#include "bindings/tensor/device_names.h"

#include <atomic>

namespace mindtorch::python {
namespace {

std::atomic<bool> g_cuda_is_npu{false};

}  // namespace

DeviceType meant_type(DeviceType type) {
  const bool sent = type == DeviceType::kCuda && g_cuda_is_npu.load(std::memory_order_relaxed);
  return sent ? DeviceType::kNpu : type;
}

Device parse_device(std::string_view text) {
  Device device = Device::parse(text);
  device.type = meant_type(device.type);
  return device;
}

bool send_cuda_to_npu() { return !g_cuda_is_npu.exchange(true); }

}  // namespace mindtorch::python
