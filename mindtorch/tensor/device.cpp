#include "mindtorch/tensor/device.h"

#include <charconv>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/stream.h"

namespace mindtorch {

namespace detail {
constinit std::atomic<const char*> g_private_name{"privateuseone"};
}

void name_private_device(std::string_view chosen) {
  const std::string_view before = name(DeviceType::kPrivateUse1);
  MT_CHECK(before == "privateuseone", RuntimeError,
           "there is room for one device of a library: ", before, " has it");
  for (const DeviceType type :
       {DeviceType::kCpu, DeviceType::kMeta, DeviceType::kNpu, DeviceType::kCuda}) {
    MT_CHECK(chosen != name(type), RuntimeError, "there is a device ", chosen, " already");
  }
  // Never freed: names are borrowed.
  detail::g_private_name.store((new std::string(chosen))->c_str(), std::memory_order_release);
}

std::string Device::str() const {
  std::string text(name(type));
  if (has_index()) text.append(1, ':').append(std::to_string(index));
  return text;
}

Device Device::parse(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  for (int i = 0; i < kDeviceTypeCount; ++i) {
    const auto type = static_cast<DeviceType>(i);
    if (kind != name(type)) continue;
    if (colon == std::string_view::npos) return Device(type);
    const std::string_view digits = text.substr(colon + 1);
    int index = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    const bool whole = error == std::errc() && end == digits.data() + digits.size();
    const bool canonical = digits.size() == 1 || (!digits.empty() && digits[0] != '0');
    if (!whole || !canonical || index < 0 || index > 127) break;
    return Device(type, index);
  }
  MT_CHECK(colon != 0 && !text.empty() &&
               kind.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") ==
                   std::string_view::npos,
           RuntimeError, "Invalid device string: '", text, "'");
  for (int i = 0; i < kDeviceTypeCount; ++i) {
    MT_CHECK(kind != name(static_cast<DeviceType>(i)), RuntimeError, "Invalid device string: '",
             text, "'");
  }
  MT_THROW(
      RuntimeError,
      "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, "
      "xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone, npu device type at start of "
      "device string: ",
      kind);
}

Device resolve(Device device) {
  if (device.is_cpu() || device.is_meta()) return device;
  check_device_available(device);
  if (device.has_index()) return device;
  return {device.type, runtime::current_device(runtime::accelerator(name(device.type)))};
}

void check_device_available(Device device) {
  if (device.is_cpu() || device.is_meta()) return;
  runtime::Accelerator* const accelerator = runtime::find_accelerator(name(device.type));
  MT_CHECK(accelerator != nullptr, RuntimeError, "Cannot use device ", device.str(),
           ": this build of mindtorch has no backend for it. Use device='cpu'.");
  const int count = accelerator->device_count();
  MT_CHECK(count > 0, RuntimeError, "Cannot use device ", device.str(), ": ",
           accelerator->driver().unavailable_reason(), ". Use device='cpu'.");
  if (device.has_index()) accelerator->check_device(device.index);
}

}  // namespace mindtorch
