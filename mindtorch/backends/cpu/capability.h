#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mindtorch/base/macros.h"

// Which instructions kernels may use: the best of this machine, or less if MINDTORCH_CPU_CAPABILITY
// says so.
namespace mindtorch::cpu {

// Highway's bits of the instruction sets that kernels may use. The first call comes before the
// first kernel is chosen: it makes Highway choose among these.
int64_t allowed_targets();

// "AVX512", "AVX2", "NEON" or "DEFAULT".
MT_API const char* capability();

// What this build has vector code for, the best first; see cmake/InstructionSets.cmake.
MT_API std::vector<std::string> compiled_capabilities();

// For kernels that are not made by Highway.
bool allows_avx512();

}  // namespace mindtorch::cpu
