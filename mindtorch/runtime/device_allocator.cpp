#include "mindtorch/runtime/device_allocator.h"

#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/stream.h"

namespace mindtorch::runtime {

Allocation DeviceAllocator::allocate(size_t bytes) {
  Block* block = runtime_.memory().allocate(bytes, current_stream(runtime_).handle());
  if (block == nullptr) return {};
  return {block->data, block->size, block};
}

void DeviceAllocator::release(Allocation allocation) noexcept {
  // A child of the process that allocated it has no device to give it back to.
  if (runtime_.forked()) return;
  runtime_.memory().release(static_cast<Block*>(allocation.block));
}

}  // namespace mindtorch::runtime
