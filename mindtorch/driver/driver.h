#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mindtorch/base/error.h"
#include "mindtorch/base/macros.h"

// The small interface an accelerator implements. Everything above (allocator, streams, events,
// pinned memory, copies) is written once over it. Conventions:
//  - A device is an index, 0 <= device < device_count().
//  - Handles are opaque; a null StreamHandle is the device's default stream.
//  - Functions may be called from any thread; an implementation that needs a current device sets
//    it itself. A stream is always named with its device, since the default stream is null.
//  - Expected outcomes are values (null: out of memory; false: not finished). Everything else that
//    goes wrong throws DriverError. Destroying and releasing never throw, and tolerate a library
//    that has shut down already.
namespace mindtorch::driver {

struct DeviceRow;  // device_row.h
struct StreamTag;
struct EventTag;
using StreamHandle = StreamTag*;
using EventHandle = EventTag*;

// A vendor call that failed.
class MT_API DriverError : public RuntimeError {
 public:
  DriverError(std::string function, int64_t code, std::string vendor_text);

  const std::string& function() const noexcept { return function_; }
  int64_t code() const noexcept { return code_; }
  const std::string& vendor_text() const noexcept { return vendor_text_; }

 private:
  std::string function_;
  int64_t code_;
  std::string vendor_text_;
};

struct DeviceProperties {
  std::string name;
  size_t total_memory_bytes = 0;
  int major = 0;
  int minor = 0;
  int multi_processor_count = 0;
  // A lower number is a higher priority; equal when the device knows only one.
  int least_priority = 0;
  int greatest_priority = 0;
  // Optional: what only some kinds of devices have, by torch's names ("warp_size").
  std::vector<std::pair<std::string, int64_t>> more{};
};

struct MemoryInfo {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
};

enum class CopyKind : uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };

enum class EventFlags : uint8_t {
  kNone = 0,
  kTiming = 1,        // elapsed_ms() may be asked
  kBlockingWait = 2,  // wait_event() sleeps instead of spinning
  kShared = 4,        // ProcessSharing::share_event() may be asked
};
constexpr EventFlags operator|(EventFlags a, EventFlags b) {
  return static_cast<EventFlags>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}
constexpr bool has(EventFlags flags, EventFlags flag) {
  return (static_cast<uint8_t>(flags) & static_cast<uint8_t>(flag)) != 0;
}

// Address space and physical memory as two things. Sizes and offsets are multiples of
// granularity().
class MT_API VirtualMemory {
 public:
  virtual ~VirtualMemory() = default;
  virtual size_t granularity(int device) = 0;
  // Null when there is no such range of addresses left.
  virtual void* reserve(int device, size_t bytes) = 0;
  virtual void unreserve(int device, void* address, size_t bytes) noexcept = 0;
  // Puts memory behind [address, address + bytes), readable and writable by the device. False: out
  // of memory, and nothing is mapped.
  virtual bool map(int device, void* address, size_t bytes) = 0;
  // Takes away what one or several whole calls of map() put behind the range. No queued work may
  // use it.
  virtual void unmap(int device, void* address, size_t bytes) noexcept = 0;
};

class MT_API PeerAccess {
 public:
  virtual ~PeerAccess() = default;
  virtual bool can_access(int device, int peer) = 0;
  virtual void enable(int device, int peer) = 0;
  virtual void disable(int device, int peer) = 0;
};

struct GraphTag;
using GraphHandle = GraphTag*;

enum class CaptureMode : uint8_t { kGlobal, kThreadLocal, kRelaxed };

// Recording the work of a stream instead of running it, to run it many times later.
class MT_API GraphCapture {
 public:
  virtual ~GraphCapture() = default;
  virtual void begin(int device, StreamHandle stream, CaptureMode mode) = 0;
  virtual GraphHandle end(int device, StreamHandle stream) = 0;
  virtual bool is_capturing(int device, StreamHandle stream) = 0;
  virtual void replay(GraphHandle graph, int device, StreamHandle stream) = 0;
  virtual void destroy(GraphHandle graph) noexcept = 0;
};

