#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mindtorch/base/macros.h"

namespace mindtorch::profiler {

// What is recorded, as bits.
enum Want : uint32_t {
  kHost = 1,         // what threads do
  kArguments = 2,    // of ops
  kStacks = 4,       // where in the program
  kMemory = 8,       // taken and given back
  kDevice = 16,      // work of streams
  kAllThreads = 32,  // not only of the threads that started a session
};

namespace detail {
extern std::atomic<uint32_t> g_wanted;  // of all sessions
}
// One load, anywhere in the library.
inline bool wants(uint32_t bits) noexcept {
  return (detail::g_wanted.load(std::memory_order_relaxed) & bits) != 0;
}

// Of the clock that all times here are of; it never goes back.
MT_API int64_t now_ns() noexcept;

enum class Kind : uint8_t {
  kOp,
  kEngine,    // a node of a backward pass, with what the engine does around it
  kNode,      // the node itself
  kUser,      // a range that the program names
  kPipeline,  // a step of deferred execution
  kPool,      // a thread's part of a parallel loop
};

// Something that a thread did from one moment to another.
struct HostEvent {
  uint64_t id = 0;      // unique, above 0
  uint64_t parent = 0;  // the innermost event of the thread that was open; 0: none
  Kind kind = Kind::kOp;
  bool is_async = false;  // not nested in the thread's other events
  std::string name;
  std::string detail;  // an op's overload, a range's arguments, a flush's reason
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t sequence = -1;              // of autograd's node
  size_t first_argument = 0;          // in ThreadRecording::arguments
  size_t argument_count = 0;          // numbers, not arguments
  std::shared_ptr<const void> stack;  // what Hooks::take_stack gave
};

struct MemoryEvent {
  int64_t time_ns = 0;
  uint64_t inside = 0;  // the innermost open event
  const void* address = nullptr;
  int64_t bytes = 0;  // below 0: given back
  // After it. On the CPU: since memory is being recorded.
  int64_t allocated_bytes = 0;
  int64_t reserved_bytes = 0;
  const char* device_kind = "cpu";
  int device_index = -1;  // -1: the CPU
};

// Work of a stream.
struct DeviceEvent {
  uint64_t id = 0;
  uint64_t launched_by = 0;  // the host event that was innermost; 0: none
  uint64_t launch_thread = 0;
  int64_t launch_ns = 0;
  std::string name;
  const char* device_kind = "";
  int device_index = 0;
  int64_t stream = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  size_t bytes = 0;  // of a copy
};

struct ThreadRecording {
  uint64_t number = 0;  // 1, 2, ...
  int64_t system_id = 0;
  std::string name;
  std::vector<HostEvent> events;  // by start
  std::vector<int64_t> arguments;
  std::vector<MemoryEvent> memory;
};

// What a session saw.
struct Recording {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::vector<ThreadRecording> threads;
  std::vector<DeviceEvent> device;
};

// Sessions may overlap; each gets what happened while it ran. Thread-safe.
MT_API uint64_t start_session(uint32_t wanted);
// Records other things from now on.
MT_API void change_session(uint64_t session, uint32_t wanted);
// Events that are still open end now. RuntimeError if there is no such session.
MT_API Recording stop_session(uint64_t session);
MT_API bool is_recording() noexcept;

// What the layers above install, once; null functions are not called.
struct Hooks {
  void (*changed)(uint32_t wanted) = nullptr;             // what is recorded from now on
  void (*finish_devices)() = nullptr;                     // hand over the events of devices
  std::shared_ptr<const void> (*take_stack)() = nullptr;  // of the calling thread
  int64_t (*next_sequence)() noexcept = nullptr;          // of the node that an op would make
};
MT_API Hooks& hooks() noexcept;

struct SpanStart {
  Kind kind = Kind::kOp;
  std::string_view name;
  std::string_view detail{};
  int64_t sequence = -1;
  std::span<const int64_t> arguments{};
  bool is_on_any_thread = false;  // not only on those that started a session
};

struct ThreadLog;

// An event that begins when this is made and ends with it; nothing where this thread is not
// recorded. May end on another thread.
class MT_API Span {
 public:
  Span() noexcept = default;
  explicit Span(const SpanStart& start) noexcept;
  ~Span() { end(); }
  Span(Span&& other) noexcept;
  Span& operator=(Span&& other) noexcept;
  void end() noexcept;
  bool is_open() const noexcept { return log_ != nullptr; }

 private:
  std::shared_ptr<ThreadLog> log_;
  uint64_t generation_ = 0;
  size_t index_ = 0;
};

// This thread's: whether it is recorded, and the innermost event that is open (0: none).
bool is_thread_recorded() noexcept;
uint64_t innermost_event() noexcept;
uint64_t thread_number() noexcept;  // 0: this thread is not recorded

// An event of this thread that is over.
void note_range(Kind kind, std::string_view name, std::string_view detail, int64_t start_ns);
// Where this thread is recorded. What the host's memory adds up to, the recorder counts itself.
void note_memory(const MemoryEvent& event) noexcept;
void note_host_allocation(const void* address, size_t bytes) noexcept;
void note_host_release(const void* address) noexcept;
void note_device_event(DeviceEvent event);
uint64_t next_event_id() noexcept;

}  // namespace mindtorch::profiler
