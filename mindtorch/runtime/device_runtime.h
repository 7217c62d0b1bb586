#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "mindtorch/base/macros.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/async_errors.h"
#include "mindtorch/runtime/caching_allocator.h"
#include "mindtorch/runtime/device_allocator.h"
#include "mindtorch/runtime/event_pool.h"
#include "mindtorch/runtime/internal_capture.h"
#include "mindtorch/runtime/stream.h"
#include "mindtorch/runtime/stream_pool.h"

namespace mindtorch::runtime {

class Accelerator;

// One device as this process uses it: its memory, its streams with their deferred releases, its
// pooled events and the errors not thrown yet. Owned by its Accelerator. Thread-safe. Making
// one calls no driver.
class MT_API DeviceRuntime {
 public:
  DeviceRuntime(Accelerator& accelerator, int device);
  ~DeviceRuntime();
  DeviceRuntime(const DeviceRuntime&) = delete;
  DeviceRuntime& operator=(const DeviceRuntime&) = delete;

  Accelerator& accelerator() const noexcept { return accelerator_; }
  driver::DeviceDriver& driver() const noexcept { return driver_; }
  int device() const noexcept { return device_; }
  std::string name() const;  // as Device::str()

  EventPool& events() noexcept { return events_; }
  AsyncErrors& async_errors() noexcept { return async_errors_; }
  CachingAllocator& memory() noexcept { return memory_; }
  DeviceAllocator& allocator() noexcept { return allocator_; }  // memory(), for storages

  Stream default_stream() noexcept { return Stream(streams_.default_stream()); }
  // The next stream of the pool: after 32 requests of one priority the first comes again.
  Stream pool_stream(int priority = 0);
  // For InternalCapture alone; nothing ever runs on it.
  Stream capture_stream();
  InternalCapture& internal_capture() noexcept { return internal_capture_; }
  // A stream that the caller made, and destroys.
  Stream external_stream(driver::StreamHandle handle);
  // The stream that has this id. Throws ValueError if none has.
  Stream find_stream(int64_t id);
  std::pair<int, int> priority_range();  // (least, greatest)

  // Waits for all streams; then their deferred releases run, in order; then an error kept for any
  // of them is thrown.
  void synchronize();
  // Releases what is known to be done, without a wait.
  void poll_deferred() noexcept;

  // Throws RuntimeError in a child of the process that made this.
  void check_usable() const;
  // BackendStreamData::forget_prepared() of every stream.
  void forget_prepared();
  bool forked() const noexcept;

  // Where a thread keeps its current stream.
  uint32_t slot() const noexcept { return slot_; }

 private:
  void wait_and_release();

  Accelerator& accelerator_;
  driver::DeviceDriver& driver_;
  const int device_;
  const uint32_t slot_;
  EventPool events_;
  AsyncErrors async_errors_;
  InternalCapture internal_capture_;
  CachingAllocator memory_;
  DeviceAllocator allocator_;
  StreamPool streams_;  // last: its deferred releases may free memory
};

}  // namespace mindtorch::runtime
