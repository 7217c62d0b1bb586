#pragma once

#include <cstddef>

#include "mindtorch/base/macros.h"
#include "mindtorch/runtime/stream.h"

// Bytes between host and devices. Every copy is queued on the current stream of the device (between
// devices: of the source's) and so runs after what was queued there before. What the driver reports
// is thrown; pinned memory used by a queued copy is kept from reuse until the copy is done. Any
// thread may call these. 0 bytes are no copy, and touch no device.
namespace mindtorch::runtime {

// Pageable memory up to this size is copied to a staging buffer by a non-blocking copy; above it,
// waiting for the copy costs less than the second pass over the bytes.
inline constexpr size_t kStageLimit = size_t{4} << 20;

// From the host. Blocking: the bytes have arrived on return. Non-blocking: pinned memory must stay
// as it is until the copy is done, pageable memory may be changed on return.
MT_API void copy_to_device(
    DeviceRuntime& device, void* to, const void* from, size_t bytes, bool non_blocking = false);

// To the host. Non-blocking into pinned memory returns before the bytes are there: synchronise
// before reading them. Otherwise they are there on return.
MT_API void copy_to_host(
    DeviceRuntime& device, void* to, const void* from, size_t bytes, bool non_blocking = false);

// From device to device, or within one; does not wait on the host. Between two devices the copy
// runs after what both current streams have queued, and both go on after it; devices of two kinds
// and those that cannot reach each other copy through pinned memory, and the host waits.
MT_API void copy_between_devices(
    DeviceRuntime& to_device, void* to, DeviceRuntime& from_device, const void* from, size_t bytes);

}  // namespace mindtorch::runtime
