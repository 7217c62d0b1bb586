#include "mindtorch/driver/driver.h"

#include <utility>

namespace mindtorch::driver {

DriverError::DriverError(std::string function, int64_t code, std::string vendor_text)
    : RuntimeError(detail::concat(
          function, " failed with error ", code, vendor_text.empty() ? "" : ": ", vendor_text)),
      function_(std::move(function)),
      code_(code),
      vendor_text_(std::move(vendor_text)) {}

}  // namespace mindtorch::driver
