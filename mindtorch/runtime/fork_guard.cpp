#include "mindtorch/runtime/fork_guard.h"

#include <pthread.h>

namespace mindtorch::runtime {

constinit std::atomic<uint32_t> g_fork_generation{0};

void watch_forks() {
  static const int registered = pthread_atfork(
      nullptr, nullptr, [] { g_fork_generation.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
}

}  // namespace mindtorch::runtime
