#pragma once

#include <cstdint>
#include <optional>

#include "mindtorch/base/macros.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/stream_state.h"

namespace mindtorch::runtime {

class Accelerator;
class DeviceRuntime;
class Event;

// A queue of work on one device, which runs in order. A cheap value: one pointer to what the
// device's runtime knows of the stream, valid as long as the runtime. Equal when device and handle
// are. Any thread may use any stream. What the driver reports is thrown as DriverError; a child
// that uses a stream of its parent gets RuntimeError.
class MT_API Stream {
 public:
  Stream() noexcept = default;  // no stream
  explicit Stream(StreamState& state) noexcept : state_(&state) {}

  explicit operator bool() const noexcept { return state_ != nullptr; }
  bool operator==(const Stream& other) const noexcept = default;

  DeviceRuntime& runtime() const noexcept { return state_->runtime; }
  int device() const noexcept;
  driver::StreamHandle handle() const noexcept { return state_->handle; }
  int64_t id() const noexcept { return state_->id; }  // 0: the default stream
  int priority() const noexcept { return state_->priority; }

  // Work queued here later runs after what `other` (of any device) has queued by now. The host
  // does not wait.
  void wait_stream(Stream other) const;
  // Likewise, after the event's latest recording.
  void wait_event(const Event& event) const;
  // Marks the work queued by now.
  void record_event(Event& event) const;
  Event record_event() const;

  // True: all queued work is done.
  [[nodiscard]] bool query() const;
  // Waits on the host: first for the stream, then the stream's deferred releases run, in order,
  // then an error kept for the stream is thrown.
  void synchronize() const;

  // Calls `release(context)` once the work queued by now is done.
  void defer(DeferredRelease::Release release, void* context) const noexcept {
    state_->deferred.push(release, context);
  }
  DeferredRelease& deferred() const noexcept { return state_->deferred; }
  StreamState& state() const noexcept { return *state_; }

  // Work queued now is recorded into a graph.
  bool is_capturing() const;

 private:
  StreamState* state_ = nullptr;
};

// The stream and the device that this thread uses, for each device and each kind of device. A new
// thread starts with default streams and device 0. Reading takes no lock and allocates nothing.
MT_API Stream current_stream(DeviceRuntime& runtime) noexcept;
MT_API void set_current_stream(Stream stream);  // of its device; the current device stays
MT_API int current_device(const Accelerator& accelerator) noexcept;
// Throws RuntimeError if there is no such device.
MT_API void set_current_device(Accelerator& accelerator, int device);
// torch's set_stream: the stream, and its device.
MT_API void set_stream(Stream stream);

// Switches the current device; back at the end, without touching a device not used so far.
// A negative device changes nothing.
class MT_API DeviceGuard {
 public:
  DeviceGuard(Accelerator& accelerator, int device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  Accelerator& accelerator_;
  const int previous_;
};

// Switches the current stream and the current device to the stream's; at the end both are as
// before, and so is the previous device's stream. No stream changes nothing.
class MT_API StreamGuard {
 public:
  explicit StreamGuard(Stream stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Stream replaced_;  // the current stream of the new stream's device
  Stream previous_;  // of the device that was current, if it is another one
  std::optional<DeviceGuard> device_;
};

}  // namespace mindtorch::runtime
