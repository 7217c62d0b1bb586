#include "bindings/tensor/device_names.h"

#include <atomic>

#include "mindtorch/base/error.h"

namespace mindtorch::python {
namespace {

std::atomic<DeviceType> g_cuda{DeviceType::kCuda};  // what it means

constexpr std::string_view kWithoutBackend[] = {
    "ipu",  "xpu",  "mkldnn", "opengl", "opencl", "ideep", "hip", "ve",
    "fpga", "maia", "xla",    "lazy",   "vulkan", "mps",   "hpu", "mtia"};

}  // namespace

DeviceType meant_type(DeviceType type) {
  return type == DeviceType::kCuda ? g_cuda.load(std::memory_order_relaxed) : type;
}

Device parse_device(std::string_view text) {
  Device device = Device::parse(text);
  device.type = meant_type(device.type);
  return device;
}

Device named_device(std::string_view text) {
  const size_t colon = text.find(':');
  int type = kDeviceTypeCount;
  for (const std::string_view kind : kWithoutBackend) {
    if (text.substr(0, colon) == kind) {
      try {  // the index is written as that of any device
        const std::string_view index = colon == std::string_view::npos ? "" : text.substr(colon);
        return {static_cast<DeviceType>(type), Device::parse("cpu" + std::string(index)).index};
      } catch (const RuntimeError&) {
        MT_THROW(RuntimeError, "Invalid device string: '", text, "'");
      }
    }
    ++type;
  }
  return parse_device(text);
}

std::string_view kind_of(Device device) {
  if (has_backend(device.type)) return name(device.type);
  return kWithoutBackend[static_cast<int>(device.type) - kDeviceTypeCount];
}

std::string text_of(Device device) {
  std::string text(kind_of(device));
  if (device.has_index()) text.append(1, ':').append(std::to_string(device.index));
  return text;
}

bool send_cuda_to(DeviceType type) { return g_cuda.exchange(type) != type; }

}  // namespace mindtorch::python
