// Events.
#include "simulator/ascend/core/event.h"

#include <chrono>

#include "simulator/ascend/core/capture.h"
#include "simulator/ascend/core/checks.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/settings.h"
#include "simulator/ascend/core/stream.h"

using namespace sim;

static constexpr uint32_t kBetweenProcesses = 0x40;  // ACL_EVENT_IPC
static constexpr uint32_t kAllFlags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | 0x4 |
                                      ACL_EVENT_TIME_LINE | 0x10 | ACL_EVENT_EXTERNAL |
                                      kBetweenProcesses;

static aclError create_event(aclrtEvent* event, EventFlavour flavour, uint32_t flags) {
  if (!event) return fail_null("event");
  if (!flags || (flags & ~kAllFlags)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "there are no event flags " + std::to_string(flags));
  }
  if (flags & kBetweenProcesses) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "events between processes are not simulated");
  }
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  Device& device = runtime().devices[static_cast<size_t>(context->device)];
  if (flavour == EventFlavour::kFlagged) {
    if (device.events >= settings().most_events()) {
      return fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "the device has no event left");
    }
    ++device.events;
  }
  auto made = std::make_shared<Event>();
  made->flavour = flavour;
  made->flags = flags;
  made->device = context->device;
  *event = runtime().events.add(made);
  return ACL_SUCCESS;
}

aclError aclrtCreateEvent(aclrtEvent* event) {
  if (const aclError code = enter("aclrtCreateEvent", {})) return code;
  return create_event(event, EventFlavour::kPlain,
                      ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE);
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  if (const aclError code = enter("aclrtCreateEventWithFlag", {{"flag", flag}})) return code;
  return create_event(event, EventFlavour::kFlagged, flag);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  if (const aclError code = enter("aclrtCreateEventExWithFlag", {{"flag", flag}})) return code;
  return create_event(event, EventFlavour::kEx, flag);
}

aclError aclrtDestroyEvent(aclrtEvent handle) {
  if (const aclError code = enter("aclrtDestroyEvent", {{"event", handle}})) return code;
  const Lock lock(runtime().mutex);
  std::shared_ptr<Event> event;
  if (const aclError code = find_event(handle, event)) return code;
  Device& device = runtime().devices[static_cast<size_t>(event->device)];
  if (event->flavour == EventFlavour::kFlagged && device.events) --device.events;
  runtime().events.remove(handle);
  return ACL_SUCCESS;
}

aclError aclrtRecordEvent(aclrtEvent handle, aclrtStream stream_handle) {
  if (const aclError code =
          enter("aclrtRecordEvent", {{"event", handle}, {"stream", stream_handle}})) {
    return code;
  }
  const Lock lock(runtime().mutex);
  std::shared_ptr<Event> event;
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_event(handle, event)) return code;
  if (const aclError code = find_stream(stream_handle, stream)) return code;
  return record_event(event, *stream);
}

aclError aclrtResetEvent(aclrtEvent handle, aclrtStream stream_handle) {
  if (const aclError code =
          enter("aclrtResetEvent", {{"event", handle}, {"stream", stream_handle}})) {
    return code;
  }
  const Lock lock(runtime().mutex);
  std::shared_ptr<Event> event;
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_event(handle, event)) return code;
  if (const aclError code = find_stream(stream_handle, stream)) return code;
  if (event->flavour != EventFlavour::kFlagged || !(event->flags & ACL_EVENT_SYNC)) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "only an event of aclrtCreateEventWithFlag with ACL_EVENT_SYNC can be reset");
  }
  if (stream->capture) return fail_captured(*stream);
  event->last = nullptr;
  return ACL_SUCCESS;
}

static aclError query(aclrtEvent handle, std::shared_ptr<Event>& event, bool& complete) {
  if (const aclError code = find_event(handle, event)) return code;
  if (!event->last) {
    complete = event->flavour == EventFlavour::kEx;
    return ACL_SUCCESS;
  }
  if (event->last->capture) {
    event->last->capture->invalidated = true;
    return fail(ACL_ERROR_RT_EVENT_CAPTURED, "the event was recorded in a captured stream");
  }
  complete = event->last->complete;
  if (complete) on_host_sync(event->last->clock);
  return ACL_SUCCESS;
}

aclError aclrtQueryEventStatus(aclrtEvent handle, aclrtEventRecordedStatus* status) {
  if (const aclError code = enter("aclrtQueryEventStatus", {{"event", handle}})) return code;
  if (!status) return fail_null("status");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Event> event;
  bool complete = false;
  if (const aclError code = query(handle, event, complete)) return code;
  *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

static aclError refuse_ex(const Event& event) {
  if (event.flavour != EventFlavour::kEx) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              "not for an event of aclrtCreateEventExWithFlag; use aclrtQueryEventStatus");
}

