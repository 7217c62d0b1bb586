#pragma once

#include <atomic>
#include <cstdint>

#include "mindtorch/base/macros.h"

// A device cannot be used on both sides of a fork. Whatever holds something of a driver remembers
// the generation it was made in; a child has another one.
namespace mindtorch::runtime {

MT_API extern std::atomic<uint32_t> g_fork_generation;  // read it with fork_generation()

// How many forks lie between the first process and this one.
inline uint32_t fork_generation() noexcept {
  return g_fork_generation.load(std::memory_order_relaxed);
}

// Counts forks from now on. May be called many times.
void watch_forks();

}  // namespace mindtorch::runtime
