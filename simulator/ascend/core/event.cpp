#include "simulator/ascend/core/event.h"

#include "simulator/ascend/core/capture.h"
#include "simulator/ascend/core/checks.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/stream.h"

namespace sim {

aclError find_event(aclrtEvent handle, std::shared_ptr<Event>& event) {
  if (!handle) return fail_null("event");
  event = runtime().events.find(handle);
  if (event) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_INVALID_HANDLE,
              runtime().events.was(handle) ? "the event was destroyed" : "this is not an event");
}

void complete_record(Record& record, aclError error) {
  record.complete = true;
  record.error = error;
  record.time_ns = now_ns();
  record.changed.notify_all();
}

// Note [External events]. Inside a capture an event orders the captured streams and is nothing that
// a program can ask about. One made with ACL_EVENT_EXTERNAL is: each replay records it, or waits
// for it.
static bool is_external(const Event& event) { return event.flags & ACL_EVENT_EXTERNAL; }

aclError record_event(const std::shared_ptr<Event>& event, Stream& stream) {
  if (stream.capture && is_external(*event)) return capture_step(stream, {{}, event, false});
  // A call that fails leaves the event as it was: who waits for it must not wait for nothing.
  const bool fresh = stream.capture || !event->last || event->last->issued;
  const auto record = fresh ? std::make_shared<Record>() : event->last;
  if (stream.capture) {
    if (const aclError code = capture_record(*record, stream)) return code;
  } else {
    auto work = std::make_shared<Work>();
    work->kind = WorkKind::kRecord;
    work->task.name = "aclrtRecordEvent";
    work->record = record;
    if (const aclError code = issue(stream, std::move(work))) return code;
    record->issued = true;
    on_record(stream, *record);
  }
  event->last = record;
  return ACL_SUCCESS;
}

aclError wait_event(const std::shared_ptr<Event>& event, Stream& stream) {
  if (!(event->flags & ACL_EVENT_SYNC)) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "a stream can wait only for an event made with ACL_EVENT_SYNC");
  }
  if (stream.capture && is_external(*event)) return capture_step(stream, {{}, event, true});
  if (!event->last) {
    if (event->flavour != EventFlavour::kFlagged) return ACL_SUCCESS;
    event->last = std::make_shared<Record>();
  }
  const std::shared_ptr<Record> record = event->last;
  if (record->capture) return capture_wait(*record, stream);
  if (stream.capture) {
    stream.capture->invalidated = true;
    return fail(ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                "a captured stream cannot wait for an event recorded outside the capture");
  }
  if (record->issued) {
    on_wait(stream, *record);
  } else {
    stream.order_unknown = true;
  }
  auto work = std::make_shared<Work>();
  work->kind = WorkKind::kWait;
  work->task.name = "aclrtStreamWaitEvent";
  work->record = record;
  work->event = event;
  const aclError code = issue(stream, std::move(work));
  if (!code) ++event->pending_waits;
  return code;
}

}  // namespace sim
