#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "mindtorch/backends/cpu/scratch.h"
#include "mindtorch/runtime/host_allocator.h"

namespace mindtorch::cpu::product {

// Uninitialised memory for one product: the calling thread's kept block, or, for large ones, the
// pool of tensors. Pages from the system would cost more than small products.
class Workspace {
 public:
  explicit Workspace(int64_t bytes) {
    if (bytes <= 0) return;
    if (bytes <= kMostKeptBytes) {
      data_ = kept_.emplace(static_cast<size_t>(bytes)).take<std::byte>(bytes);
    } else {
      block_ = runtime::host_allocator().allocate(static_cast<size_t>(bytes));
      data_ = static_cast<std::byte*>(block_.data);
    }
  }
  ~Workspace() {
    if (block_.data != nullptr) runtime::host_allocator().release(block_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::byte* data() const { return data_; }

 private:
  static constexpr int64_t kMostKeptBytes = int64_t{4} << 20;

  std::optional<KeptScratch> kept_;
  runtime::Allocation block_ = {};
  std::byte* data_ = nullptr;
};

}  // namespace mindtorch::cpu::product
