#include "simulator/ascend/core/stream.h"

#include <chrono>
#include <random>
#include <thread>

#include "simulator/ascend/core/callbacks.h"
#include "simulator/ascend/core/capture.h"
#include "simulator/ascend/core/checks.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/event.h"
#include "simulator/ascend/core/exception.h"
#include "simulator/ascend/core/faults.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/memory.h"
#include "simulator/ascend/core/quick.h"
#include "simulator/ascend/core/settings.h"
#include "simulator/ascend/core/units.h"

namespace sim {

uint64_t now_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(since).count());
}

std::shared_ptr<Stream> make_stream(Context& context, uint32_t priority, uint32_t flags) {
  auto stream = std::make_shared<Stream>();
  stream->context = context.handle;
  stream->device = context.device;
  stream->id = runtime().next_stream_id++;
  stream->priority = std::min(priority, 7U);
  stream->flags = flags;
  stream->lane = take_lane();
  runtime().streams.add(stream);
  ++runtime().devices[static_cast<size_t>(context.device)].streams;
  return stream;
}

aclError find_stream(aclrtStream handle, std::shared_ptr<Stream>& stream) {
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  if (!handle) {
    stream = context->default_stream;
    return ACL_SUCCESS;
  }
  stream = runtime().streams.find(handle);
  if (!stream) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE, runtime().streams.was(handle)
                                                 ? "the stream was destroyed"
                                                 : "this is not a stream");
  }
  if (stream->context == context->handle) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_STREAM_CONTEXT,
              "stream " + std::to_string(stream->id) + " belongs to another context (device " +
                  std::to_string(stream->device) + ") than this thread's (device " +
                  std::to_string(context->device) + ")");
}

// What is dropped must not leave anybody waiting.
static void drop(Work& work, aclError code) {
  if (work.kind == WorkKind::kRun) on_done(work, /*ran=*/false);
  if (work.kind == WorkKind::kRecord) complete_record(*work.record, code);
  if (work.kind == WorkKind::kWait) --work.event->pending_waits;
}

void abort_stream(Stream& stream, aclError code) {
  stream.aborted_before = stream.queue.issued();
  stream.abort_code = code;
  for (const QueueEntry& entry : stream.queue.drop()) {
    if (entry.work) drop(*entry.work, code);
  }
  if (stream.current) stream.current->cancelled = true;
  if (stream.waiting_for) stream.waiting_for->changed.notify_all();
  if (stream.calling) stream.calling->changed.notify_all();
  stream.wake.notify_all();
  stir_units();
  stream.progress.notify_all();
}

// Those who wait for more say so again.
static void tell_progress(Stream& stream) {
  stream.wake_at = Stream::kNobodyWaits;
  stream.progress.notify_all();
}

void wait_for_worker(Lock& lock, Stream& stream) {
  stream.progress.wait(lock, [&] { return !stream.has_worker; });
}

void destroy_stream(Lock& lock, const std::shared_ptr<Stream>& stream, bool wait) {
  Runtime& r = runtime();
  if (!r.streams.find(stream->handle)) return;
  r.streams.remove(stream->handle);
  ++r.generation;
  --r.devices[static_cast<size_t>(stream->device)].streams;
  leave_capture(*stream);
  if (wait) wait_stream(lock, *stream, -1);
  abort_stream(*stream, ACL_ERROR_RT_STREAM_ABORT);
  stream->stopping = true;
  stream->wake.notify_all();
  stir_units();
  stream->queue.stop();
  on_host_sync(stream->clock);
  give_lane(stream->lane);
}

static void fail_task(
    Lock& lock, Stream& stream, const std::string& name, aclError code, const std::string& known) {
  Runtime& r = runtime();
  const std::string reason = take_failure_reason();
  const std::string& text = known.empty() ? reason : known;
  if (stream.error == ACL_SUCCESS) {
    stream.error = code;
    stream.error_text = name + " failed on device " + std::to_string(stream.device) + ", stream " +
                        std::to_string(stream.id) + (text.empty() ? "" : ": " + text);
  }
  if (stream.failure_mode == ACL_STOP_ON_FAILURE) {
    if (const auto context = r.contexts.find(stream.context)) context->failure = code;
    ++r.generation;
  }
  tell_exception(lock, stream, code);
}

