#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "mindtorch/base/macros.h"

namespace mindtorch {

namespace driver {
struct DeviceRow;
}

enum class DeviceType : uint8_t {
  kCpu,
  kMeta,
  kNpu,
  kCuda,
  kPrivateUse1,  // of a library of its own, under the name which that gives it (ops/extension.h)
};
inline constexpr int kDeviceTypeCount = 5;

constexpr bool is_accelerator(DeviceType type) { return type > DeviceType::kMeta; }

namespace detail {
MT_API extern std::atomic<const char*> g_private_name;
}

inline std::string_view name(DeviceType type) {
  constexpr std::string_view kNames[] = {"cpu", "meta", "npu", "cuda"};
  if (MT_UNLIKELY(type == DeviceType::kPrivateUse1)) {
    return detail::g_private_name.load(std::memory_order_acquire);
  }
  return kNames[static_cast<int>(type)];
}
// Gives kPrivateUse1 its name, once: "privateuseone" before.
MT_API void name_private_device(std::string_view name);

// index -1 means "no index given": the current device of that type. Tensors on cpu and meta carry
// -1, tensors on an accelerator always carry their index.
struct Device {
  DeviceType type = DeviceType::kCpu;
  int8_t index = -1;

  constexpr Device() = default;
  constexpr Device(DeviceType type, int index = -1)  // NOLINT: a type is a device
      : type(type), index(static_cast<int8_t>(index)) {}

  bool is_cpu() const { return type == DeviceType::kCpu; }
  bool is_meta() const { return type == DeviceType::kMeta; }
  // Its memory is the program's own, which reads and writes it without asking a driver.
  bool is_host() const { return is_cpu(); }
  // It has a driver, memory of its own, and works beside the host.
  bool is_accelerator() const { return mindtorch::is_accelerator(type); }
  bool has_index() const { return index >= 0; }
  friend constexpr bool operator==(Device a, Device b) {
    return a.type == b.type && a.index == b.index;
  }

  // "npu:0", or "npu" without an index.
  MT_API std::string str() const;
  // Reads what str() writes; throws torch's RuntimeError for anything else.
  MT_API static Device parse(std::string_view text);
};

// What is known of the devices of a type, whether or not there is one here.
MT_API const driver::DeviceRow& device_row(DeviceType type);
// The device itself; with no index, the current device of its kind. Throws the reason when it
// cannot be used.
MT_API Device resolve(Device device);
// Throws the reason when tensors cannot be made on this device here and now.
MT_API void check_device_available(Device device);

}  // namespace mindtorch
