#include "mindtorch/runtime/device_allocator.h"

#include <utility>

#include "mindtorch/runtime/address_hint.h"
#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/stream.h"

namespace mindtorch::runtime {
namespace {

thread_local const void* t_hint = nullptr;

}  // namespace

AddressHint::AddressHint(const void* address) noexcept : outer_(std::exchange(t_hint, address)) {}
AddressHint::~AddressHint() { t_hint = outer_; }
const void* AddressHint::current() noexcept { return t_hint; }

Allocation DeviceAllocator::allocate(size_t bytes) {
  const driver::StreamHandle stream = current_stream(runtime_).handle();
  Block* block = nullptr;
  if (MT_UNLIKELY(t_hint != nullptr)) block = runtime_.memory().allocate_at(t_hint, bytes, stream);
  if (block == nullptr) block = runtime_.memory().allocate(bytes, stream);
  if (block == nullptr) return {};
  return {block->data, block->size, block};
}

void DeviceAllocator::release(Allocation allocation) noexcept {
  // A child of the process that allocated it has no device to give it back to.
  if (runtime_.forked()) return;
  runtime_.memory().release(static_cast<Block*>(allocation.block));
}

}  // namespace mindtorch::runtime