// What can be done with a captured graph besides replaying it.
class MT_API GraphEditing {
 public:
  virtual ~GraphEditing() = default;
  // From now on `graph` does what `newer` does, which is much quicker than to make a graph anew.
  // False: the two differ in more than addresses and numbers; `graph` stays what it is.
  virtual bool update(int device, GraphHandle graph, GraphHandle newer) = 0;
  // The vendor's object, for those who know its library. It belongs to the graph.
  virtual void* raw(int device, GraphHandle graph) = 0;
};

// Memory and events that other processes of the machine use, too. What they are sent are the bytes
// that share_...() gives.
class MT_API ProcessSharing {
 public:
  virtual ~ProcessSharing() = default;
  virtual std::string share_memory(int device, void* data) = 0;  // of allocate()
  // The memory may be used until it is closed, which the owner must not release before.
  virtual void* open_memory(int device, const std::string& shared) = 0;
  virtual void close_memory(int device, void* data) noexcept = 0;
  virtual std::string share_event(int device, EventHandle event) = 0;  // made with kShared
  virtual EventHandle open_event(int device, const std::string& shared) = 0;
};

class MT_API DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;

  // Identity.
  virtual const DeviceRow& row() const noexcept = 0;  // lives as long as the driver
  const char* kind() const noexcept;                  // its name
  virtual int device_count() noexcept = 0;            // a broken driver means 0
  // Why device_count() is 0, for people; empty when it is not.
  virtual std::string unavailable_reason() noexcept { return {}; }
  virtual DeviceProperties properties(int device) = 0;
  virtual MemoryInfo memory_info(int device) = 0;
  virtual void bind_thread(int device) = 0;  // makes `device` current for this thread
  virtual void wait_device(int device) = 0;  // until all streams of the device are idle

  // Optional, for devices whose row says that they can be told: the same bits for the same call.
  virtual void set_deterministic(bool) {}

  // Memory. Null means out of memory; work queued on any stream may still use what is released
  // only if the caller has ordered it.
  virtual void* allocate(int device, size_t bytes) = 0;
  virtual void release(int device, void* data) noexcept = 0;
  virtual void* allocate_pinned(size_t bytes) = 0;
  virtual void release_pinned(void* data) noexcept = 0;

  // Copies and fills, in stream order. Host memory that is not pinned may make them wait.
  virtual void copy_async(
      void* to, const void* from, size_t bytes, CopyKind kind, int device, StreamHandle stream) = 0;
  virtual void fill_async(
      void* to, uint8_t value, size_t bytes, int device, StreamHandle stream) = 0;

  // Streams.
  virtual StreamHandle create_stream(int device, int priority) = 0;
  virtual void destroy_stream(int device, StreamHandle stream) noexcept = 0;
  virtual bool query_stream(int device, StreamHandle stream) = 0;  // true: idle
  virtual void wait_stream(int device, StreamHandle stream) = 0;

  // Events, always named with the device they were made on.
  virtual EventHandle create_event(int device, EventFlags flags) = 0;
  virtual void destroy_event(int device, EventHandle event) noexcept = 0;
  virtual void record_event(EventHandle event, int device, StreamHandle stream) = 0;
  virtual void block_stream(int device, StreamHandle stream, EventHandle event) = 0;
  virtual bool query_event(int device, EventHandle event) = 0;  // true: reached
  virtual void wait_event(int device, EventHandle event) = 0;
  virtual float elapsed_ms(int device, EventHandle start, EventHandle end) = 0;

  // Extras; null where the device has none. Who needs one and finds none says so to the program.
  virtual VirtualMemory* virtual_memory() noexcept { return nullptr; }
  virtual PeerAccess* peer_access() noexcept { return nullptr; }
  virtual GraphCapture* graph_capture() noexcept { return nullptr; }
  virtual GraphEditing* graph_editing() noexcept { return nullptr; }
  virtual ProcessSharing* process_sharing() noexcept { return nullptr; }
};

}  // namespace mindtorch::driver
