#pragma once

#include <chrono>
#include <thread>

namespace mindtorch::dispatch {

// When the language ends, its other threads stay where they are, perhaps with what this one waits
// for: it waits a second at most. False: in vain.
template <typename Try>
bool wait_at_end(const Try& attempt) noexcept {
  for (int i = 0; i < 1000; ++i) {
    if (attempt()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace mindtorch::dispatch
