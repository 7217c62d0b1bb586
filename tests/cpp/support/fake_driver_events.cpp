// FakeDriver: events and graphs.
#include "tests/cpp/support/fake_driver.h"

namespace mindtorch::test {

using driver::EventFlags;
using driver::EventHandle;
using driver::GraphHandle;
using driver::StreamHandle;

namespace {

uintptr_t number(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
uintptr_t number(int value) { return static_cast<uintptr_t>(value); }

}  // namespace

EventHandle FakeDriver::create_event(int device, EventFlags flags) {
  const Lock lock = enter(Call::create_event, {number(device), static_cast<uintptr_t>(flags)});
  if (!check_device(device)) raise(Call::create_event, 107001, "invalid device");
  const auto handle = reinterpret_cast<EventHandle>(next_handle_ += 0x10);
  events_.emplace(handle, FakeEvent{device, flags, nullptr, 0});
  return handle;
}

void FakeDriver::destroy_event(int device, EventHandle event) noexcept {
  bool failed = false;
  const Lock lock = enter_quietly(Call::destroy_event,
                                  {number(device), number(static_cast<void*>(event))}, failed);
  if (find_event(device, event) != nullptr) events_.erase(event);
}

void FakeDriver::record_event(EventHandle event, int device, StreamHandle stream) {
  const Lock lock = enter(Call::record_event, {number(static_cast<void*>(event)), number(device),
                                               number(static_cast<void*>(stream))});
  FakeEvent* found = find_event(device, event);
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
  const FakeEvent* found = find_event(kAnyDevice, event);
  FakeStream* on = find_stream(device, stream);
  if (found == nullptr || on == nullptr) raise(Call::block_stream, 107003, "unknown handle");
  if (found->capture != 0 && on->capture == 0) on->capture = found->capture;  // joins the capture
  if (found->mark == nullptr || found->mark->reached) return;
  Work work;
  work.kind = Work::Kind::kBlock;
  work.mark = found->mark;
  queue(device, stream, std::move(work));
}

bool FakeDriver::query_event(int device, EventHandle event) {
  const Lock lock = enter(Call::query_event, {number(static_cast<void*>(event))});
  const FakeEvent* found = find_event(device, event);
  if (found == nullptr) raise(Call::query_event, 107003, "unknown event");
  if (found->capture != 0) raise(Call::query_event, 107027, "the event is being captured");
  return found->mark == nullptr || found->mark->reached;
}

void FakeDriver::wait_event(int device, EventHandle event) {
  const Lock lock = enter(Call::wait_event, {number(static_cast<void*>(event))});
  const FakeEvent* found = find_event(device, event);
  if (found == nullptr) raise(Call::wait_event, 107003, "unknown event");
  if (found->capture != 0) raise(Call::wait_event, 107027, "the event is being captured");
  const std::shared_ptr<Mark> mark = found->mark;
  streams_.force(mark, [this](const Work& work) { execute(work); });
}

float FakeDriver::elapsed_ms(int device, EventHandle start, EventHandle end) {
  const Lock lock =
      enter(Call::elapsed_ms, {number(static_cast<void*>(start)), number(static_cast<void*>(end))});
  const FakeEvent* from = find_event(device, start);
  const FakeEvent* to = find_event(device, end);
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

bool FakeDriver::update(int device, GraphHandle graph, GraphHandle newer) {
  const Lock lock = enter(Call::update_graph, {number(device), number(static_cast<void*>(graph)),
                                               number(static_cast<void*>(newer))});
  const auto found = graphs_.find(graph);
  const auto other = graphs_.find(newer);
  if (found == graphs_.end() || other == graphs_.end()) {
    raise(Call::update_graph, 107003, "unknown graph");
  }
  if (found->second.size() != other->second.size()) return false;
  found->second = other->second;
  return true;
}

void* FakeDriver::raw(int device, GraphHandle graph) {
  const Lock lock = enter(Call::raw_graph, {number(device), number(static_cast<void*>(graph))});
  return static_cast<void*>(graph);
}

// What is shared is the address, as text.

std::string FakeDriver::share_memory(int device, void* data) {
  const Lock lock = enter(Call::share_memory, {number(device), number(data)});
  return std::to_string(number(data));
}

void* FakeDriver::open_memory(int device, const std::string& shared) {
  const Lock lock = enter(Call::open_memory, {number(device)});
  return reinterpret_cast<void*>(std::stoull(shared));
}

std::string FakeDriver::share_event(int device, EventHandle event) {
  const Lock lock = enter(Call::share_event, {number(device), number(static_cast<void*>(event))});
  const FakeEvent* found = find_event(device, event);
  if (found == nullptr || !has(found->flags, EventFlags::kShared)) {
    raise(Call::share_event, 107004, "not made to be shared");
  }
  return std::to_string(number(static_cast<void*>(event)));
}

EventHandle FakeDriver::open_event(int device, const std::string& shared) {
  const Lock lock = enter(Call::open_event, {number(device)});
  const FakeEvent* found = find_event(device, reinterpret_cast<EventHandle>(std::stoull(shared)));
  if (found == nullptr) raise(Call::open_event, 107003, "unknown event");
  const auto handle = reinterpret_cast<EventHandle>(next_handle_ += 0x10);
  events_.emplace(handle, FakeEvent(*found));
  return handle;
}

std::vector<GraphHandle> FakeDriver::replays() const {
  Lock lock(mutex_);
  return replays_;
}

}  // namespace mindtorch::test
