#include "mindtorch/driver/driver.h"

#include <utility>

#include "mindtorch/driver/device_row.h"

namespace mindtorch::driver {

DriverError::DriverError(std::string function, int64_t code, std::string vendor_text)
    : RuntimeError(detail::concat(
          function, " failed with error ", code, vendor_text.empty() ? "" : ": ", vendor_text)),
      function_(std::move(function)),
      code_(code),
      vendor_text_(std::move(vendor_text)) {}

const char* DeviceDriver::kind() const noexcept { return row().name; }

}  // namespace mindtorch::driver
