#pragma once

#include <cstdint>
#include <string>

#include "mindtorch/base/macros.h"

// How much of the machine this process may use.
namespace mindtorch::cpu {

// Distinct cores among the processors that the affinity of this thread allows; hyperthreads of a
// core count once. `root` stands for "/", here and below: tests have a tree of their own.
MT_API int available_cores(const std::string& root = "");

// The CPU time of this process's control group (version 1 or 2) as a number of cores, rounded up;
// the least of the group and those it lies in. 0 when unlimited.
MT_API int control_group_quota(const std::string& root = "");

// The largest cache that the first processor reads through; 32 MiB where the system does not say.
// Not sysconf's: that counts the caches of a whole socket as one.
MT_API int64_t last_level_cache_bytes(const std::string& root = "");

}  // namespace mindtorch::cpu
