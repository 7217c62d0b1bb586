#pragma once

#include "mindtorch/backends/ascend/acl_abi.h"
#include "mindtorch/base/macros.h"

namespace mindtorch::ascend {

// The name CANN gives a code, or "unknown".
const char* error_name(int64_t code) noexcept;

// Throws DriverError with function, code, its name and CANN's own recent message.
[[noreturn]] void raise(const char* function, int64_t code);

inline void check(int64_t code, const char* function) {
  if (MT_UNLIKELY(code != ACL_SUCCESS)) raise(function, code);
}

// call(aclrtMalloc, &data, bytes, policy): calls the library's function, throws what it reports.
#define MT_ACL(name, ...) \
  ::mindtorch::ascend::check(::mindtorch::ascend::acl().name(__VA_ARGS__), #name)

}  // namespace mindtorch::ascend
