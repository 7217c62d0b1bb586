#pragma once

#include "simulator/ascend/core/stream.h"

// What a callback of aclrtSetExceptionInfoCallback can ask for.
struct aclrtExceptionInfo {
  uint32_t task;
  uint32_t stream;
  uint32_t thread;
  uint32_t device;
  uint32_t code;
};

namespace sim {

// Calls the program's callback, with the lock released.
void tell_exception(Lock& lock, const Stream& stream, aclError code);

}  // namespace sim
