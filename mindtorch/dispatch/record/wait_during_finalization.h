#pragma once

#include <chrono>
#include <thread>

namespace mindtorch::dispatch {

// While the interpreter is finalizing, its other threads are stopped, perhaps holding the lock that
// this one needs: tries for a second at most. False: in vain.
template <typename Try>
bool wait_during_finalization(const Try& attempt) noexcept {
  for (int i = 0; i < 1000; ++i) {
    if (attempt()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace mindtorch::dispatch