aclError aclrtQueryEvent(aclrtEvent handle, aclrtEventStatus* status) {
  if (const aclError code = enter("aclrtQueryEvent", {{"event", handle}})) return code;
  if (!status) return fail_null("status");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Event> event;
  if (const aclError code = find_event(handle, event)) return code;
  if (const aclError code = refuse_ex(*event)) return code;
  bool complete = false;
  if (const aclError code = query(handle, event, complete)) return code;
  *status = complete ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent handle, aclrtEventWaitStatus* status) {
  if (const aclError code = enter("aclrtQueryEventWaitStatus", {{"event", handle}})) return code;
  if (!status) return fail_null("status");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Event> event;
  if (const aclError code = find_event(handle, event)) return code;
  if (const aclError code = refuse_ex(*event)) return code;
  *status = event->pending_waits ? ACL_EVENT_WAIT_STATUS_NOT_READY : ACL_EVENT_WAIT_STATUS_COMPLETE;
  return ACL_SUCCESS;
}

static aclError synchronize_event(aclrtEvent handle, int32_t timeout) {
  if (timeout < -1) return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout is below -1");
  Lock lock(runtime().mutex);
  std::shared_ptr<Event> event;
  if (const aclError code = find_event(handle, event)) return code;
  const std::shared_ptr<Record> record = event->last;
  if (!record || !record->issued) return ACL_SUCCESS;
  if (record->capture) {
    record->capture->invalidated = true;
    return fail(ACL_ERROR_RT_EVENT_CAPTURED, "the event was recorded in a captured stream");
  }
  const auto reached = [&] { return record->complete; };
  if (timeout < 0) {
    record->changed.wait(lock, reached);
  } else if (!record->changed.wait_for(lock, std::chrono::milliseconds(timeout), reached)) {
    return fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
                "the event is not reached after " + std::to_string(timeout) + " ms");
  }
  on_host_sync(record->clock);
  if (record->error) return fail(record->error, "work before the event failed on its stream");
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  if (const aclError code = enter("aclrtSynchronizeEvent", {{"event", event}})) return code;
  return synchronize_event(event, -1);
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  if (const aclError code =
          enter("aclrtSynchronizeEventWithTimeout", {{"event", event}, {"timeout", timeout}})) {
    return code;
  }
  return synchronize_event(event, timeout);
}

static aclError time_of(aclrtEvent handle, uint64_t& time_ns) {
  std::shared_ptr<Event> event;
  if (const aclError code = find_event(handle, event)) return code;
  if (!(event->flags & ACL_EVENT_TIME_LINE)) {
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                "the event was made without ACL_EVENT_TIME_LINE");
  }
  if (!event->last || !event->last->complete) {
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "the event was not reached yet");
  }
  time_ns = event->last->time_ns;
  return ACL_SUCCESS;
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  if (const aclError code =
          enter("aclrtEventElapsedTime", {{"startEvent", startEvent}, {"endEvent", endEvent}})) {
    return code;
  }
  if (!ms) return fail_null("ms");
  const Lock lock(runtime().mutex);
  uint64_t start = 0;
  uint64_t end = 0;
  if (const aclError code = time_of(startEvent, start)) return code;
  if (const aclError code = time_of(endEvent, end)) return code;
  if (end < start) {
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "the end was reached before the start");
  }
  *ms = static_cast<float>(static_cast<double>(end - start) / 1e6);
  return ACL_SUCCESS;
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  if (const aclError code = enter("aclrtEventGetTimestamp", {{"event", event}})) return code;
  if (!timestamp) return fail_null("timestamp");
  const Lock lock(runtime().mutex);
  uint64_t time_ns = 0;
  if (const aclError code = time_of(event, time_ns)) return code;
  *timestamp = time_ns / 1000;
  return ACL_SUCCESS;
}

static aclError wait(aclrtStream stream_handle, aclrtEvent handle) {
  const Lock lock(runtime().mutex);
  std::shared_ptr<Event> event;
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_event(handle, event)) return code;
  if (const aclError code = find_stream(stream_handle, stream)) return code;
  return wait_event(event, *stream);
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  if (const aclError code = enter("aclrtStreamWaitEvent", {{"stream", stream}, {"event", event}})) {
    return code;
  }
  return wait(stream, event);
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout) {
  if (const aclError code = enter("aclrtStreamWaitEventWithTimeout",
                                  {{"stream", stream}, {"event", event}, {"timeout", timeout}})) {
    return code;
  }
  return wait(stream, event);
}

aclError aclrtGetEventId(aclrtEvent handle, uint32_t* eventId) {
  if (const aclError code = enter("aclrtGetEventId", {{"event", handle}})) return code;
  if (!eventId) return fail_null("eventId");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Event> event;
  if (const aclError code = find_event(handle, event)) return code;
  *eventId = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle) >> 4);
  return ACL_SUCCESS;
}

aclError aclrtGetEventAvailNum(uint32_t* eventCount) {
  if (const aclError code = enter("aclrtGetEventAvailNum", {})) return code;
  if (!eventCount) return fail_null("eventCount");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  *eventCount =
      settings().most_events() - runtime().devices[static_cast<size_t>(context->device)].events;
  return ACL_SUCCESS;
}
