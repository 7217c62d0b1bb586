#pragma once

#include <memory>

#include "mindtorch/driver/driver.h"

namespace mindtorch::ascend {

// Ascend NPUs through CANN's runtime: the device kind "npu". Without a usable CANN it has no
// devices.
std::unique_ptr<driver::DeviceDriver> make_driver();

// Makes `device` current for this thread, if it is not. CANN has no call without one.
void bind(int device);
void bind_quietly(int device) noexcept;  // a failure shows in the call that follows

}  // namespace mindtorch::ascend
