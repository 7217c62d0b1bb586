#include "mindtorch/tensor/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>

#include "mindtorch/base/error.h"
#include "mindtorch/driver/device_row.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/stream.h"
#include "mindtorch/tensor/accelerators.h"

namespace mindtorch {
namespace {

// Of types that have no driver, or none in this build.
constexpr driver::DeviceRow kWithoutDriver[kDeviceTypeCount] = {
    {.name = "cpu",
     .title = "CPU",
     .noun = "CPU",
     .dispatch_key = "CPU",
     .torch_type = 0,
     .dlpack_type = 1,
     .window_ops = 256},
    {.name = "meta",
     .title = "Meta",
     .noun = "Meta",
     .dispatch_key = "Meta",
     .torch_type = 14,
     .dlpack_type = 0},
    {.name = "npu",
     .title = "NPU",
     .noun = "NPU",
     .dispatch_key = "PrivateUse1",
     .torch_type = 20,
     .dlpack_type = 12},
    {.name = "cuda",
     .title = "CUDA",
     .noun = "GPU",
     .dispatch_key = "CUDA",
     .torch_type = 1,
     .dlpack_type = 2,
     .dlpack_default_stream = 1},
    {.name = "privateuseone",
     .title = "PRIVATEUSEONE",
     .noun = "device",
     .dispatch_key = "PrivateUse1",
     .torch_type = 20,
     .dlpack_type = 0},
};
// In order of preference.
constexpr DeviceType kAccelerators[] = {DeviceType::kNpu, DeviceType::kCuda,
                                        DeviceType::kPrivateUse1};

std::array<std::atomic<const driver::DeviceRow*>, kDeviceTypeCount> g_rows;

}  // namespace

namespace detail {
constinit std::atomic<const char*> g_private_name{"privateuseone"};
constinit std::atomic<runtime::Accelerator*> g_accelerators[kDeviceTypeCount]{};

runtime::Accelerator* look_accelerator_up(DeviceType type) noexcept {
  runtime::Accelerator* const found = runtime::find_accelerator(name(type));
  g_accelerators[static_cast<size_t>(type)].store(found, std::memory_order_release);
  return found;
}

bool takes_int32_indices(DeviceType type) noexcept {
  const runtime::Accelerator* const found = find_accelerator(type);
  return found != nullptr && found->driver().row().takes_int32_indices;
}
}  // namespace detail

void name_private_device(std::string_view chosen) {
  const std::string_view before = name(DeviceType::kPrivateUse1);
  MT_CHECK(before == "privateuseone", RuntimeError,
           "there is room for one device of a library: ", before, " has it");
  for (int i = 0; i < static_cast<int>(DeviceType::kPrivateUse1); ++i) {
    MT_CHECK(chosen != name(static_cast<DeviceType>(i)), RuntimeError, "there is a device ", chosen,
             " already");
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

const driver::DeviceRow& device_row(DeviceType type) {
  auto& known = g_rows[static_cast<size_t>(type)];
  if (const auto* const row = known.load(std::memory_order_acquire)) return *row;
  const runtime::Accelerator* const accelerator = find_accelerator(type);
  const driver::DeviceRow& without = kWithoutDriver[static_cast<size_t>(type)];
  if (accelerator == nullptr && is_accelerator(type)) return without;  // a driver may come later
  const driver::DeviceRow& row = accelerator != nullptr ? accelerator->driver().row() : without;
  known.store(&row, std::memory_order_release);
  return row;
}

std::optional<DeviceType> find_accelerator_type() {
  for (const DeviceType type : kAccelerators) {
    const runtime::Accelerator* const accelerator = find_accelerator(type);
    if (accelerator != nullptr && accelerator->device_count() > 0) return type;
  }
  return std::nullopt;
}

DeviceType accelerator_type() {
  const std::optional<DeviceType> type = find_accelerator_type();
  MT_CHECK(type, RuntimeError, "Cannot access accelerator device when none is available.");
  return *type;
}

Device resolve(Device device) {
  if (!device.is_accelerator()) return device;
  check_device_available(device);
  if (device.has_index()) return device;
  return {device.type, runtime::current_device(runtime::accelerator(name(device.type)))};
}

void check_device_available(Device device) {
  if (!device.is_accelerator()) return;
  runtime::Accelerator* const accelerator = find_accelerator(device.type);
  MT_CHECK(accelerator != nullptr, RuntimeError, "Cannot use device ", device.str(),
           ": this build of mindtorch has no backend for it. Use device='cpu'.");
  const int count = accelerator->device_count();
  MT_CHECK(count > 0, RuntimeError, "Cannot use device ", device.str(), ": ",
           accelerator->driver().unavailable_reason(), ". Use device='cpu'.");
  if (device.has_index()) accelerator->check_device(device.index);
}

}  // namespace mindtorch
