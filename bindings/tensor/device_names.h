#pragma once

#include <string_view>

#include "mindtorch/tensor/device.h"

namespace mindtorch::python {

// What a program means by a device: an NPU where it says "cuda", once send_cuda_to_npu() was
// called.
DeviceType meant_type(DeviceType type);
// Device::parse, and then what is meant.
Device parse_device(std::string_view text);
// False: it was called before.
bool send_cuda_to_npu();

}  // namespace mindtorch::python
