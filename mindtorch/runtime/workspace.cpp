#include "mindtorch/runtime/workspace.h"

#include <algorithm>
#include <utility>

#include "mindtorch/runtime/device_runtime.h"

namespace mindtorch::runtime {
namespace {

constinit thread_local SharedWorkspace* t_shared __attribute__((tls_model("initial-exec"))) =
    nullptr;

}  // namespace

Workspace::Workspace(Stream stream, size_t bytes) : stream_(stream) {
  if (bytes == 0) return;
  if (t_shared != nullptr && t_shared->serves(stream)) {
    data_ = t_shared->get(stream, bytes);
    return;
  }
  own_ = stream.runtime().memory().allocate(bytes, stream.handle());
  data_ = own_->data;
}

Workspace::~Workspace() {
  if (own_ != nullptr) stream_.runtime().memory().release(own_);
}

SharedWorkspace::SharedWorkspace(size_t& largest_bytes) noexcept
    : largest_bytes_(largest_bytes), outer_(std::exchange(t_shared, this)) {}

SharedWorkspace::~SharedWorkspace() {
  t_shared = outer_;
  release();
}

void SharedWorkspace::release() noexcept {
  if (block_ != nullptr) stream_.runtime().memory().release(std::exchange(block_, nullptr));
}

void* SharedWorkspace::get(Stream stream, size_t bytes) {
  if (block_ == nullptr || block_->size < bytes) {
    release();  // before the larger one is there: they need not both fit
    const size_t wanted = std::max(largest_bytes_, bytes);
    block_ = stream.runtime().memory().allocate(wanted, stream.handle());
    stream_ = stream;
    largest_bytes_ = wanted;
  }
  return block_->data;
}

}  // namespace mindtorch::runtime
