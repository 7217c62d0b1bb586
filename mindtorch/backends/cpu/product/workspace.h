#pragma once

#include <cstddef>
#include <cstdint>

#include "mindtorch/runtime/host_allocator.h"

namespace mindtorch::cpu::product {

// Uninitialised memory for one product, from the pool of tensors: pages that were just given back
// to the system would cost more than small products.
class Workspace {
 public:
  explicit Workspace(int64_t bytes) {
    if (bytes > 0) block_ = runtime::host_allocator().allocate(static_cast<size_t>(bytes));
  }
  ~Workspace() {
    if (block_.data != nullptr) runtime::host_allocator().release(block_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(block_.data); }

 private:
  runtime::Allocation block_ = {};
};

}  // namespace mindtorch::cpu::product
