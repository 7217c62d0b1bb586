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

// Whether string instructions (rep movsb) copy long runs faster than vectors do. True for AMD's
// processors since Zen 5, where they need a fifth less time both in caches and past them, as they
// write whole lines without reading them first. Earlier ones lose much of that, or worse, where the
// two addresses are close within a page; Intel's are slower than vectors within the caches.
bool has_fast_string_copies();

}  // namespace mindtorch::cpu
