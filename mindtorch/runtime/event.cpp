#include "mindtorch/runtime/event.h"

#include <utility>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/hooks.h"
#include "mindtorch/runtime/host_wait.h"

namespace mindtorch::runtime {

Event::~Event() { reset(); }

Event::Event(Event&& other) noexcept
    : flags_(other.flags_),
      handle_(std::exchange(other.handle_, nullptr)),
      stream_(std::exchange(other.stream_, Stream())) {}

Event& Event::operator=(Event&& other) noexcept {
  if (this == &other) return *this;
  reset();
  flags_ = other.flags_;
  handle_ = std::exchange(other.handle_, nullptr);
  stream_ = std::exchange(other.stream_, Stream());
  return *this;
}

void Event::reset() noexcept {
  const driver::EventHandle handle = std::exchange(handle_, nullptr);
  if (handle == nullptr || stream_.runtime().forked()) return;
  if (pooled()) {
    stream_.runtime().events().give(handle);
  } else {
    stream_.runtime().driver().destroy_event(stream_.device(), handle);
  }
}

DeviceRuntime* Event::runtime() const noexcept { return stream_ ? &stream_.runtime() : nullptr; }

void Event::record(Stream stream) {
  DeviceRuntime& on = stream.runtime();
  on.check_usable();
  if (handle_ != nullptr) {
    MT_CHECK(&stream_.runtime() == &on, RuntimeError, "Event device ", stream_.runtime().name(),
             " does not match recording stream's device ", on.name(), ".");
  }
  hooks().before_sync(SyncPoint::kRecordEvent);
  if (handle_ != nullptr) {
    on.driver().record_event(handle_, on.device(), stream.handle());
    stream_ = stream;
    return;
  }
  // Kept only once it is recorded: an event without a mark is one that was never recorded.
  const driver::EventHandle made =
      pooled() ? on.events().take() : on.driver().create_event(on.device(), flags_);
  try {
    on.driver().record_event(made, on.device(), stream.handle());
  } catch (...) {
    if (pooled()) {
      on.events().give(made);
    } else {
      on.driver().destroy_event(on.device(), made);
    }
    throw;
  }
  handle_ = made;
  stream_ = stream;
}

void Event::block(Stream stream) const {
  if (handle_ == nullptr) return;
  DeviceRuntime& on = stream.runtime();
  on.check_usable();
  MT_CHECK(&on.accelerator() == &stream_.runtime().accelerator(), RuntimeError,
           "Event device type ", stream_.runtime().accelerator().kind(),
           " does not match blocking stream's device type ", on.accelerator().kind(), ".");
  on.driver().block_stream(on.device(), stream.handle(), handle_);
}

bool Event::query() const {
  if (handle_ == nullptr) return true;
  stream_.runtime().check_usable();
  return stream_.runtime().driver().query_event(stream_.device(), handle_);
}

void Event::synchronize() const {
  if (handle_ == nullptr) return;
  DeviceRuntime& on = stream_.runtime();
  on.check_usable();
  hooks().before_sync(SyncPoint::kWaitEvent);
  {
    const HostWait waiting;
    on.driver().wait_event(on.device(), handle_);
  }
  stream_.deferred().poll();
  on.async_errors().raise(stream_.handle());
}

void Event::check_can_share(Accelerator& accelerator) {
  MT_CHECK(accelerator.driver().process_sharing() != nullptr, RuntimeError, accelerator.kind(),
           " devices cannot share events with other processes");
}

std::string Event::share() const {
  MT_CHECK(has(flags_, EventFlags::kShared) && handle_ != nullptr, RuntimeError,
           "Only an event that was created with interprocess=True and recorded can be shared.");
  DeviceRuntime& on = stream_.runtime();
  on.check_usable();
  check_can_share(on.accelerator());
  return on.driver().process_sharing()->share_event(on.device(), handle_);
}

Event Event::open(DeviceRuntime& runtime, const std::string& shared, EventFlags flags) {
  check_can_share(runtime.accelerator());
  Event event(flags | EventFlags::kShared);
  event.handle_ = runtime.driver().process_sharing()->open_event(runtime.device(), shared);
  event.stream_ = runtime.default_stream();
  return event;
}

double Event::elapsed_time(const Event& end) const {
  MT_CHECK(has(flags_, EventFlags::kTiming) && has(end.flags_, EventFlags::kTiming), ValueError,
           "Both events must be created with argument 'enable_timing=True'.");
  MT_CHECK(handle_ != nullptr && end.handle_ != nullptr, ValueError,
           "Both events must be recorded before calculating elapsed time.");
  DeviceRuntime& on = stream_.runtime();
  MT_CHECK(&on == &end.stream_.runtime(), RuntimeError, "Event device ", on.name(),
           " does not match other's device ", end.stream_.runtime().name(), ".");
  MT_CHECK(query() && end.query(), RuntimeError,
           "Both events must be completed before calculating elapsed time.");
  return on.driver().elapsed_ms(on.device(), handle_, end.handle_);
}

}  // namespace mindtorch::runtime
