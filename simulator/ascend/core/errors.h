#pragma once

#include <string>

#include "simulator/ascend/core/export.h"

namespace sim {

// Keeps `text` as this thread's recent error message (aclGetRecentErrMsg) and returns `code`.
SIM_API int fail(int code, const std::string& text);

}  // namespace sim