static aclError run_task(Lock& lock, Stream& stream, Work& work, std::mt19937_64& random) {
  const TaskFault fault = fault_of_task(work.task.name, stream.id);
  if (fault.hang) stream.hung = true;
  stream.wake.wait(lock, [&] { return !stream.hung || work.cancelled || stream.stopping; });
  const auto context = runtime().contexts.find(stream.context);
  if (work.cancelled || (context && context->failure)) return ACL_SUCCESS;

  const Settings& s = settings();
  uint64_t delay_ns = s.latency_ns;
  if (s.jitter_ns) delay_ns += random() % (s.jitter_ns + 1);
  const double slowness = s.slowness;
  on_start(work);
  if (work.poison) return work.poison;
  if (fault.code) {
    work.poison_text = "a fault was set";
    return fault.code;
  }
  if (work.task.tells_host) on_host_sync(work.clock);
  const bool logged = log_is_on();
  work.started = true;
  lock.unlock();
  if (delay_ns) std::this_thread::sleep_for(std::chrono::nanoseconds(delay_ns));
  const uint64_t start = logged || slowness > 1 ? now_ns() : 0;
  const aclError code = work.task.run ? work.task.run() : ACL_SUCCESS;
  if (slowness > 1) {
    const auto took = static_cast<double>(now_ns() - start);
    std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(took * (slowness - 1)));
  }
  if (logged) log_task(work.task.name, stream.device, stream.id, delay_ns, start, now_ns(), code);
  work.task.run = nullptr;  // what it holds may call back into us when it goes
  lock.lock();
  return code;
}

static void perform(Lock& lock, Stream& stream, Work& work, std::mt19937_64& random) {
  const bool needs_unit = settings().units && work.kind == WorkKind::kRun && !work.task.tells_host;
  if (!needs_unit) give_unit(stream);
  if (work.kind == WorkKind::kRecord) {
    complete_record(*work.record, stream.error);
  } else if (work.kind == WorkKind::kWait) {
    stream.waiting_for = work.record;
    work.record->changed.wait(lock, [&] { return work.record->complete || work.cancelled; });
    stream.waiting_for = nullptr;
    --work.event->pending_waits;
  } else if (work.kind == WorkKind::kReport) {
    stream.calling = work.callback;
    deliver(lock, stream, work);
    stream.calling = nullptr;
  } else {
    const bool may_run = !needs_unit || take_unit(lock, stream, work);
    const aclError code = may_run ? run_task(lock, stream, work, random) : ACL_SUCCESS;
    on_done(work, code == ACL_SUCCESS && !work.cancelled);
    if (code) fail_task(lock, stream, work.task.name, code, work.poison_text);
  }
}

static std::shared_ptr<Work> make_work(std::string name,
                                       std::function<aclError()> run,
                                       int32_t stream_id) {
  auto work = std::make_shared<Work>();
  work->stream_id = stream_id;
  work->task.name = std::move(name);
  work->task.run = std::move(run);
  return work;
}

// What is bare, when it turns out that somebody wants to know about it after all.
static std::vector<std::shared_ptr<Work>> with_books(QueueEntry& entry, int32_t stream_id) {
  std::vector<std::shared_ptr<Work>> works;
  if (entry.work) {
    works.push_back(std::move(entry.work));
  } else if (entry.kernel) {
    const char* const name = entry.kernel->name;
    works.push_back(make_work(
        name,
        [kernel = std::move(entry.kernel), arguments = entry.arguments] {
          return kernel->run(arguments.data());
        },
        stream_id));
  } else {
    for (const Step& step : entry.model->steps) {
      works.push_back(make_work(step.task.name, step.task.run, stream_id));
    }
    entry.model = nullptr;
  }
  return works;
}

static void run_work(const std::shared_ptr<Stream>& stream,
                     QueueEntry& entry,
                     std::mt19937_64& random) {
  std::vector<std::shared_ptr<Work>> works = with_books(entry, stream->id);
  Lock lock(runtime().mutex);
  for (std::shared_ptr<Work>& work : works) {
    stream->current = std::move(work);
    if (entry.number < stream->aborted_before) {
      drop(*stream->current, stream->abort_code);
    } else {
      perform(lock, *stream, *stream->current, random);
    }
  }
  stream->current = nullptr;
  stream->queue.finish();
  if (stream->queue.idle()) give_unit(*stream);
  if (stream->queue.finished() >= stream->wake_at) tell_progress(*stream);
}

static void run_model(Stream& stream, const Model& model) {
  for (const Step& step : model.steps) {
    const aclError code = step.task.run ? step.task.run() : ACL_SUCCESS;
    if (code == ACL_SUCCESS) continue;
    Lock lock(runtime().mutex);
    fail_task(lock, stream, step.task.name, code, "");
    if (stream.failure_mode == ACL_STOP_ON_FAILURE) return;
  }
}

