#include "mindtorch/tensor/pinned.h"

#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/page_locked.h"
#include "mindtorch/tensor/accelerators.h"

namespace mindtorch {
namespace {

// The one that is meant; null where there is no such device.
runtime::Accelerator* accelerator_for(std::optional<DeviceType> wanted) {
  const std::optional<DeviceType> type = wanted ? wanted : find_accelerator_type();
  runtime::Accelerator* const found = type ? runtime::find_accelerator(name(*type)) : nullptr;
  return found != nullptr && found->device_count() > 0 ? found : nullptr;
}

bool owns(runtime::Accelerator& accelerator, const void* data) {
  return accelerator.initialized() && accelerator.pinned().owns(data);
}

}  // namespace

Tensor empty_pinned(IntList sizes,
                    IntList strides,
                    DType dtype,
                    std::optional<DeviceType> accelerator_type) {
  runtime::Accelerator* const accelerator = accelerator_for(accelerator_type);
  runtime::Allocator& memory = accelerator != nullptr
                                   ? static_cast<runtime::Allocator&>(accelerator->pinned())
                                   : runtime::page_locked_memory();
  const auto bytes = static_cast<size_t>(extent(sizes, strides) * size_bytes(dtype));
  const Storage storage = StorageImpl::allocate_from(memory, bytes, DeviceType::kCpu);
  return Tensor::over(storage, dtype, sizes, strides, 0);
}

bool is_pinned(const Tensor& tensor, std::optional<DeviceType> accelerator_type) {
  if (!tensor.device().is_host()) return false;
  const void* const data = tensor.storage()->data();
  if (data == nullptr) return false;
  if (runtime::Accelerator* const meant = accelerator_for(accelerator_type);
      accelerator_type && meant != nullptr) {
    return owns(*meant, data);
  }
  for (runtime::Accelerator* const each : runtime::accelerators()) {
    if (owns(*each, data)) return true;
  }
  return runtime::page_locked_memory().owns(data);
}

}  // namespace mindtorch
