// FakeDriver: streams, events, copies and graphs.
#include <cstring>
#include <sstream>

#include "tests/cpp/support/fake_driver.h"

namespace mindtorch::test {

using driver::CopyKind;
using driver::EventFlags;
using driver::EventHandle;
using driver::GraphHandle;
using driver::StreamHandle;

namespace {

uintptr_t number(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
uintptr_t number(int value) { return static_cast<uintptr_t>(value); }

}  // namespace

// --- What the test says ------------------------------------------------------------------------

void FakeDriver::finish(int device, StreamHandle stream) {
  Lock lock(mutex_);
  if (FakeStream* found = streams_.find({device, stream})) found->allowed = found->work.size();
  streams_.progress([this](const Work& work) { execute(work); });
}

void FakeDriver::finish_all() {
  Lock lock(mutex_);
  for (auto& [key, stream] : streams_) stream.allowed = stream.work.size();
  streams_.progress([this](const Work& work) { execute(work); });
}

void FakeDriver::set_auto_finish(bool on) {
  if (on) finish_all();
  Lock lock(mutex_);
  auto_finish_ = on;
}

void FakeDriver::advance_ms(double ms) {
  Lock lock(mutex_);
  clock_ms_ += ms;
}

void FakeDriver::use(int device, StreamHandle stream, const void* data, size_t bytes) {
  Lock lock(mutex_);
  Work work;
  work.kind = Work::Kind::kUse;
  work.from = data;
  work.bytes = bytes;
  touch(data, bytes, "queued work");
  queue(device, stream, std::move(work));
}

void FakeDriver::launch(int device, StreamHandle stream, std::function<void()> run) {
  Lock lock(mutex_);
  Work work;
  work.run = std::move(run);
  queue(device, stream, std::move(work));
}

bool FakeDriver::idle(int device, StreamHandle stream) const {
  Lock lock(mutex_);
  const FakeStream* found = streams_.find({device, stream});
  return found == nullptr || found->work.empty();
}

// --- Running work ------------------------------------------------------------------------------

void FakeDriver::touch(const void* data, size_t bytes, const char* what) {
  if (bytes != 0 && find_range(data, bytes) == nullptr) {
    std::ostringstream text;
    text << what << " touches dead memory " << data << " (" << bytes << " bytes)";
    complain(text.str());
  }
}

void FakeDriver::execute(const Work& work) {
  clock_ms_ += 1;
  const size_t before = failures_.size();
  switch (work.kind) {
    case Work::Kind::kRun:
      if (work.run) work.run();
      break;
    case Work::Kind::kUse:
      touch(work.from, work.bytes, "work");
      break;
    case Work::Kind::kCopy:
      // Host memory may be the program's own; what was ours at the call must be alive still.
      if (work.copy != CopyKind::kHostToDevice || work.pinned) {
        touch(work.from, work.bytes, "a copy");
      }
      if (work.copy != CopyKind::kDeviceToHost || work.pinned) {
        touch(work.to, work.bytes, "a copy");
      }
      if (options_.backed && failures_.size() == before && work.bytes != 0) {
        std::memmove(work.to, work.from, work.bytes);
      }
      break;
    case Work::Kind::kFill:
      touch(work.to, work.bytes, "a fill");
      if (options_.backed && failures_.size() == before && work.bytes != 0) {
        std::memset(work.to, work.value, work.bytes);
      }
      break;
    case Work::Kind::kRecord:
      if (!work.mark->reached) {
        work.mark->time_ms = clock_ms_;
        work.mark->reached = true;
      }
      break;
    case Work::Kind::kBlock:
      break;
  }
}

FakeStream* FakeDriver::find_stream(int device, StreamHandle stream) {
  FakeStream* found = streams_.find({device, stream});
  if (found == nullptr) {
    std::ostringstream text;
    text << "unknown stream " << stream << " on device " << device;
    complain(text.str());
  }
  return found;
}

FakeDriver::FakeEvent* FakeDriver::find_event(EventHandle event) {
  const auto found = events_.find(event);
  if (found != events_.end()) return &found->second;
  std::ostringstream text;
  text << "unknown event " << event;
  complain(text.str());
  return nullptr;
}

void FakeDriver::queue(int device, StreamHandle stream, Work work) {
  FakeStream* found = find_stream(device, stream);
  if (found == nullptr) return;
  if (found->capture != 0) {
    found->captured.push_back(std::move(work));
  } else if (auto_finish_) {
    execute(work);
  } else {
    found->work.push_back(std::move(work));
  }
}

void FakeDriver::refuse_in_capture(Call function, int device, const FakeStream* stream) {
  if (!options_.graph_capture) return;
  for (const auto& [key, entry] : streams_) {
    if (entry.capture == 0 || key.first != device) continue;
    if (stream == nullptr || stream == &entry) {
      raise(function, 107027, "operation not permitted while a stream is capturing");
    }
  }
}

void FakeDriver::copy_async(
    void* to, const void* from, size_t bytes, CopyKind kind, int device, StreamHandle stream) {
  const Lock lock =
      enter(Call::copy_async, {number(to), number(from), bytes, static_cast<uintptr_t>(kind),
                               number(device), number(static_cast<const void*>(stream))});
  Work work;
  work.kind = Work::Kind::kCopy;
  work.to = to;
  work.from = from;
  work.bytes = bytes;
  work.copy = kind;
  if (kind != CopyKind::kHostToDevice) touch(from, bytes, "copy_async");
  if (kind != CopyKind::kDeviceToHost) touch(to, bytes, "copy_async");
  const void* host = kind == CopyKind::kHostToDevice ? from : to;
  work.pinned = kind != CopyKind::kDeviceToDevice && find_range(host, bytes) != nullptr;
  queue(device, stream, std::move(work));
}

void FakeDriver::fill_async(
    void* to, uint8_t value, size_t bytes, int device, StreamHandle stream) {
  const Lock lock = enter(Call::fill_async, {number(to), value, bytes, number(device),
                                             number(static_cast<const void*>(stream))});
  Work work;
  work.kind = Work::Kind::kFill;
  work.to = to;
  work.value = value;
  work.bytes = bytes;
  touch(to, bytes, "fill_async");
  queue(device, stream, std::move(work));
}

// --- Streams -----------------------------------------------------------------------------------

StreamHandle FakeDriver::create_stream(int device, int priority) {
  const Lock lock = enter(Call::create_stream, {number(device), static_cast<uintptr_t>(priority)});
  if (!check_device(device)) raise(Call::create_stream, 107001, "invalid device");
  const auto handle = reinterpret_cast<StreamHandle>(next_handle_ += 0x10);
  streams_.add({device, handle}, priority);
  return handle;
}

void FakeDriver::destroy_stream(int device, StreamHandle stream) noexcept {
  bool failed = false;
  const Lock lock = enter_quietly(Call::destroy_stream,
                                  {number(device), number(static_cast<void*>(stream))}, failed);
  FakeStream* found = stream == nullptr ? nullptr : find_stream(device, stream);
  if (found == nullptr) return;
  streams_.force({device, stream}, found->work.size(), [this](const Work& work) { execute(work); });
  streams_.remove({device, stream});
}

bool FakeDriver::query_stream(int device, StreamHandle stream) {
  const Lock lock = enter(Call::query_stream, {number(device), number(static_cast<void*>(stream))});
  const FakeStream* found = find_stream(device, stream);
  if (found == nullptr) raise(Call::query_stream, 107003, "unknown stream");
  refuse_in_capture(Call::query_stream, device, found);
  return found->work.empty();
}

void FakeDriver::wait_stream(int device, StreamHandle stream) {
  const Lock lock = enter(Call::wait_stream, {number(device), number(static_cast<void*>(stream))});
  FakeStream* found = find_stream(device, stream);
  if (found == nullptr) raise(Call::wait_stream, 107003, "unknown stream");
  refuse_in_capture(Call::wait_stream, device, found);
  streams_.force({device, stream}, found->work.size(), [this](const Work& work) { execute(work); });
}

void FakeDriver::wait_device(int device) {
  const Lock lock = enter(Call::wait_device, {number(device)});
  if (!check_device(device)) raise(Call::wait_device, 107001, "invalid device");
  refuse_in_capture(Call::wait_device, device, nullptr);
  for (auto& [key, stream] : streams_) {
    if (key.first == device) {
      streams_.force(key, stream.work.size(), [this](const Work& work) { execute(work); });
    }
  }
}

// --- Events ------------------------------------------------------------------------------------

EventHandle FakeDriver::create_event(int device, EventFlags flags) {
  const Lock lock = enter(Call::create_event, {number(device), static_cast<uintptr_t>(flags)});
  if (!check_device(device)) raise(Call::create_event, 107001, "invalid device");
  const auto handle = reinterpret_cast<EventHandle>(next_handle_ += 0x10);
  events_.emplace(handle, FakeEvent{device, flags, nullptr, 0});
  return handle;
}

void FakeDriver::destroy_event(EventHandle event) noexcept {
  bool failed = false;
  const Lock lock = enter_quietly(Call::destroy_event, {number(static_cast<void*>(event))}, failed);
  if (find_event(event) != nullptr) events_.erase(event);
}

void FakeDriver::record_event(EventHandle event, int device, StreamHandle stream) {
  const Lock lock = enter(Call::record_event, {number(static_cast<void*>(event)), number(device),
                                               number(static_cast<void*>(stream))});
  FakeEvent* found = find_event(event);
  const FakeStream* on = find_stream(device, stream);
  if (found == nullptr || on == nullptr) raise(Call::record_event, 107003, "unknown handle");
  if (found->device != device) raise(Call::record_event, 107004, "event of another device");
  static const auto reached = std::make_shared<Mark>(Mark{true, 0, {}});
  found->capture = on->capture;
  if (auto_finish_ && on->capture == 0 && !has(found->flags, EventFlags::kTiming)) {
    found->mark = reached;
    return;
  }
  found->mark = std::make_shared<Mark>(Mark{on->capture != 0, clock_ms_, {device, stream}});
  Work work;
  work.kind = Work::Kind::kRecord;
  work.mark = found->mark;
  queue(device, stream, std::move(work));
}

void FakeDriver::block_stream(int device, StreamHandle stream, EventHandle event) {
  const Lock lock = enter(Call::block_stream, {number(device), number(static_cast<void*>(stream)),
                                               number(static_cast<void*>(event))});
  const FakeEvent* found = find_event(event);
  FakeStream* on = find_stream(device, stream);
  if (found == nullptr || on == nullptr) raise(Call::block_stream, 107003, "unknown handle");
  if (found->capture != 0 && on->capture == 0) on->capture = found->capture;  // joins the capture
  if (found->mark == nullptr || found->mark->reached) return;
  Work work;
  work.kind = Work::Kind::kBlock;
  work.mark = found->mark;
  queue(device, stream, std::move(work));
}

bool FakeDriver::query_event(EventHandle event) {
  const Lock lock = enter(Call::query_event, {number(static_cast<void*>(event))});
  const FakeEvent* found = find_event(event);
  if (found == nullptr) raise(Call::query_event, 107003, "unknown event");
  if (found->capture != 0) raise(Call::query_event, 107027, "the event is being captured");
  return found->mark == nullptr || found->mark->reached;
}

void FakeDriver::wait_event(EventHandle event) {
  const Lock lock = enter(Call::wait_event, {number(static_cast<void*>(event))});
  const FakeEvent* found = find_event(event);
  if (found == nullptr) raise(Call::wait_event, 107003, "unknown event");
  if (found->capture != 0) raise(Call::wait_event, 107027, "the event is being captured");
  const std::shared_ptr<Mark> mark = found->mark;
  streams_.force(mark, [this](const Work& work) { execute(work); });
}

float FakeDriver::elapsed_ms(EventHandle start, EventHandle end) {
  const Lock lock =
      enter(Call::elapsed_ms, {number(static_cast<void*>(start)), number(static_cast<void*>(end))});
  const FakeEvent* from = find_event(start);
  const FakeEvent* to = find_event(end);
  for (const FakeEvent* event : {from, to}) {
    if (event == nullptr || event->mark == nullptr) {
      raise(Call::elapsed_ms, 107003, "event not recorded");
    }
    if (!has(event->flags, EventFlags::kTiming)) {
      raise(Call::elapsed_ms, 107004, "event without timing");
    }
    if (!event->mark->reached) raise(Call::elapsed_ms, 600, "device not ready");
  }
  return static_cast<float>(to->mark->time_ms - from->mark->time_ms);
}

// --- Graphs ------------------------------------------------------------------------------------

void FakeDriver::begin(int device, StreamHandle stream, driver::CaptureMode mode) {
  const Lock lock = enter(Call::capture_begin, {number(device), number(static_cast<void*>(stream)),
                                                static_cast<uintptr_t>(mode)});
  FakeStream* found = find_stream(device, stream);
  if (found == nullptr || found->capture != 0) {
    raise(Call::capture_begin, 107028, "cannot capture this stream");
  }
  found->capture = ++next_capture_;
}

GraphHandle FakeDriver::end(int device, StreamHandle stream) {
  const Lock lock = enter(Call::capture_end, {number(device), number(static_cast<void*>(stream))});
  FakeStream* found = find_stream(device, stream);
  if (found == nullptr || found->capture == 0) {
    raise(Call::capture_end, 107028, "the stream is not capturing");
  }
  const uint64_t capture = found->capture;
  std::vector<Work> all;
  for (auto& [key, entry] : streams_) {
    if (entry.capture != capture) continue;
    for (Work& work : entry.captured) all.push_back(std::move(work));
    entry.captured.clear();
    entry.capture = 0;
  }
  for (auto& [handle, event] : events_) {
    if (event.capture == capture) event.capture = 0;
  }
  const auto graph = reinterpret_cast<GraphHandle>(next_handle_ += 0x10);
  graphs_.emplace(graph, std::move(all));
  return graph;
}

bool FakeDriver::is_capturing(int device, StreamHandle stream) {
  const Lock lock = enter(Call::is_capturing, {number(device), number(static_cast<void*>(stream))});
  const FakeStream* found = find_stream(device, stream);
  return found != nullptr && found->capture != 0;
}

void FakeDriver::replay(GraphHandle graph, int device, StreamHandle stream) {
  const Lock lock = enter(Call::replay, {number(static_cast<void*>(graph)), number(device),
                                         number(static_cast<void*>(stream))});
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) raise(Call::replay, 107003, "unknown graph");
  replays_.push_back(graph);
  for (const Work& work : found->second) {
    if (work.kind != Work::Kind::kRecord) queue(device, stream, work);
  }
}

void FakeDriver::destroy(GraphHandle graph) noexcept {
  bool failed = false;
  const Lock lock = enter_quietly(Call::destroy_graph, {number(static_cast<void*>(graph))}, failed);
  if (graphs_.erase(graph) == 0) complain("destroy of an unknown graph");
}

std::vector<GraphHandle> FakeDriver::replays() const {
  Lock lock(mutex_);
  return replays_;
}

}  // namespace mindtorch::test
