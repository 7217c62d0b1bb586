#pragma once

namespace mindtorch {

// The pause of a spin loop: the other hardware thread of the core runs, and the loop ends without a
// mispredicted branch.
inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace mindtorch
