#pragma once

#include <string>
#include <vector>

#include "mindtorch/base/macros.h"

// How much of the machine this process may use.
namespace mindtorch::cpu {

// The processors that the affinity of this thread allows: one of every core, then the second
// hyperthreads, and so on. Empty where the system does not tell. `root` stands for "/", here and
// below: tests have a tree of their own.
MT_API std::vector<int> processors_by_core(const std::string& root = "");

// Distinct cores among these processors; hyperthreads of a core count once.
MT_API int available_cores(const std::string& root = "");

// The CPU time of this process's control group (version 1 or 2) as a number of cores, rounded up;
// the least of the group and those it lies in. 0 when unlimited.
MT_API int control_group_quota(const std::string& root = "");

}  // namespace mindtorch::cpu
