#pragma once

#include <condition_variable>
#include <memory>
#include <string>
#include <vector>

#include "simulator/ascend/core/clock.h"
#include "simulator/ascend/core/queue.h"
#include "simulator/ascend/core/runtime.h"
#include "simulator/ascend/core/site.h"
#include "simulator/ascend/core/task.h"

namespace sim {

struct Record;

enum class WorkKind { kRun, kRecord, kWait, kReport };

// A callback that a subscribed thread runs.
struct Callback {
  aclrtCallback function = nullptr;
  void* argument = nullptr;
  bool block = false;
  bool done = false;
  bool dropped = false;
  Clock clock;  // of the work before it
  std::condition_variable changed;
};

// An entry of a stream's queue, with everything that checks, log and faults want to know.
struct Work {
  WorkKind kind = WorkKind::kRun;
  Task task;
  std::shared_ptr<Record> record;      // kRecord, kWait
  std::shared_ptr<Callback> callback;  // kReport
  std::shared_ptr<Event> event;        // kWait: whose waiters are counted
  int32_t stream_id = 0;
  bool cancelled = false;         // the stream was aborted while this was at work
  bool started = false;           // from here on it touches memory
  aclError poison = ACL_SUCCESS;  // a check found the task unfit to run: what it answers instead
  std::string poison_text;
  Clock clock;                 // of a task that notifies the host
  std::vector<Touch> touches;  // by access; kept until it is done
  Site site;                   // return addresses at the launch
};

// What a program registered for a stream.
struct Allocator {
  aclrtAllocator object = nullptr;
  aclrtAllocatorAllocFunc allocate = nullptr;
  aclrtAllocatorFreeFunc free = nullptr;
  aclrtAllocatorAllocAdviseFunc allocate_near = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
};

struct Stream : std::enable_shared_from_this<Stream> {
  void* handle = nullptr;
  void* context = nullptr;
  int32_t id = 0;
  int32_t device = 0;
  uint32_t priority = 0;
  uint32_t flags = 0;
  bool is_default = false;

  static constexpr uint64_t kNobodyWaits = ~uint64_t{0};
  WorkQueue queue;
  std::shared_ptr<Work> current;  // with the worker
  uint64_t aborted_before = 0;    // entries with lower numbers do not start any more
  aclError abort_code = ACL_SUCCESS;
  std::condition_variable wake;      // of the worker, when it hangs
  std::condition_variable progress;  // something is done, or the worker ended
  std::atomic<uint64_t> wake_at{
      kNobodyWaits};  // how much must be finished before progress is notified
  bool has_worker = false;
  bool stopping = false;
  std::atomic<bool> hung{false};        // by a fault, until released
  bool holds_unit = false;              // see units.h; the worker's own
  std::shared_ptr<Record> waiting_for;  // what the worker waits for
  std::shared_ptr<Callback> calling;

  aclError error = ACL_SUCCESS;  // of a task, not yet reported
  std::string error_text;
  uint64_t failure_mode = ACL_CONTINUE_ON_FAILURE;
  bool failure_mode_set = false;
  uint32_t overflow_switch = 0;
  uint64_t report_thread = 0;     // subscribed by aclrtSubscribeReport
  uint64_t host_func_thread = 0;  // subscribed by aclrtSubscribeHostFunc

  Allocator allocator;
  std::shared_ptr<Capture> capture;
  size_t lane = 0;             // of the clocks
  Clock clock;                 // after what was issued last
  bool order_unknown = false;  // waits for an event that was recorded later: not checked for races
};

// The functions below want the lock.

std::shared_ptr<Stream> make_stream(Context& context, uint32_t priority, uint32_t flags);
// The stream of a handle, for the calling thread: null is the context's default stream. 107002,
// 107003 (another context), 107017 (destroyed or never made).
aclError find_stream(aclrtStream handle, std::shared_ptr<Stream>& stream);
// With `wait` after everything issued has run; without, drops what has not started.
void destroy_stream(Lock& lock, const std::shared_ptr<Stream>& stream, bool wait);
void wait_for_worker(Lock& lock, Stream& stream);
// Drops what has not started; waiters get `code`.
void abort_stream(Stream& stream, aclError code);

// Not 0: the failure after which the context takes no more work.
aclError check_usable(const Stream& stream);
void start_worker(Stream& stream);
// Appends to the queue.
aclError issue(Stream& stream, std::shared_ptr<Work> work);
// All tasks of a model without events, as one entry (Note [Quick path]).
aclError issue_replay(Stream& stream, std::shared_ptr<const Model> model);

// Waits until everything issued so far is done. Milliseconds; -1: for ever. False: timed out.
bool wait_stream(Lock& lock, Stream& stream, int64_t timeout_ms);
// Reports and clears the stream's error, as a synchronising call does.
aclError take_error(Stream& stream);
aclError synchronize_stream(Lock& lock, Stream& stream, int64_t timeout_ms);
// Of every stream of the device.
aclError synchronize_device(Lock& lock, int32_t device, int64_t timeout_ms);

uint64_t now_ns();

}  // namespace sim
