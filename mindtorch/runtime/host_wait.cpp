#include "mindtorch/runtime/host_wait.h"

namespace mindtorch::runtime {
namespace {

constinit WaitCallbacks g_calls;

}  // namespace

void set_wait_callbacks(WaitCallbacks calls) noexcept { g_calls = calls; }

HostWait::HostWait(bool waits)
    : token_(waits && g_calls.begin != nullptr ? g_calls.begin() : nullptr) {}

HostWait::~HostWait() {
  if (token_ != nullptr) g_calls.end(token_);
}

}  // namespace mindtorch::runtime
