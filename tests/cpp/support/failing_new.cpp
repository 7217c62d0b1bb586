#include "tests/cpp/support/failing_new.h"

#include <cstdlib>
#include <new>

namespace mindtorch::testing {
namespace {

constinit thread_local size_t t_fail_in = 0;  // 0: never

}  // namespace

FailNew::FailNew(size_t nth) { t_fail_in = nth; }
FailNew::~FailNew() { t_fail_in = 0; }
bool FailNew::failed() const { return t_fail_in == 0; }

void* allocate_or_fail(size_t bytes) {
  if (t_fail_in != 0 && --t_fail_in == 0) throw std::bad_alloc();
  void* data = std::malloc(bytes);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

}  // namespace mindtorch::testing

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(size_t bytes) { return mindtorch::testing::allocate_or_fail(bytes); }
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }
#endif
