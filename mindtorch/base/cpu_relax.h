#pragma once

namespace mindtorch {

// Between two looks at a value that another thread is about to change: the core lets its sibling
// run and leaves the loop without a mispredicted branch.
inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace mindtorch
