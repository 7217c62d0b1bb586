#pragma once

#include <string>

#include "mindtorch/base/macros.h"

namespace mindtorch {

// Warns the user. Goes to standard error until a front end installs
// a handler (Python's: UserWarning). The handler may throw: a warning can be made an error.
MT_API void warn(const std::string& text);
using WarningHandler = void (*)(const std::string& text);
MT_API void set_warning_handler(WarningHandler handler);

}  // namespace mindtorch
