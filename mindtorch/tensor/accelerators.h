#pragma once

#include <optional>

#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/device.h"

// Which accelerator is meant where a program does not say.
namespace mindtorch {

// The first type of which there is a device here.
MT_API std::optional<DeviceType> find_accelerator_type();
// The same; throws torch's RuntimeError without one.
MT_API DeviceType accelerator_type();

}  // namespace mindtorch
