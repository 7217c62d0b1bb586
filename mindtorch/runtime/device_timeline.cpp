#include "mindtorch/runtime/device_timeline.h"

#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mindtorch/base/thread_safety.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/host_wait.h"

namespace mindtorch::runtime {
namespace {

using driver::EventHandle;

// Devices have some ten thousand events; a long session reads the times of old launches on the way.
constexpr size_t kMaxPending = 4096;
constexpr int kClockReadings = 5;

struct TimedLaunch {
  EventHandle start;
  EventHandle end;
  profiler::DeviceEvent event;  // without its times
};

// The events of one device. An event whose time on the host's clock is known dates the others: a
// device tells differences only, in few digits, and none below 0.
struct Timeline {
  explicit Timeline(DeviceRuntime& runtime) : runtime(&runtime) {}

  DeviceRuntime* const runtime;
  std::mutex mutex;
  bool is_closed MT_GUARDED_BY(mutex) = false;           // its session is over
  std::deque<TimedLaunch> pending MT_GUARDED_BY(mutex);  // as launched
  std::vector<EventHandle> all MT_GUARDED_BY(mutex);     // events that were made
  std::vector<EventHandle> idle MT_GUARDED_BY(mutex);
  EventHandle anchor MT_GUARDED_BY(mutex) = nullptr;
  int64_t anchor_ns MT_GUARDED_BY(mutex) = 0;

  driver::DeviceDriver& driver() const { return runtime->driver(); }

  EventHandle take() MT_REQUIRES(mutex) {
    if (idle.empty()) {
      all.push_back(nullptr);  // first, so that none is lost
      return all.back() = driver().create_event(runtime->device(), driver::EventFlags::kTiming);
    }
    const EventHandle event = idle.back();
    idle.pop_back();
    return event;
  }
  void give(EventHandle event) MT_REQUIRES(mutex) { idle.push_back(event); }

  // The reading with the shortest way to the device and back is the best.
  void read_clock(Stream stream) MT_REQUIRES(mutex) {
    if (anchor != nullptr) give(std::exchange(anchor, nullptr));
    int64_t shortest = std::numeric_limits<int64_t>::max();
    for (int i = 0; i < kClockReadings; ++i) {
      const EventHandle event = take();
      const int64_t before = profiler::now_ns();
      driver().record_event(event, stream.device(), stream.handle());
      driver().wait_event(stream.device(), event);
      const int64_t after = profiler::now_ns();
      if (after - before >= shortest) {
        give(event);
        continue;
      }
      shortest = after - before;
      if (anchor != nullptr) give(anchor);
      anchor = event;
      anchor_ns = after;
    }
  }

  int64_t elapsed_ns(EventHandle from, EventHandle to) {
    return static_cast<int64_t>(double{driver().elapsed_ms(runtime->device(), from, to)} * 1e6);
  }

  // Dates the oldest launch; waits for it.
  void finish_oldest() MT_REQUIRES(mutex) {
    TimedLaunch launch = std::move(pending.front());
    pending.pop_front();
    driver().wait_event(runtime->device(), launch.end);
    launch.event.start_ns = anchor_ns + elapsed_ns(anchor, launch.start);
    launch.event.end_ns = launch.event.start_ns + elapsed_ns(launch.start, launch.end);
    give(launch.start);
    give(launch.end);
    profiler::note_device_event(std::move(launch.event));
  }

  void finish() noexcept MT_REQUIRES(mutex) {
    try {
      while (!pending.empty()) finish_oldest();
    } catch (...) {  // the device has an error, which its next user gets
    }
    pending.clear();
    for (const EventHandle event : all) {
      if (event != nullptr) driver().destroy_event(runtime->device(), event);
    }
    is_closed = true;
  }
};

// Of the devices that were used since a profiler stopped last.
struct Timelines {
  std::mutex mutex;
  std::unordered_map<const DeviceRuntime*, std::shared_ptr<Timeline>> by_device
      MT_GUARDED_BY(mutex);
};

Timelines& timelines() {
  static auto* const all = new Timelines;
  return *all;
}

std::shared_ptr<Timeline> timeline_of(DeviceRuntime& runtime) {
  Timelines& all = timelines();
  const std::scoped_lock lock(all.mutex);
  std::shared_ptr<Timeline>& timeline = all.by_device[&runtime];
  if (timeline == nullptr) timeline = std::make_shared<Timeline>(runtime);
  return timeline;
}

void finish_all() {
  const HostWait waiting;
  decltype(Timelines::by_device) ended;
  {
    const std::scoped_lock lock(timelines().mutex);
    ended.swap(timelines().by_device);
  }
  for (const auto& [runtime, timeline] : ended) {
    const std::scoped_lock lock(timeline->mutex);
    if (!runtime->forked()) timeline->finish();
  }
}

}  // namespace

void install_device_timeline() { profiler::hooks().finish_devices = &finish_all; }

void LaunchSpan::begin(Stream stream, const char* name, size_t bytes) noexcept {
  try {
    if (stream.is_capturing()) return;
    const std::shared_ptr<Timeline> found = timeline_of(stream.runtime());
    Timeline& timeline = *found;
    const std::scoped_lock lock(timeline.mutex);
    if (timeline.is_closed) return;
    if (timeline.anchor == nullptr) timeline.read_clock(stream);
    launch_ns_ = profiler::now_ns();
    const EventHandle start = timeline.take();
    timeline.driver().record_event(start, stream.device(), stream.handle());
    start_ = start;
    timeline_ = found;
    stream_ = stream;
    name_ = name;
    bytes_ = bytes;
  } catch (...) {  // an error of the device; what is launched next gets it
  }
}

void LaunchSpan::end() noexcept {
  try {
    DeviceRuntime& runtime = stream_.runtime();
    Timeline& timeline = *static_cast<Timeline*>(timeline_.get());
    const std::scoped_lock lock(timeline.mutex);
    if (timeline.is_closed) return;
    const EventHandle end = timeline.take();
    timeline.driver().record_event(end, stream_.device(), stream_.handle());
    profiler::DeviceEvent event;
    event.id = profiler::next_event_id();
    event.launched_by = profiler::innermost_event();
    event.launch_thread = profiler::thread_number();
    event.launch_ns = launch_ns_;
    event.name = name_;
    event.device_kind = runtime.driver().kind();
    event.device_index = runtime.device();
    event.stream = stream_.id();
    event.bytes = bytes_;
    timeline.pending.push_back({start_, end, std::move(event)});
    if (timeline.pending.size() >= kMaxPending) {
      while (!timeline.pending.empty()) timeline.finish_oldest();
      timeline.read_clock(stream_);
    }
  } catch (...) {  // as above
  }
}

}  // namespace mindtorch::runtime
