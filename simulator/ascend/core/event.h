#pragma once

#include <condition_variable>
#include <memory>

#include "simulator/ascend/core/clock.h"
#include "simulator/ascend/core/runtime.h"

namespace sim {

// One recording of an event. Waiters keep the recording, not the event, so that recording an event
// anew, or destroying it, does not disturb them.
struct Record {
  bool issued = false;  // a stream has it in its queue, or had
  bool complete = false;
  uint64_t time_ns = 0;
  aclError error = ACL_SUCCESS;  // of the stream, when it was reached
  std::condition_variable changed;
  Clock clock;
  std::shared_ptr<Capture> capture;  // recorded in a captured stream
  Clock capture_clock;
};

enum class EventFlavour {
  kPlain,    // aclrtCreateEvent
  kFlagged,  // aclrtCreateEventWithFlag: a hardware flag that waits, even before the record
  kEx,       // aclrtCreateEventExWithFlag
};

struct Event {
  void* handle = nullptr;
  EventFlavour flavour = EventFlavour::kPlain;
  uint32_t flags = 0;
  int32_t device = 0;
  std::shared_ptr<Record> last;  // null: never recorded
  uint64_t pending_waits = 0;
};

// The functions below want the lock.

aclError find_event(aclrtEvent handle, std::shared_ptr<Event>& event);
aclError record_event(const std::shared_ptr<Event>& event, Stream& stream);
aclError wait_event(const std::shared_ptr<Event>& event, Stream& stream);
void complete_record(Record& record, aclError error);

}  // namespace sim
