#include "mindtorch/backends/cpu/capability.h"

#include "hwy/targets.h"
#include "mindtorch/base/options.h"
#include "mindtorch/base/warning.h"

namespace mindtorch::cpu {
namespace {

// The name of the best of Highway's bits.
const char* name_of(int64_t targets) {
#if HWY_ARCH_X86
  if ((targets & HWY_AVX3) != 0) return "AVX512";
  return (targets & HWY_AVX2) != 0 ? "AVX2" : "DEFAULT";
#elif HWY_ARCH_ARM_A64
  static_cast<void>(targets);
  return "NEON";
#else
  static_cast<void>(targets);
  return "DEFAULT";
#endif
}

}  // namespace

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
    const int64_t wanted = hwy::SupportedTargets();
    // What tiles are not compiled for, generated code is not to use either: their bits must agree.
    const int64_t supported = wanted & (HWY_TARGETS);
    if (std::string(name_of(wanted)) != name_of(supported)) {
      warn(std::string("CPU ops could use ") + name_of(wanted) +
           " here, but this build of mindtorch was compiled without code for it, and runs " +
           name_of(supported) +
           ". A build has code for the machine that it was compiled on; with "
           "-DMINDTORCH_CPU_TARGETS=all, as wheels are, for every one.");
    }
    hwy::GetChosenTarget().Update(supported);
    return supported;
  }();
  return targets;
}

const char* capability() { return name_of(allowed_targets()); }

std::vector<std::string> compiled_capabilities() {
  std::vector<std::string> names;
  for (int64_t rest = HWY_TARGETS; rest != 0; rest &= rest - 1) {
    const char* name = name_of(rest & -rest);
    if (names.empty() || names.back() != name) names.emplace_back(name);
  }
  return names;
}

// For kernels that are not made by Highway.
bool allows_avx512() {
#if HWY_ARCH_X86
  return (allowed_targets() & HWY_AVX3) != 0;
#else
  return false;
#endif
}

}  // namespace mindtorch::cpu
