#include "mindtorch/runtime/copy.h"

#include <cstring>

#include "mindtorch/base/error.h"
#include "mindtorch/driver/device_row.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/device_timeline.h"
#include "mindtorch/runtime/host_wait.h"
#include "mindtorch/runtime/pinned_pool.h"

namespace mindtorch::runtime {
namespace {

using driver::CopyKind;

const char* name_of(CopyKind kind) {
  switch (kind) {
    case CopyKind::kHostToDevice:
      return "Memcpy HtoD";
    case CopyKind::kDeviceToHost:
      return "Memcpy DtoH";
    case CopyKind::kDeviceToDevice:
      break;
  }
  return "Memcpy DtoD";
}

void queue_copy(Stream stream, void* to, const void* from, size_t bytes, CopyKind kind) {
  const LaunchSpan timed(stream, name_of(kind), bytes);
  stream.runtime().driver().copy_async(to, from, bytes, kind, stream.device(), stream.handle());
}

// Drivers may wait for the stream when host memory is not pinned.
void queue_pageable_copy(Stream stream, void* to, const void* from, size_t bytes, CopyKind kind) {
  const HostWait waiting;
  queue_copy(stream, to, from, bytes, kind);
}

void refuse_pageable_in_capture(Stream stream) {
  if (!stream.is_capturing()) return;
  const char* const title = stream.runtime().driver().row().title;
  MT_THROW(RuntimeError, "Cannot copy between CPU and ", title, " tensors during ", title,
           " graph capture unless the CPU tensor is pinned. Please use tensor.pin_memory() or "
           "allocate the tensor with pin_memory=True.");
}

// Copies the bytes aside first. False: there is no pinned memory to be had; nothing was queued.
bool copy_staged(Stream stream, PinnedPool& pinned, void* to, const void* from, size_t bytes) {
  Allocation stage;
  try {
    stage = pinned.allocate(bytes);
  } catch (const RuntimeError&) {
    return false;  // an error of the device comes again with the wait
  }
  try {
    std::memcpy(stage.data, from, bytes);
    pinned.record_use(stage.data, stream);
    queue_copy(stream, to, stage.data, bytes, CopyKind::kHostToDevice);
  } catch (...) {
    pinned.release(stage);
    throw;
  }
  pinned.release(stage);  // waits for the stream before it is used again
  return true;
}

}  // namespace

void copy_to_device(
    DeviceRuntime& device, void* to, const void* from, size_t bytes, bool non_blocking) {
  if (bytes == 0) return;
  device.check_usable();
  const Stream stream = current_stream(device);
  PinnedPool& pinned = device.accelerator().pinned();
  if (!pinned.record_use(from, stream)) {
    refuse_pageable_in_capture(stream);
    if (non_blocking && bytes <= kStageLimit && copy_staged(stream, pinned, to, from, bytes)) {
      return;
    }
    queue_pageable_copy(stream, to, from, bytes, CopyKind::kHostToDevice);
    return stream.synchronize();
  }
  queue_copy(stream, to, from, bytes, CopyKind::kHostToDevice);
  if (!non_blocking) stream.synchronize();
}

void copy_to_host(
    DeviceRuntime& device, void* to, const void* from, size_t bytes, bool non_blocking) {
  if (bytes == 0) return;
  device.check_usable();
  const Stream stream = current_stream(device);
  if (!device.accelerator().pinned().record_use(to, stream)) {
    refuse_pageable_in_capture(stream);
    queue_pageable_copy(stream, to, from, bytes, CopyKind::kDeviceToHost);
    return stream.synchronize();
  }
  queue_copy(stream, to, from, bytes, CopyKind::kDeviceToHost);
  if (!non_blocking) stream.synchronize();
}

void copy_between_devices(DeviceRuntime& to_device,
                          void* to,
                          DeviceRuntime& from_device,
                          const void* from,
                          size_t bytes) {
  if (bytes == 0 || (to == from && &to_device == &from_device)) return;
  from_device.check_usable();
  const Stream source = current_stream(from_device);
  if (&to_device == &from_device) {
    queue_copy(source, to, from, bytes, CopyKind::kDeviceToDevice);
    return;
  }
  Accelerator& accelerator = from_device.accelerator();
  const bool direct = &to_device.accelerator() == &accelerator &&
                      accelerator.reach_peer(from_device.device(), to_device.device()) &&
                      accelerator.reach_peer(to_device.device(), from_device.device());
  if (!direct) {
    const Allocation staged = accelerator.pinned().allocate(bytes);
    try {
      copy_to_host(from_device, staged.data, from, bytes);
      copy_to_device(to_device, to, staged.data, bytes);
    } catch (...) {
      accelerator.pinned().release(staged);
      throw;
    }
    accelerator.pinned().release(staged);
    return;
  }
  const Stream target = current_stream(to_device);
  source.wait_stream(target);
  queue_copy(source, to, from, bytes, CopyKind::kDeviceToDevice);
  try {
    target.wait_stream(source);
  } catch (...) {
    // The target's stream does not know of the copy: it must be over before the caller goes on.
    from_device.driver().wait_stream(from_device.device(), source.handle());
    throw;
  }
}

}  // namespace mindtorch::runtime
