#include "mindtorch/profiler/recorder.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "mindtorch/base/error.h"
#include "mindtorch/base/quick_mutex.h"

namespace mindtorch::profiler {

constinit std::atomic<uint32_t> detail::g_wanted{0};

// What a thread did since the first of the running sessions began.
struct ThreadLog {
  QuickMutex mutex;
  uint64_t number = 0;
  int64_t system_id = 0;
  std::string name;
  std::atomic<int> sessions{0};  // started by this thread
  // Counts how often the log was emptied: what was open then ends nowhere.
  uint64_t generation = 0;
  std::vector<HostEvent> events;
  std::vector<int64_t> arguments;
  std::vector<MemoryEvent> memory;
  std::vector<size_t> open;  // indices in `events`, innermost last
};

namespace {

struct Session {
  uint64_t id;
  uint32_t wanted;
  uint32_t wanted_ever;
  int64_t start_ns;
  std::shared_ptr<ThreadLog> thread;
};

struct Recorder {
  std::mutex mutex;
  std::vector<Session> sessions;
  std::vector<std::shared_ptr<ThreadLog>> logs;
  std::vector<DeviceEvent> device;
  uint64_t last_session = 0;
  uint64_t last_thread = 0;
  // Host memory taken while it is recorded; what was taken before is not counted.
  std::mutex memory_mutex;
  std::unordered_map<const void*, size_t> host_bytes;
  int64_t host_allocated = 0;
};

Recorder* g_recorder = nullptr;
std::atomic<uint64_t> g_last_event{0};
Hooks g_hooks;
thread_local std::shared_ptr<ThreadLog> t_log;

void publish(uint32_t wanted) {
  if (detail::g_wanted.exchange(wanted, std::memory_order_relaxed) == wanted) return;
  if (g_hooks.changed != nullptr) g_hooks.changed(wanted);
}

// A child does not go on with its parent's sessions. What they hold is left as it is: other threads
// of the parent may have been writing it.
void start_anew_in_child() {
  g_recorder = new Recorder;
  if (t_log != nullptr) new std::shared_ptr<ThreadLog>(std::move(t_log));
  publish(0);
}

Recorder& recorder() {
  static const bool made = [] {
    g_recorder = new Recorder;  // never destroyed: threads may outlive main()
    pthread_atfork(nullptr, nullptr, &start_anew_in_child);
    return true;
  }();
  (void)made;
  return *g_recorder;
}

std::string name_of_thread() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

ThreadLog& own_log() {
  if (t_log == nullptr) {
    auto log = std::make_shared<ThreadLog>();
    log->system_id = syscall(SYS_gettid);
    log->name = name_of_thread();
    Recorder& all = recorder();
    const std::scoped_lock lock(all.mutex);
    log->number = ++all.last_thread;
    all.logs.push_back(log);
    t_log = std::move(log);
  }
  return *t_log;
}

// The thread's log if it is recorded.
ThreadLog* find_log(bool on_any_thread) {
  if (t_log != nullptr && t_log->sessions.load(std::memory_order_relaxed) != 0) return t_log.get();
  return on_any_thread || wants(kAllThreads) ? &own_log() : nullptr;
}

uint32_t wanted_by_all(const Recorder& all) {
  uint32_t wanted = 0;
  for (const Session& session : all.sessions) wanted |= session.wanted;
  return wanted;
}

// What happened in [start, end]. Arguments are copied as they are.
ThreadRecording copy(ThreadLog& log, int64_t start_ns, int64_t end_ns, uint32_t wanted) {
  ThreadRecording copied;
  copied.number = log.number;
  copied.system_id = log.system_id;
  copied.name = log.name;
  for (const HostEvent& event : log.events) {
    if (event.start_ns < start_ns || event.start_ns > end_ns) continue;
    if (event.end_ns == 0) {
      copied.events.push_back(event);
      copied.events.back().end_ns = end_ns;
    } else if (event.end_ns <= end_ns) {
      copied.events.push_back(event);
    }
  }
  if (!copied.events.empty()) copied.arguments = log.arguments;
  if ((wanted & kMemory) != 0) {
    for (const MemoryEvent& event : log.memory) {
      if (event.time_ns >= start_ns && event.time_ns <= end_ns) copied.memory.push_back(event);
    }
  }
  return copied;
}

void empty(ThreadLog& log) {
  ++log.generation;
  log.events.clear();
  log.arguments.clear();
  log.memory.clear();
  log.open.clear();
}

}  // namespace

Hooks& hooks() noexcept { return g_hooks; }

int64_t now_ns() noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

uint64_t next_event_id() noexcept {
  return g_last_event.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool is_recording() noexcept { return wants(~uint32_t{0}); }
bool is_thread_recorded() noexcept { return find_log(false) != nullptr; }

uint64_t innermost_event() noexcept {
  if (t_log == nullptr) return 0;
  const std::scoped_lock lock(t_log->mutex);
  return t_log->open.empty() ? 0 : t_log->events[t_log->open.back()].id;
}

uint64_t thread_number() noexcept { return t_log == nullptr ? 0 : t_log->number; }

uint64_t start_session(uint32_t wanted) {
  Recorder& all = recorder();
  own_log().sessions.fetch_add(1, std::memory_order_relaxed);
  const std::scoped_lock lock(all.mutex);
  const uint64_t id = ++all.last_session;
  if (all.sessions.empty()) {
    const std::scoped_lock memory_lock(all.memory_mutex);
    all.host_bytes.clear();
    all.host_allocated = 0;
  }
  all.sessions.push_back({id, wanted, wanted, now_ns(), t_log});
  publish(wanted_by_all(all));
  return id;
}

void change_session(uint64_t session, uint32_t wanted) {
  Recorder& all = recorder();
  const std::scoped_lock lock(all.mutex);
  for (Session& each : all.sessions) {
    if (each.id != session) continue;
    each.wanted = wanted;
    each.wanted_ever |= wanted;
  }
  publish(wanted_by_all(all));
}

Recording stop_session(uint64_t session) {
  Recorder& all = recorder();
  Recording recording;
  recording.end_ns = now_ns();
  if (g_hooks.finish_devices != nullptr) g_hooks.finish_devices();
  const std::scoped_lock lock(all.mutex);
  const auto found = std::ranges::find(all.sessions, session, &Session::id);
  MT_CHECK(found != all.sessions.end(), RuntimeError, "there is no such session of a profiler");
  const Session ended = *found;
  all.sessions.erase(found);
  ended.thread->sessions.fetch_sub(1, std::memory_order_relaxed);
  publish(wanted_by_all(all));
  recording.start_ns = ended.start_ns;
  for (const auto& log : all.logs) {
    const std::scoped_lock log_lock(log->mutex);
    recording.threads.push_back(
        copy(*log, recording.start_ns, recording.end_ns, ended.wanted_ever));
    if (all.sessions.empty()) empty(*log);
  }
  std::erase_if(recording.threads, [](const ThreadRecording& thread) {
    return thread.events.empty() && thread.memory.empty();
  });
  if ((ended.wanted_ever & kDevice) != 0) {
    for (const DeviceEvent& event : all.device) {
      if (event.launch_ns >= recording.start_ns && event.launch_ns <= recording.end_ns) {
        recording.device.push_back(event);
      }
    }
  }
  if (all.sessions.empty()) {
    all.device.clear();
    // Of threads that are gone.
    std::erase_if(all.logs, [](const auto& log) { return log.use_count() == 1; });
  }
  return recording;
}

Span::Span(const SpanStart& start) noexcept {
  try {
    ThreadLog* const log = find_log(start.is_on_any_thread);
    if (log == nullptr) return;
    HostEvent event;
    event.id = next_event_id();
    event.kind = start.kind;
    event.name = start.name;
    event.detail = start.detail;
    event.sequence = start.sequence;
    // Before the lock: taking a stack may run code of the interpreter.
    if (start.kind != Kind::kPool && wants(kStacks) && g_hooks.take_stack != nullptr) {
      event.stack = g_hooks.take_stack();
    }
    const std::scoped_lock lock(log->mutex);
    if (!log->open.empty()) event.parent = log->events[log->open.back()].id;
    event.first_argument = log->arguments.size();
    event.argument_count = start.arguments.size();
    log->arguments.insert(log->arguments.end(), start.arguments.begin(), start.arguments.end());
    log->open.push_back(log->events.size());
    event.start_ns = now_ns();
    log->events.push_back(std::move(event));
    index_ = log->open.back();
    generation_ = log->generation;
    log_ = t_log;
  } catch (...) {  // no memory: the event is lost
  }
}

Span::Span(Span&& other) noexcept { *this = std::move(other); }
Span& Span::operator=(Span&& other) noexcept {
  end();
  log_ = std::move(other.log_);
  generation_ = other.generation_;
  index_ = other.index_;
  return *this;
}

void Span::end() noexcept {
  if (log_ == nullptr) return;
  const int64_t now = now_ns();
  const std::shared_ptr<ThreadLog> log = std::move(log_);
  const std::scoped_lock lock(log->mutex);
  if (log->generation != generation_) return;
  log->events[index_].end_ns = now;
  // Generators and threads may end their ranges in any order.
  if (log->open.back() == index_) {
    log->open.pop_back();
  } else {
    std::erase(log->open, index_);
  }
}

void note_range(Kind kind, std::string_view name, std::string_view detail, int64_t start_ns) {
  ThreadLog* const log = find_log(true);
  HostEvent event;
  event.id = next_event_id();
  event.kind = kind;
  event.is_async = true;
  event.name = name;
  event.detail = detail;
  event.start_ns = start_ns;
  event.end_ns = now_ns();
  const std::scoped_lock lock(log->mutex);
  log->events.push_back(std::move(event));
}

void note_memory(const MemoryEvent& event) noexcept {
  try {
    ThreadLog* const log = find_log(false);
    if (log == nullptr) return;
    const std::scoped_lock lock(log->mutex);
    MemoryEvent& noted = log->memory.emplace_back(event);
    noted.time_ns = now_ns();
    noted.inside = log->open.empty() ? 0 : log->events[log->open.back()].id;
  } catch (...) {  // no memory: the event is lost
  }
}

void note_host_allocation(const void* address, size_t bytes) noexcept {
  if (!is_thread_recorded()) return;
  try {
    Recorder& all = recorder();
    MemoryEvent event{.address = address, .bytes = static_cast<int64_t>(bytes)};
    {
      const std::scoped_lock lock(all.memory_mutex);
      all.host_bytes[address] = bytes;
      all.host_allocated += event.bytes;
      event.allocated_bytes = all.host_allocated;
    }
    note_memory(event);
  } catch (...) {  // no memory: the event is lost
  }
}

void note_host_release(const void* address) noexcept {
  Recorder& all = recorder();
  MemoryEvent event{.address = address};
  {
    const std::scoped_lock lock(all.memory_mutex);
    const auto found = all.host_bytes.find(address);
    if (found == all.host_bytes.end()) return;
    event.bytes = -static_cast<int64_t>(found->second);
    all.host_bytes.erase(found);
    all.host_allocated += event.bytes;
    event.allocated_bytes = all.host_allocated;
  }
  note_memory(event);
}

void note_device_event(DeviceEvent event) {
  Recorder& all = recorder();
  const std::scoped_lock lock(all.mutex);
  if (!all.sessions.empty()) all.device.push_back(std::move(event));
}

}  // namespace mindtorch::profiler
