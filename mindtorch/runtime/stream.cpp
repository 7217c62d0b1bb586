#include "mindtorch/runtime/stream.h"

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/event.h"
#include "mindtorch/runtime/hooks.h"
#include "mindtorch/runtime/host_wait.h"

namespace mindtorch::runtime {

int Stream::device() const noexcept { return runtime().device(); }

void Stream::wait_stream(Stream other) const {
  if (other == *this) return;
  Event reached;
  reached.record(other);
  reached.block(*this);
}

void Stream::wait_event(const Event& event) const { event.block(*this); }

void Stream::record_event(Event& event) const { event.record(*this); }

Event Stream::record_event() const {
  Event event;
  event.record(*this);
  return event;
}

bool Stream::query() const {
  runtime().check_usable();
  hooks().before_sync(SyncPoint::kQueryStream);
  const uint64_t mark = deferred().mark();
  const bool idle = runtime().driver().query_stream(device(), handle());
  if (idle) deferred().release_through(mark);
  return idle;
}

void Stream::synchronize() const {
  runtime().check_usable();
  hooks().before_sync(SyncPoint::kWaitStream);
  const uint64_t mark = deferred().mark();
  {
    const HostWait waiting;
    runtime().driver().wait_stream(device(), handle());
  }
  deferred().release_through(mark);
  runtime().async_errors().raise(handle());
}

bool Stream::is_capturing() const {
  driver::GraphCapture* capture = runtime().driver().graph_capture();
  return capture != nullptr && capture->is_capturing(device(), handle());
}

}  // namespace mindtorch::runtime
