#pragma once

#include <cstddef>
#include <cstdint>

#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/storage.h"

// Bytes as they are, whatever dtypes a device has kernels for. Work on a device is queued on its
// current stream; see runtime/copy.h.
namespace mindtorch {

// Between any two devices that hold bytes, or within one.
MT_API void copy_bytes(Device to_device,
                       void* to,
                       Device from_device,
                       const void* from,
                       size_t bytes,
                       bool non_blocking = false);
// All of `from`, which has as many.
MT_API void copy_bytes(StorageImpl& to, const StorageImpl& from, bool non_blocking = false);
MT_API void fill_bytes(StorageImpl& storage, uint8_t value);

}  // namespace mindtorch
