#pragma once

#include <vector>

namespace mindtorch::testing {

// Keeps an object as long as the process: what others may point to until its end. It stays
// reachable, so that no leak is reported.
template <typename T>
T& never_freed(T* object) {
  static auto& all = *new std::vector<T*>;
  all.push_back(object);
  return *object;
}

}  // namespace mindtorch::testing