static void run_bare(Stream& stream, QueueEntry& entry) {
  const std::shared_ptr<const Kernel> kernel = std::move(entry.kernel);
  const std::shared_ptr<const Model> model = std::move(entry.model);
  if (stream.holds_unit) {
    const Lock lock(runtime().mutex);
    give_unit(stream);
  }
  if (model) {
    run_model(stream, *model);
  } else if (const aclError code = kernel->run(entry.arguments.data())) {
    Lock lock(runtime().mutex);
    fail_task(lock, stream, kernel->name, code, "");
  }
  stream.queue.finish();
  // A waiter says what it waits for before it looks at what is finished; see WorkQueue::wake.
  if (stream.queue.finished() < stream.wake_at) return;
  const Lock lock(runtime().mutex);
  tell_progress(stream);
}

static uint64_t seed_of(const Stream& stream) {
  const Lock lock(runtime().mutex);
  return settings().seed * 1000003 + static_cast<uint64_t>(stream.id);
}

static void work_loop(const std::shared_ptr<Stream>& stream) {
  std::mt19937_64 random(seed_of(*stream));
  for (QueueEntry entry; stream->queue.take(entry);) {
    if (entry.work || stream->hung || !quick()) {
      run_work(stream, entry, random);
    } else {
      run_bare(*stream, entry);
    }
  }
  const Lock lock(runtime().mutex);
  give_unit(*stream);
  stream->has_worker = false;
  stream->progress.notify_all();
}

void start_worker(Stream& stream) {
  if (stream.has_worker) return;
  stream.has_worker = true;
  std::thread([own = stream.shared_from_this()] { work_loop(own); }).detach();
}

aclError check_usable(const Stream& stream) {
  const auto context = runtime().contexts.find(stream.context);
  if (!context || !context->failure) return ACL_SUCCESS;
  return fail(context->failure, "a stream of this context stopped on a failure");
}

aclError issue(Stream& stream, std::shared_ptr<Work> work) {
  if (const aclError code = check_usable(stream)) return code;
  work->stream_id = stream.id;
  if (work->kind == WorkKind::kRun) on_issue(stream, work);
  if (work->task.tells_host) work->clock = stream.clock;
  start_worker(stream);
  stream.queue.push(std::move(work));
  return ACL_SUCCESS;
}

aclError issue_replay(Stream& stream, std::shared_ptr<const Model> model) {
  if (const aclError code = check_usable(stream)) return code;
  start_worker(stream);
  stream.queue.push(std::move(model));
  return ACL_SUCCESS;
}

bool wait_stream(Lock& lock, Stream& stream, int64_t timeout_ms) {
  const uint64_t target = stream.queue.issued();
  const Clock clock = stream.clock;
  const auto reached = [&] {
    stream.wake_at = std::min(stream.wake_at.load(), target);
    return stream.queue.finished() >= target;
  };
  if (timeout_ms < 0) {
    stream.progress.wait(lock, reached);
  } else if (!stream.progress.wait_for(lock, std::chrono::milliseconds(timeout_ms), reached)) {
    return false;
  }
  on_host_sync(clock);
  if (stream.queue.idle()) stream.order_unknown = false;
  return true;
}

aclError take_error(Stream& stream) {
  if (stream.error == ACL_SUCCESS) return ACL_SUCCESS;
  const aclError code = fail(stream.error, stream.error_text);
  stream.error = ACL_SUCCESS;
  stream.error_text.clear();
  return code;
}

aclError synchronize_stream(Lock& lock, Stream& stream, int64_t timeout_ms) {
  if (stream.capture) return fail_captured(stream);
  if (!wait_stream(lock, stream, timeout_ms)) {
    return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "stream " + std::to_string(stream.id) +
                                                      " is not done after " +
                                                      std::to_string(timeout_ms) + " ms");
  }
  return take_error(stream);
}

aclError synchronize_device(Lock& lock, int32_t device, int64_t timeout_ms) {
  std::vector<std::shared_ptr<Stream>> own;
  for (const auto& [_, stream] : runtime().streams) {
    if (stream->device != device) continue;
    if (stream->capture) return fail_captured(*stream);
    own.push_back(stream);
  }
  const uint64_t deadline =
      now_ns() + static_cast<uint64_t>(std::max<int64_t>(timeout_ms, 0)) * 1000000;
  aclError first = ACL_SUCCESS;
  for (const auto& stream : own) {
    int64_t left = -1;
    if (timeout_ms >= 0) {
      const uint64_t now = now_ns();
      left = now < deadline ? static_cast<int64_t>((deadline - now + 999999) / 1000000) : 0;
    }
    if (!wait_stream(lock, *stream, left)) {
      return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "device " + std::to_string(device) +
                                                        " is not done after " +
                                                        std::to_string(timeout_ms) + " ms");
    }
    const aclError code = take_error(*stream);
    if (!first) first = code;
  }
  return first;
}

}  // namespace sim
