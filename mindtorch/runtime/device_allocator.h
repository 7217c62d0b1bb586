#pragma once

#include "mindtorch/base/macros.h"
#include "mindtorch/runtime/allocator.h"

namespace mindtorch::runtime {

class DeviceRuntime;

// Storages on an accelerator: memory of the device, for work on the stream that is current when it
// is asked for. Owned by the DeviceRuntime. Thread-safe.
class MT_API DeviceAllocator final : public Allocator {
 public:
  explicit DeviceAllocator(DeviceRuntime& runtime) : runtime_(runtime) {}

  Allocation allocate(size_t bytes) override;  // null for 0 bytes
  void release(Allocation allocation) noexcept override;

  DeviceRuntime& runtime() const noexcept { return runtime_; }

 private:
  DeviceRuntime& runtime_;
};

}  // namespace mindtorch::runtime
