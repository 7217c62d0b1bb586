// FakeDriver: streams and the work on them.
#include <cstring>
#include <sstream>

#include "tests/cpp/support/fake_driver.h"

namespace mindtorch::test {

using driver::CopyKind;
using driver::EventHandle;
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

FakeDriver::FakeEvent* FakeDriver::find_event(int device, EventHandle event) {
  const auto found = events_.find(event);
  if (found != events_.end() && (device == kAnyDevice || device == found->second.device)) {
    return &found->second;
  }
  std::ostringstream text;
  text << "unknown event " << event << " on device " << device;
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

}  // namespace mindtorch::test
