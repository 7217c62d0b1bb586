#pragma once

#include <string>
#include <string_view>

#include "mindtorch/tensor/device.h"

namespace mindtorch::python {

// What a program means by a device: another one where it says "cuda", once send_cuda_to() was
// called.
DeviceType meant_type(DeviceType type);
// Device::parse, and then what is meant.
Device parse_device(std::string_view text);
// False: it means that already.
bool send_cuda_to(DeviceType type);

// torch names more kinds of devices than have a backend here, such as "mps". Objects of these exist
// and can be compared; only what uses one raises. Their types follow the last DeviceType, and never
// leave the objects: to_device refuses them.
Device named_device(std::string_view text);
constexpr bool has_backend(DeviceType type) { return static_cast<int>(type) < kDeviceTypeCount; }
std::string_view kind_of(Device device);
// Device::str() of all kinds.
std::string text_of(Device device);

}  // namespace mindtorch::python
