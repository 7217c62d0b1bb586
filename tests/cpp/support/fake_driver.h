#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mindtorch/driver/device_row.h"
#include "mindtorch/driver/driver.h"
#include "tests/cpp/support/fake_streams.h"

namespace mindtorch::test {

// Every call that a test may count or make fail.
// clang-format off
#define FAKE_DRIVER_FUNCTIONS(X) \
  X(properties) X(memory_info) X(bind_thread) X(wait_device) X(allocate) X(release) \
  X(allocate_pinned) X(release_pinned) X(copy_async) X(fill_async) X(create_stream) \
  X(destroy_stream) X(query_stream) X(wait_stream) X(create_event) X(destroy_event) \
  X(record_event) X(block_stream) X(query_event) X(wait_event) X(elapsed_ms) X(reserve) \
  X(unreserve) X(map) X(unmap) X(can_access) X(enable_peer) X(disable_peer) \
  X(capture_begin) X(capture_end) X(is_capturing) X(replay) X(destroy_graph) X(update_graph) \
  X(raw_graph) X(share_memory) X(open_memory) X(share_event) X(open_event)
// clang-format on

enum class Call : uint8_t {
#define FAKE_DRIVER_ENUM(name) name,
  FAKE_DRIVER_FUNCTIONS(FAKE_DRIVER_ENUM)
#undef FAKE_DRIVER_ENUM
      count_
};

struct LoggedCall {
  Call function;
  std::vector<uintptr_t> args;
};

inline constexpr TextOption kFakeAllocConf{"FAKE_ALLOC_CONF", "", "Settings of its allocator."};
inline constexpr TextOption kFakeOldAllocConf{"FAKE_OLD_ALLOC_CONF", "", "Read where it is unset."};
inline constexpr const TextOption* kFakeAllocConfs[] = {&kFakeAllocConf, &kFakeOldAllocConf};
inline constexpr driver::DeviceRow kFakeRow{
    .name = "fake",
    .title = "FAKE",
    .noun = "fake",
    .dispatch_key = "Fake",
    .torch_type = 0,
    .dlpack_type = 0,
    .alloc_conf = kFakeAllocConfs,
};

struct FakeOptions {
  const char* kind = kFakeRow.name;
  driver::DeviceRow row = kFakeRow;  // but for the name, which is `kind`
  int device_count = 1;
  size_t memory_bytes = size_t{1} << 30;  // per device
  size_t pinned_bytes = ~size_t{0};       // allocate_pinned returns null beyond
  bool backed = false;                    // real memory behind every address: copies copy
  bool auto_finish = false;               // queued work is complete at once
  bool throw_when_out_of_memory = false;  // a fault in allocate throws; else null
  bool virtual_memory = false;
  bool peer_access = false;
  bool peers_reachable = true;  // what can_access() answers
  bool graph_capture = false;
  bool graph_editing = false;
  bool process_sharing = false;
  std::vector<std::pair<std::string, int64_t>> more_properties{};
  int least_priority = 0;
  int greatest_priority = -3;
};

// A driver whose devices do nothing until the test says so. It records every live object;
// misuse (double free, unknown pointer, work that touches dead memory) is written down in
// failures(), never a crash. Thread-safe: one mutex.
class FakeDriver final : public driver::DeviceDriver,
                         public driver::VirtualMemory,
                         public driver::PeerAccess,
                         public driver::GraphCapture,
                         public driver::GraphEditing,
                         public driver::ProcessSharing {
 public:
  using StreamHandle = driver::StreamHandle;
  using EventHandle = driver::EventHandle;

  explicit FakeDriver(FakeOptions options = {});
  ~FakeDriver() override;

  // --- What a test says ---------------------------------------------------------------------
  // The device gets round to what is queued on the stream now. Work behind an unreached event
  // still waits for it, and runs when that event is reached.
  void finish(int device, StreamHandle stream);
  void finish(StreamHandle stream) { finish(0, stream); }
  void finish_all();
  // Finishes what is queued, and from now on everything at once; or goes back to queueing.
  void set_auto_finish(bool on);
  // Queues work that touches [data, data + bytes): a failure if that is dead when it runs.
  void use(int device, StreamHandle stream, const void* data, size_t bytes);
  // Queues a callback, which must not call the driver.
  void launch(int device, StreamHandle stream, std::function<void()> work);
  // Milliseconds the device's clock moves on; it also moves 1 ms per piece of work done.
  void advance_ms(double ms);
  // Memory some other process takes (or, negative, gives back).
  void take_outside(int device, int64_t bytes);
  // Called before every driver call, outside the driver's lock.
  void set_on_call(std::function<void(Call)> callback);

  // --- Faults: the n-th call from now, counted from 1 ------------------------------------------
  void fail_call(int64_t nth);                // of all calls that can fail
  void fail_from(int64_t nth);                // that one and every later one: the device is dead
  void fail(Call function, int64_t nth = 1);  // of this function
  void fail_always(Call function);
  void clear_faults();
  // Calls that could have failed so far: the end of a loop over fail_call().
  int64_t fallible_calls() const;

  // --- What a test may ask ----------------------------------------------------------------------
  std::vector<std::string> leaks() const;     // one line per live object
  std::vector<std::string> failures() const;  // one line per misuse
  int64_t count(Call function) const;
  void reset_counts();
  void set_logging(bool on);
  std::vector<LoggedCall> log() const;
  std::vector<Call> log_functions() const;
  void clear_log();
  bool idle(int device, StreamHandle stream) const;  // nothing queued; not counted as a call
  bool reached(EventHandle event) const;             // likewise
  size_t allocated_bytes(int device) const;          // allocate() and map()
  size_t pinned_bytes() const;
  size_t live_events() const;
  size_t live_streams() const;
  int priority_of(StreamHandle stream) const;
  bool is_live(const void* data, size_t bytes = 1) const;
  std::vector<driver::GraphHandle> replays() const;

  // --- DeviceDriver --------------------------------------------------------------------------
  const driver::DeviceRow& row() const noexcept override { return options_.row; }
  int device_count() noexcept override { return options_.device_count; }
  driver::DeviceProperties properties(int device) override;
  driver::MemoryInfo memory_info(int device) override;
  void bind_thread(int device) override;
  void wait_device(int device) override;
  void* allocate(int device, size_t bytes) override;
  void release(int device, void* data) noexcept override;
  void* allocate_pinned(size_t bytes) override;
  void release_pinned(void* data) noexcept override;
  void copy_async(void* to,
                  const void* from,
                  size_t bytes,
                  driver::CopyKind kind,
                  int device,
                  StreamHandle stream) override;
  void fill_async(void* to, uint8_t value, size_t bytes, int device, StreamHandle stream) override;
  StreamHandle create_stream(int device, int priority) override;
  void destroy_stream(int device, StreamHandle stream) noexcept override;
  bool query_stream(int device, StreamHandle stream) override;
  void wait_stream(int device, StreamHandle stream) override;
  EventHandle create_event(int device, driver::EventFlags flags) override;
  void destroy_event(int device, EventHandle event) noexcept override;
  void record_event(EventHandle event, int device, StreamHandle stream) override;
  void block_stream(int device, StreamHandle stream, EventHandle event) override;
  bool query_event(int device, EventHandle event) override;
  void wait_event(int device, EventHandle event) override;
  float elapsed_ms(int device, EventHandle start, EventHandle end) override;
  driver::VirtualMemory* virtual_memory() noexcept override;
  driver::PeerAccess* peer_access() noexcept override;
  driver::GraphCapture* graph_capture() noexcept override;
  driver::GraphEditing* graph_editing() noexcept override;
  driver::ProcessSharing* process_sharing() noexcept override;

  // --- VirtualMemory ---------------------------------------------------------------------------
  size_t granularity(int) override { return size_t{2} << 20; }
  void* reserve(int device, size_t bytes) override;
  void unreserve(int device, void* address, size_t bytes) noexcept override;
  bool map(int device, void* address, size_t bytes) override;
  void unmap(int device, void* address, size_t bytes) noexcept override;

  // --- PeerAccess ------------------------------------------------------------------------------
  bool can_access(int device, int peer) override;
  void enable(int device, int peer) override;
  void disable(int device, int peer) override;

  // --- GraphCapture ----------------------------------------------------------------------------
  void begin(int device, StreamHandle stream, driver::CaptureMode mode) override;
  driver::GraphHandle end(int device, StreamHandle stream) override;
  bool is_capturing(int device, StreamHandle stream) override;
  void replay(driver::GraphHandle graph, int device, StreamHandle stream) override;
  void destroy(driver::GraphHandle graph) noexcept override;

  // --- GraphEditing: graphs of equally much work can take each other's place
  // -----------------------
  bool update(int device, driver::GraphHandle graph, driver::GraphHandle newer) override;
  void* raw(int device, driver::GraphHandle graph) override;

  // --- ProcessSharing: the other process is this one
  // ------------------------------------------------
  std::string share_memory(int device, void* data) override;
  void* open_memory(int device, const std::string& shared) override;
  void close_memory(int, void*) noexcept override {}
  std::string share_event(int device, EventHandle event) override;
  EventHandle open_event(int device, const std::string& shared) override;

 private:
  struct Range {
    int device;  // -1: pinned host memory
    size_t bytes;
    void* backing;
  };
  struct FakeEvent {
    int device;
    driver::EventFlags flags;
    std::shared_ptr<Mark> mark;
    uint64_t capture = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  Lock enter(Call function, std::initializer_list<uintptr_t> args);  // counts, logs, may throw
  bool fault(Call function);                                         // under the lock
  Lock enter_quietly(Call function, std::initializer_list<uintptr_t> args, bool& failed);
  [[noreturn]] void raise(Call function, int64_t code, const std::string& text) const;
  void complain(std::string text);
  bool check_device(int device);
  FakeStream* find_stream(int device, StreamHandle stream);
  static constexpr int kAnyDevice = -1;
  FakeEvent* find_event(int device, EventHandle event);
  const Range* find_range(const void* data, size_t bytes) const;
  void* new_address(int device, size_t bytes, size_t alignment);
  void* make_memory(int device, size_t bytes);
  void queue(int device, StreamHandle stream, Work work);
  void execute(const Work& work);
  void touch(const void* data, size_t bytes, const char* what);
  void refuse_in_capture(Call function, int device, const FakeStream* stream);

  const FakeOptions options_;
  mutable std::mutex mutex_;
  std::function<void(Call)> on_call_;
  std::map<uintptr_t, Range> ranges_;  // allocations and pinned blocks
  std::map<uintptr_t, Range> mapped_;  // behind reserved addresses
  std::map<uintptr_t, Range> reserved_;
  std::vector<size_t> used_bytes_;
  std::vector<int64_t> outside_bytes_;
  std::vector<uintptr_t> next_address_;
  size_t used_pinned_bytes_ = 0;
  FakeStreams streams_;
  std::unordered_map<EventHandle, FakeEvent> events_;
  std::unordered_map<driver::GraphHandle, std::vector<Work>> graphs_;
  std::vector<driver::GraphHandle> replays_;
  std::map<std::pair<int, int>, bool> peers_;
  uintptr_t next_handle_ = 0x1000;
  uint64_t next_capture_ = 0;
  bool auto_finish_;
  double clock_ms_ = 0;
  std::vector<std::string> failures_;

  std::array<int64_t, static_cast<size_t>(Call::count_)> counts_{};
  std::array<int64_t, static_cast<size_t>(Call::count_)> fail_in_{};  // 0: no; -1: always
  int64_t fallible_ = 0;
  int64_t fail_at_ = -1;
  int64_t fail_from_ = -1;
  bool logging_ = false;
  std::vector<LoggedCall> log_;
};

const char* name_of(Call function);

}  // namespace mindtorch::test
