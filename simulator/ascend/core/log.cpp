#include "simulator/ascend/core/log.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <vector>

#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/faults.h"
#include "simulator/ascend/core/quick.h"
#include "simulator/ascend/core/reports.h"
#include "simulator/ascend/core/runtime.h"
#include "simulator/ascend/core/settings.h"
#include "simulator/ascend/core/site.h"
#include "simulator/ascend/core/stream.h"

namespace sim {

namespace {
struct Entry {
  uint64_t number = 0;
  bool is_task = false;
  std::string name;
  std::string arguments;  // JSON members of a call
  int64_t thread = 0;
  int32_t device = -1;
  int32_t stream_id = -1;
  uint64_t delay_ns = 0;  // that a task was held back by latency and jitter
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  aclError code = ACL_SUCCESS;
};

struct Log {
  std::mutex mutex;
  std::vector<Entry> ring;
  uint64_t made = 0;
  uint64_t epoch_ns = 0;
  std::atomic<size_t> capacity{0};
};
}  // namespace

static Log& the_log() {
  static auto* made = new Log;
  return *made;
}

bool log_is_on() { return the_log().capacity.load(std::memory_order_relaxed) != 0; }

void set_log_capacity(size_t entries) {
  Log& log = the_log();
  const std::lock_guard hold(log.mutex);
  log.capacity = entries;
  log.ring.clear();
  log.made = 0;
  log.epoch_ns = now_ns();
}

static void append(Entry entry) {
  Log& log = the_log();
  const std::lock_guard hold(log.mutex);
  const size_t capacity = log.capacity;
  if (!capacity) return;
  entry.number = log.made++;
  entry.start_ns -= std::min(log.epoch_ns, entry.start_ns);
  entry.end_ns -= std::min(log.epoch_ns, entry.end_ns);
  if (log.ring.size() < capacity) {
    log.ring.push_back(std::move(entry));
  } else {
    log.ring[entry.number % capacity] = std::move(entry);
  }
}

static std::string to_json(std::initializer_list<Argument> arguments) {
  std::string text;
  for (const Argument& argument : arguments) {
    char value[32];
    std::snprintf(value, sizeof value, argument.is_pointer ? "\"0x%llx\"" : "%lld",
                  static_cast<long long>(argument.value));
    text += (text.empty() ? "" : ", ") + json_string(argument.name) + ": " + value;
  }
  return text;
}

// Of the stream that a call names; null is the default one of the thread's context. -1: none.
static int32_t stream_id_of(std::initializer_list<Argument> arguments) {
  for (const Argument& argument : arguments) {
    if (!argument.is_pointer || std::strcmp(argument.name, "stream") != 0) continue;
    const Lock lock(runtime().mutex);
    const auto* handle = reinterpret_cast<const void*>(argument.value);
    if (handle) {
      const auto stream = runtime().streams.find(handle);
      return stream ? stream->id : -1;
    }
    const auto context = runtime().contexts.find(current_context_handle());
    return context ? context->default_stream->id : -1;
  }
  return -1;
}

aclError enter(const char* function, std::initializer_list<Argument> arguments) {
  static const bool started = (runtime(), true);  // the environment may turn the log on
  (void)started;
  set_current_function(function);
  if (log_is_on() || any_check_is_on()) note_site(function);
  const aclError code = fault_of_call(function);
  if (log_is_on()) {
    Entry entry;
    entry.name = function;
    entry.arguments = to_json(arguments);
    entry.stream_id = stream_id_of(arguments);
    entry.thread = syscall(SYS_gettid);
    entry.start_ns = entry.end_ns = now_ns();
    entry.code = code;
    append(std::move(entry));
  }
  return code ? fail(code, "a fault was set") : ACL_SUCCESS;
}

void log_task(const std::string& name,
              int32_t device,
              int32_t stream_id,
              uint64_t delay_ns,
              uint64_t start_ns,
              uint64_t end_ns,
              aclError code) {
  Entry entry;
  entry.is_task = true;
  entry.name = name;
  entry.device = device;
  entry.stream_id = stream_id;
  entry.delay_ns = delay_ns;
  entry.start_ns = start_ns;
  entry.end_ns = end_ns;
  entry.code = code;
  append(std::move(entry));
}

static std::vector<Entry> entries() {
  Log& log = the_log();
  const std::lock_guard hold(log.mutex);
  std::vector<Entry> ordered;
  const size_t size = log.ring.size();
  const size_t first = log.made > size ? log.made % size : 0;
  for (size_t i = 0; i < size; ++i) ordered.push_back(log.ring[(first + i) % size]);
  return ordered;
}

std::string log_lines() {
  std::string text;
  for (const Entry& e : entries()) {
    text += "{\"number\": " + std::to_string(e.number) +
            ", \"kind\": " + (e.is_task ? "\"task\"" : "\"call\"") +
            ", \"name\": " + json_string(e.name);
    if (e.is_task) text += ", \"device\": " + std::to_string(e.device);
    if (e.stream_id >= 0) text += ", \"stream\": " + std::to_string(e.stream_id);
    if (e.is_task) {
      text += ", \"delay_ns\": " + std::to_string(e.delay_ns) +
              ", \"duration_ns\": " + std::to_string(e.end_ns - e.start_ns);
    } else {
      text +=
          ", \"thread\": " + std::to_string(e.thread) + ", \"arguments\": {" + e.arguments + "}";
    }
    text += ", \"time_ns\": " + std::to_string(e.start_ns) +
            ", \"code\": " + std::to_string(e.code) + "}\n";
  }
  return text;
}

static std::string lane_name(int32_t process, int64_t lane, const std::string& name) {
  return "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": " + std::to_string(process) +
         ", \"tid\": " + std::to_string(lane) + ", \"args\": {\"name\": " + json_string(name) +
         "}}";
}

static std::string process_name(int32_t process, const std::string& name) {
  return "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": " + std::to_string(process) +
         ", \"args\": {\"name\": " + json_string(name) + "}}";
}

std::string log_trace() {
  // Process 0 is the host, process n + 1 device n.
  std::vector<std::string> events{process_name(0, "host")};
  std::set<std::pair<int32_t, int64_t>> lanes;
  std::set<int32_t> devices;
  char times[96];
  for (const Entry& e : entries()) {
    const int32_t process = e.is_task ? e.device + 1 : 0;
    const int64_t lane = e.is_task ? e.stream_id : e.thread;
    if (e.is_task && devices.insert(e.device).second) {
      events.push_back(process_name(process, "device " + std::to_string(e.device)));
    }
    if (lanes.insert({process, lane}).second) {
      events.push_back(
          lane_name(process, lane, (e.is_task ? "stream " : "thread ") + std::to_string(lane)));
    }
    std::snprintf(times, sizeof times, "\"ts\": %.3f, \"dur\": %.3f",
                  static_cast<double>(e.start_ns) / 1000,
                  static_cast<double>(e.end_ns - e.start_ns) / 1000);
    events.push_back("{\"ph\": \"X\", \"name\": " + json_string(e.name) + ", \"pid\": " +
                     std::to_string(process) + ", \"tid\": " + std::to_string(lane) + ", " + times +
                     ", \"args\": {" + e.arguments + "}}");
  }
  std::string text = "{\"traceEvents\": [\n";
  for (size_t i = 0; i < events.size(); ++i) text += (i ? ",\n" : "") + events[i];
  return text + "\n]}\n";
}

void write_trace_at_exit() {
  static const int registered = std::atexit([] {
    std::string path;
    {
      const Lock lock(runtime().mutex);
      path = settings().trace;
    }
    if (!path.empty()) write_trace(path);
  });
  (void)registered;
}

bool write_trace(const std::string& path) {
  std::ofstream file(path);
  file << log_trace();
  return static_cast<bool>(file);
}

}  // namespace sim
