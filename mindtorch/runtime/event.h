#pragma once

#include <string>

#include "mindtorch/base/macros.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/stream.h"

namespace mindtorch::runtime {

using driver::EventFlags;

// A mark in a stream's work. Movable; one thread at a time may use an Event. The first recording
// makes the device's event, on that stream's device, where it stays. Recording again replaces the
// mark: what waits for the earlier one goes on waiting for that. An event that was never recorded
// counts as reached.
class MT_API Event {
 public:
  // Touches no device.
  explicit Event(EventFlags flags = EventFlags::kNone) noexcept : flags_(flags) {}
  ~Event();  // events without timing return to the device's pool
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  // Marks all work given to `stream` so far; deferred work is flushed first. RuntimeError if the
  // event belongs to another device.
  void record(Stream stream);
  // Makes work given to `stream` later wait, on the device. The stream may be another device's.
  void block(Stream stream) const;
  [[nodiscard]] bool query() const;
  // Waits on the host; then an error kept for the recording stream is thrown.
  void synchronize() const;
  // Milliseconds from this mark to that of `end`. ValueError if either has no timing or was never
  // recorded; RuntimeError if either is not reached yet.
  double elapsed_time(const Event& end) const;

  // What another process makes the same event of, once it was recorded here. RuntimeError where the
  // device cannot share events, and for one without EventFlags::kShared.
  std::string share() const;
  // One that another process has shared.
  static Event open(DeviceRuntime& runtime, const std::string& shared, EventFlags flags);
  // Throws RuntimeError where the devices cannot.
  static void check_can_share(Accelerator& accelerator);

  EventFlags flags() const noexcept { return flags_; }
  bool recorded() const noexcept { return handle_ != nullptr; }
  driver::EventHandle handle() const noexcept { return handle_; }  // null before
  DeviceRuntime* runtime() const noexcept;                         // null before
  Stream stream() const noexcept { return stream_; }               // of the latest recording

 private:
  void reset() noexcept;
  bool pooled() const noexcept { return flags_ == EventFlags::kNone; }

  EventFlags flags_;
  driver::EventHandle handle_ = nullptr;
  Stream stream_;
};

}  // namespace mindtorch::runtime
