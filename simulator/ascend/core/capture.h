#pragma once

#include <thread>
#include <vector>

#include "simulator/ascend/core/clock.h"
#include "simulator/ascend/core/runtime.h"
#include "simulator/ascend/core/task.h"

namespace sim {

// What a replay does: a task, or recording or waiting for an event (Note [External events]).
struct Step {
  Task task;
  std::shared_ptr<Event> event;
  bool waits = false;
};

// A captured sequence of steps. Capture order respects every dependency between the captured
// streams, so a replay takes the steps one after the other.
struct Model {
  void* handle = nullptr;
  int32_t device = 0;
  bool capturing = true;
  bool has_events = false;  // among its steps
  std::vector<Step> steps;
};

struct Capture {
  std::shared_ptr<Model> model;
  aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  std::weak_ptr<Stream> origin;
  bool invalidated = false;
  struct Member {
    std::weak_ptr<Stream> stream;
    Clock clock;  // by member: which tasks come before the next one
    uint64_t tasks = 0;
  };
  std::vector<Member> members;  // the first is the origin

  size_t member_of(const Stream& stream);
};

// The functions below want the lock.

// Stores the step instead of taking it.
aclError capture_step(Stream& stream, Step step);
aclError capture_task(Stream& stream, Task task);
aclError capture_record(Record& record, Stream& stream);
// The stream joins the capture of the record.
aclError capture_wait(const Record& record, Stream& stream);
// 107030 when a capture that this thread must respect forbids calls that wait or touch memory at
// once.
aclError check_not_capturing();
// 107027, and the capture is spoiled.
aclError fail_captured(Stream& stream);
aclmdlRICaptureMode exchange_capture_mode(aclmdlRICaptureMode mode);
aclError begin_capture(const std::shared_ptr<Stream>& stream, aclmdlRICaptureMode mode);
aclError end_capture(const std::shared_ptr<Stream>& stream, aclmdlRI* model);
// Of a stream that goes: spoils its capture, and ends it where it began on this stream.
void leave_capture(Stream& stream);
aclError replay(const std::shared_ptr<Model>& model, Stream& stream);

}  // namespace sim
