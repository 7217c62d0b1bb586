#pragma once

#include <cstddef>

#include "mindtorch/base/macros.h"
#include "mindtorch/runtime/stream.h"

namespace mindtorch::runtime {

struct Block;

// Memory that a kernel needs while it runs. Free again as soon as the kernel is queued, since what
// the stream does later runs after. Throws what the allocator throws.
class MT_API Workspace {
 public:
  Workspace(Stream stream, size_t bytes);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void* data() const noexcept { return data_; }  // null for 0 bytes

 private:
  Stream stream_;
  Block* own_ = nullptr;
  void* data_ = nullptr;
};

// While it lives, the workspaces of this thread on one stream are one block, as large as the
// largest of them. `largest_bytes` is kept from one time to the next: with the right value there is
// one allocation.
class MT_API SharedWorkspace {
 public:
  explicit SharedWorkspace(size_t& largest_bytes) noexcept;
  ~SharedWorkspace();
  SharedWorkspace(const SharedWorkspace&) = delete;
  SharedWorkspace& operator=(const SharedWorkspace&) = delete;

 private:
  friend class Workspace;
  bool serves(Stream stream) const { return block_ == nullptr || stream == stream_; }
  void* get(Stream stream, size_t bytes);
  void release() noexcept;

  size_t& largest_bytes_;
  SharedWorkspace* const outer_;
  Stream stream_;
  Block* block_ = nullptr;
};

}  // namespace mindtorch::runtime
