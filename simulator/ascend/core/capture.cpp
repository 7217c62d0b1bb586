#include "simulator/ascend/core/capture.h"

#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/event.h"
#include "simulator/ascend/core/quick.h"
#include "simulator/ascend/core/stream.h"

namespace sim {

static constexpr aclError kCaptureUnmatched = 107036;
static constexpr aclError kCaptureWrongThread = 107038;

static thread_local aclmdlRICaptureMode mode_of_thread = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;

size_t Capture::member_of(const Stream& stream) {
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].stream.lock().get() == &stream) return i;
  }
  return members.size();
}

static aclError check_valid(const Capture& capture) {
  if (!capture.invalidated) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED,
              "the capture was spoiled by an earlier call");
}

aclError capture_step(Stream& stream, Step step) {
  Capture& capture = *stream.capture;
  if (const aclError code = check_valid(capture)) return code;
  const size_t index = capture.member_of(stream);
  Capture::Member& member = capture.members[index];
  member.clock.set(index, ++member.tasks);
  capture.model->has_events |= step.event != nullptr;
  capture.model->steps.push_back(std::move(step));
  return ACL_SUCCESS;
}

aclError capture_task(Stream& stream, Task task) {
  return capture_step(stream, {std::move(task), nullptr, false});
}

aclError capture_record(Record& record, Stream& stream) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (const aclError code = check_valid(*capture)) return code;
  const size_t index = capture->member_of(stream);
  record.issued = true;
  record.capture = capture;
  record.capture_clock = capture->members[index].clock;
  record.capture_clock.set(index, capture->members[index].tasks);
  return ACL_SUCCESS;
}

aclError capture_wait(const Record& record, Stream& stream) {
  const std::shared_ptr<Capture> capture = record.capture;
  if (!capture->model->capturing) {
    return fail(ACL_ERROR_RT_EVENT_CAPTURED, "the event was recorded in a capture that has ended");
  }
  if (const aclError code = check_valid(*capture)) return code;
  if (stream.capture && stream.capture != capture) {
    stream.capture->invalidated = true;
    capture->invalidated = true;
    return fail(ACL_ERROR_STREAM_CAPTURE_CONFLICT,
                "the stream and the event belong to different captures");
  }
  if (!stream.capture) {
    stream.capture = capture;
    ++runtime().generation;
    capture->members.push_back({stream.weak_from_this(), {}, 0});
  }
  capture->members[capture->member_of(stream)].clock.join(record.capture_clock);
  return ACL_SUCCESS;
}

aclError check_not_capturing() {
  if (mode_of_thread == ACL_MODEL_RI_CAPTURE_MODE_RELAXED) return ACL_SUCCESS;
  for (const auto& capture : runtime().captures) {
    if (capture->mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED) continue;
    const bool own = capture->thread == std::this_thread::get_id();
    const bool global = capture->mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL &&
                        mode_of_thread == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
    if (own || global) {
      return fail(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT,
                  "not allowed while a stream is captured, unless the mode is relaxed");
    }
  }
  return ACL_SUCCESS;
}

aclError fail_captured(Stream& stream) {
  stream.capture->invalidated = true;
  return fail(ACL_ERROR_RT_STREAM_CAPTURED,
              "stream " + std::to_string(stream.id) + " is being captured");
}

aclmdlRICaptureMode exchange_capture_mode(aclmdlRICaptureMode mode) {
  std::swap(mode_of_thread, mode);
  return mode;
}

aclError begin_capture(const std::shared_ptr<Stream>& stream, aclmdlRICaptureMode mode) {
  if (stream->is_default) {
    return fail(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, "the default stream cannot be captured");
  }
  if (stream->capture) {
    return fail(ACL_ERROR_RT_STREAM_CAPTURED,
                "stream " + std::to_string(stream->id) + " is being captured already");
  }
  auto capture = std::make_shared<Capture>();
  capture->model = std::make_shared<Model>();
  capture->model->device = stream->device;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  capture->members.push_back({stream, {}, 0});
  runtime().models.add(capture->model);
  runtime().captures.push_back(capture);
  stream->capture = std::move(capture);
  ++runtime().generation;
  return ACL_SUCCESS;
}

static bool all_joined(const Capture& capture) {
  for (size_t i = 1; i < capture.members.size(); ++i) {
    if (capture.members[0].clock.at(i) < capture.members[i].tasks) return false;
  }
  return true;
}

static void release(const std::shared_ptr<Capture>& capture) {
  for (const Capture::Member& member : capture->members) {
    if (const auto joined = member.stream.lock()) joined->capture = nullptr;
  }
  std::erase(runtime().captures, capture);
  capture->model->capturing = false;
}

void leave_capture(Stream& stream) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (!capture) return;
  capture->invalidated = true;
  if (capture->origin.lock().get() != &stream) return;
  release(capture);  // nobody can end it any more
  runtime().models.remove(capture->model->handle);
}

aclError end_capture(const std::shared_ptr<Stream>& stream, aclmdlRI* model) {
  const std::shared_ptr<Capture> capture = stream->capture;
  if (!capture) {
    return fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED,
                "stream " + std::to_string(stream->id) + " is not being captured");
  }
  if (capture->origin.lock() != stream) {
    return fail(kCaptureUnmatched, "the capture began on another stream");
  }
  if (capture->mode != ACL_MODEL_RI_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id()) {
    return fail(kCaptureWrongThread, "the capture began on another thread");
  }
  release(capture);
  *model = nullptr;
  aclError code = check_valid(*capture);
  if (!code && !all_joined(*capture)) {
    code = fail(ACL_ERROR_RT_STREAM_UNJOINED,
                "work of another captured stream was not joined to the stream that began");
  }
  if (code) {
    runtime().models.remove(capture->model->handle);
    return code;
  }
  *model = capture->model->handle;
  return ACL_SUCCESS;
}

aclError replay(const std::shared_ptr<Model>& model, Stream& stream) {
  if (model->capturing) {
    return fail(ACL_ERROR_RT_MODEL_CAPTURED, "the model is still being captured");
  }
  if (stream.capture) return fail_captured(stream);
  if (quick() && !model->has_events) return issue_replay(stream, model);
  for (const Step& step : model->steps) {
    aclError code = ACL_SUCCESS;
    if (step.event) {
      code = step.waits ? wait_event(step.event, stream) : record_event(step.event, stream);
    } else {
      auto work = std::make_shared<Work>();
      work->task = step.task;
      code = issue(stream, std::move(work));
    }
    if (code) return code;
  }
  return ACL_SUCCESS;
}

}  // namespace sim
