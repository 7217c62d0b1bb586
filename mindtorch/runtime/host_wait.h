#pragma once

#include "mindtorch/base/macros.h"

namespace mindtorch::runtime {

// What a higher layer does around every wait of the host for a device, or for its own long work:
// Python releases the GIL.
// `begin` may answer null: then `end` is not called.
struct WaitCallbacks {
  void* (*begin)() = nullptr;
  void (*end)(void* token) = nullptr;
};
// Set once, before the first wait.
MT_API void set_wait_callbacks(WaitCallbacks calls) noexcept;

// Exists while the host waits, if it does. No lock may be held that the other threads might want.
class MT_API HostWait {
 public:
  explicit HostWait(bool waits = true);
  ~HostWait();
  HostWait(const HostWait&) = delete;
  HostWait& operator=(const HostWait&) = delete;

 private:
  void* token_;
};

}  // namespace mindtorch::runtime
