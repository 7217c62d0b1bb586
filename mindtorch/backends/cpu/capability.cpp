#include "mindtorch/backends/cpu/capability.h"

#include "hwy/targets.h"
#include "mindtorch/base/options.h"

namespace mindtorch::cpu {

int64_t allowed_targets() {
  // Highway is asked once: each call of SupportedTargets() lets the next kernels be the machine's
  // best ones, disabled or not, while what was sized for the lanes of others stays.
  static const int64_t targets = [] {
#if HWY_ARCH_X86
    // Better instruction sets have lower bits.
    const std::string most = options::kCpuCapability.get();
    if (most == "avx2") hwy::DisableTargets(HWY_AVX2 - 1);
    if (most == "default") hwy::DisableTargets(2 * HWY_AVX2 - 1);
#endif
    const int64_t supported = hwy::SupportedTargets();
    hwy::GetChosenTarget().Update(supported);
    return supported;
  }();
  return targets;
}

const char* capability() {
#if HWY_ARCH_X86
  if (allows_avx512()) return "AVX512";
  return (allowed_targets() & HWY_AVX2) != 0 ? "AVX2" : "DEFAULT";
#elif HWY_ARCH_ARM_A64
  return "NEON";
#else
  return "DEFAULT";
#endif
}

bool allows_avx512() {
#if HWY_ARCH_X86
  return (allowed_targets() & HWY_AVX3) != 0;
#else
  return false;
#endif
}

}  // namespace mindtorch::cpu
