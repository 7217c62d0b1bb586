#pragma once

#include <cstddef>

namespace mindtorch::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCanFailNew = false;  // the sanitizers bring an operator new of their own
#else
inline constexpr bool kCanFailNew = true;
#endif

// While it lives, the nth `new` of this thread from now on throws std::bad_alloc, once.
class FailNew {
 public:
  explicit FailNew(size_t nth);
  ~FailNew();
  FailNew(const FailNew&) = delete;
  FailNew& operator=(const FailNew&) = delete;

  bool failed() const;
};

}  // namespace mindtorch::testing
