#include "mindtorch/tensor/bytes.h"

#include <cstring>

#include "mindtorch/runtime/copy.h"
#include "mindtorch/tensor/accelerators.h"

namespace mindtorch {
void copy_bytes(Device to_device,
                void* to,
                Device from_device,
                const void* from,
                size_t bytes,
                bool non_blocking) {
  if (bytes == 0) return;
  if (to_device.is_host() && from_device.is_host()) {
    std::memmove(to, from, bytes);
  } else if (from_device.is_host()) {
    runtime::copy_to_device(runtime_of(to_device), to, from, bytes, non_blocking);
  } else if (to_device.is_host()) {
    runtime::copy_to_host(runtime_of(from_device), to, from, bytes, non_blocking);
  } else {
    runtime::copy_between_devices(runtime_of(to_device), to, runtime_of(from_device), from, bytes);
  }
}

void copy_bytes(StorageImpl& to, const StorageImpl& from, bool non_blocking) {
  copy_bytes(to.device(), to.mutable_data(), from.device(), from.data(), from.size_bytes(),
             non_blocking);
}

void fill_bytes(StorageImpl& storage, uint8_t value) {
  const size_t bytes = storage.size_bytes();
  if (bytes == 0) return;
  void* const data = storage.mutable_data();
  if (storage.device().is_host()) {
    std::memset(data, value, bytes);
    return;
  }
  runtime::DeviceRuntime& device = runtime_of(storage.device());
  device.check_usable();
  const runtime::Stream stream = runtime::current_stream(device);
  device.driver().fill_async(data, value, bytes, stream.device(), stream.handle());
}

}  // namespace mindtorch
