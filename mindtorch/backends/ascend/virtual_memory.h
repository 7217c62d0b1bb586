#pragma once

#include <map>
#include <mutex>

#include "mindtorch/backends/ascend/acl_abi.h"
#include "mindtorch/driver/driver.h"

namespace mindtorch::ascend {

// Address ranges with physical memory mapped behind them. Remembers the handle behind every mapped
// address, which CANN's unmap does not give back. Thread-safe.
class MappedMemory final : public driver::VirtualMemory {
 public:
  static bool available() noexcept;

  size_t granularity(int device) override;
  void* reserve(int device, size_t bytes) override;
  void unreserve(int device, void* address, size_t bytes) noexcept override;
  bool map(int device, void* address, size_t bytes) override;
  void unmap(int device, void* address, size_t bytes) noexcept override;

 private:
  std::mutex mutex_;
  std::map<void*, aclrtDrvMemHandle> handles_;  // by address
};

}  // namespace mindtorch::ascend
