#pragma once

#include "simulator/ascend/core/export.h"

namespace sim {

inline constexpr int kNotSupported = 207000;  // ACL_ERROR_RT_FEATURE_NOT_SUPPORT
inline constexpr int kNoKernel = 561003;      // ACLNN_ERR_INNER_FIND_KERNEL_ERROR
inline constexpr int kHcclNotSupported = 5;   // HCCL_E_NOT_SUPPORT

// The answer of a function that is exported but not simulated: its name becomes the thread's recent
// error message, `code` is returned.
SIM_API int unsupported(const char* function, int code);

}  // namespace sim
