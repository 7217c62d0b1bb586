#include "mindtorch/backends/cpu/capability.h"

#include "hwy/targets.h"
#include "mindtorch/base/options.h"

namespace mindtorch::cpu {

void apply_capability_option() {
#if HWY_ARCH_X86
  // Better instruction sets have lower bits.
  const std::string most = options::kCpuCapability.get();
  if (most == "avx2") hwy::DisableTargets(HWY_AVX2 - 1);
  if (most == "default") hwy::DisableTargets(2 * HWY_AVX2 - 1);
#endif
}

const char* capability() {
#if HWY_ARCH_X86
  if (allows_avx512()) return "AVX512";
  return (hwy::SupportedTargets() & HWY_AVX2) != 0 ? "AVX2" : "DEFAULT";
#elif HWY_ARCH_ARM_A64
  return "NEON";
#else
  return "DEFAULT";
#endif
}

bool allows_avx512() {
#if HWY_ARCH_X86
  return (hwy::SupportedTargets() & HWY_AVX3) != 0;
#else
  return false;
#endif
}

}  // namespace mindtorch::cpu
