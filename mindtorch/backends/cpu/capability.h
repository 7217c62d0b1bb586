#pragma once

#include "mindtorch/base/macros.h"

// Which instructions kernels may use: the best of this machine, or less if MINDTORCH_CPU_CAPABILITY
// says so.
namespace mindtorch::cpu {

// Before the first kernel is chosen.
void apply_capability_option();

// "AVX512", "AVX2", "NEON" or "DEFAULT".
MT_API const char* capability();

// For kernels that are not made by Highway.
bool allows_avx512();

}  // namespace mindtorch::cpu
