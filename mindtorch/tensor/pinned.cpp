#include "mindtorch/tensor/pinned.h"

#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/page_locked.h"

namespace mindtorch {
namespace {

// The first one for which `choose` is true, or null.
template <typename Choose>
runtime::Accelerator* find(Choose choose) {
  for (const DeviceType type : {DeviceType::kNpu, DeviceType::kCuda}) {
    runtime::Accelerator* const accelerator = runtime::find_accelerator(name(type));
    if (accelerator != nullptr && choose(*accelerator)) return accelerator;
  }
  return nullptr;
}

runtime::Accelerator* accelerator_here() {
  return find([](runtime::Accelerator& each) { return each.device_count() > 0; });
}

}  // namespace

Tensor empty_pinned(IntList sizes, IntList strides, DType dtype) {
  runtime::Accelerator* const accelerator = accelerator_here();
  runtime::Allocator& memory = accelerator != nullptr
                                   ? static_cast<runtime::Allocator&>(accelerator->pinned())
                                   : runtime::page_locked_memory();
  const auto bytes = static_cast<size_t>(extent(sizes, strides) * size_bytes(dtype));
  const Storage storage = StorageImpl::allocate_from(memory, bytes, DeviceType::kCpu);
  return Tensor::over(storage, dtype, sizes, strides, 0);
}

bool is_pinned(const Tensor& tensor) {
  if (!tensor.device().is_cpu()) return false;
  const void* const data = tensor.storage()->data();
  if (data == nullptr) return false;
  const auto owns = [data](runtime::Accelerator& each) {
    return each.initialized() && each.pinned().owns(data);
  };
  return find(owns) != nullptr || runtime::page_locked_memory().owns(data);
}

bool has_accelerator() { return accelerator_here() != nullptr; }

}  // namespace mindtorch
