#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "mindtorch/backends/ascend/acl_abi.h"
#include "simulator/ascend/core/handles.h"

namespace sim {

struct Stream;
struct Event;
struct Model;
struct Physical;
struct Capture;
struct Record;

using Lock = std::unique_lock<std::mutex>;

struct Context {
  void* handle = nullptr;
  int32_t device = 0;
  bool is_default = false;
  std::shared_ptr<Stream> default_stream;
  std::map<int, int64_t> system_parameters;
  aclError failure = ACL_SUCCESS;  // of a stream that stops on failure
};

struct Device {
  std::shared_ptr<Context> default_context;
  uint64_t references = 0;  // of aclrtSetDevice
  size_t used_bytes = 0;    // in whole pages
  size_t peak_bytes = 0;
  std::set<int32_t> peers;  // whose memory this device may touch
  uint32_t streams = 0;
  uint32_t busy_units = 0;                        // see units.h
  std::set<std::pair<uint32_t, uint64_t>> ready;  // priority and order of those that wait for one
  uint64_t next_ready = 0;
  uint32_t events = 0;  // those that hold a hardware id
  aclrtFloatOverflowMode overflow_mode = ACL_RT_OVERFLOW_MODE_INFNAN;
};

// Everything that is simulated. One lock guards all of it; tasks run without the lock, and
// Note [Quick path] says what else does.
struct Runtime {
  std::mutex mutex;
  uint64_t init_count = 0;
  bool finalized = false;
  std::string config;  // what aclInit read
  std::vector<Device> devices;
  std::map<int, int64_t> system_parameters;
  aclrtExceptionInfoCallback exception_callback = nullptr;
  int32_t next_stream_id = 0;
  // Counts what makes a stream that was found once no longer usable without a look: that it, or its
  // context, was destroyed, failed, or is captured.
  std::atomic<uint64_t> generation{0};

  Table<Context, HandleKind::kContext> contexts;
  Table<Stream, HandleKind::kStream> streams;
  Table<Event, HandleKind::kEvent> events;
  Table<Model, HandleKind::kModel> models;
  Table<Physical, HandleKind::kPhysical> physical;
  std::vector<std::shared_ptr<Capture>> captures;  // those that are active
};

Runtime& runtime();
void charge(Device& device, size_t bytes);  // counts memory that was taken

// The functions below want the lock.

aclError check_device(int64_t device);  // 107001
// The calling thread's context: 107002 when there is none or it was destroyed.
aclError current_context(std::shared_ptr<Context>& context);
void set_current_context(void* handle);
void* current_context_handle();

std::shared_ptr<Context> make_context(int32_t device, bool is_default);
// Waits for the context's streams and destroys them.
void destroy_context(Lock& lock, const std::shared_ptr<Context>& context);
void destroy_default_context(Lock& lock, int32_t device);

// Makes the settings true: devices, faults, log.
void apply_settings(Runtime& r);
// Forgets everything, as if the libraries had just been loaded.
void reset_runtime();

}  // namespace sim
