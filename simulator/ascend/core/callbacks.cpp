#include "simulator/ascend/core/callbacks.h"

#include <pthread.h>

#include <chrono>
#include <deque>
#include <map>

#include "simulator/ascend/core/checks.h"
#include "simulator/ascend/core/errors.h"

namespace sim {

namespace {
struct Inbox {
  int subscriptions = 0;
  std::deque<std::shared_ptr<Callback>> waiting;
  std::condition_variable arrived;
};
using Inboxes = std::map<uint64_t, std::shared_ptr<Inbox>>;
}  // namespace

static Inboxes& inboxes(ReportKind kind) {
  static auto* all = new Inboxes[2];
  return all[kind == ReportKind::kCallback ? 0 : 1];
}

static uint64_t& thread_of(ReportKind kind, Stream& stream) {
  return kind == ReportKind::kCallback ? stream.report_thread : stream.host_func_thread;
}

aclError subscribe(ReportKind kind, uint64_t thread, Stream& stream) {
  if (thread_of(kind, stream)) {
    return fail(ACL_ERROR_RT_STREAM_SUBSCRIBE,
                "stream " + std::to_string(stream.id) + " is subscribed already");
  }
  thread_of(kind, stream) = thread;
  std::shared_ptr<Inbox>& inbox = inboxes(kind)[thread];
  if (!inbox) inbox = std::make_shared<Inbox>();
  ++inbox->subscriptions;
  inbox->arrived.notify_all();
  return ACL_SUCCESS;
}

static void finish(Callback& callback, bool dropped) {
  callback.done = true;
  callback.dropped = dropped;
  callback.changed.notify_all();
}

aclError unsubscribe(ReportKind kind, uint64_t thread, Stream& stream) {
  Inboxes& all = inboxes(kind);
  const auto found = all.find(thread);
  if (found == all.end()) {
    return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "this thread is subscribed to no stream");
  }
  if (thread_of(kind, stream) != thread) {
    return fail(ACL_ERROR_RT_STREAM_SUBSCRIBE,
                "the thread is not subscribed to stream " + std::to_string(stream.id));
  }
  thread_of(kind, stream) = 0;
  const std::shared_ptr<Inbox> inbox = found->second;
  if (--inbox->subscriptions == 0) {
    for (const auto& callback : inbox->waiting) finish(*callback, /*dropped=*/true);
    all.erase(found);
    inbox->arrived.notify_all();
  }
  return ACL_SUCCESS;
}

aclError process_report(Lock& lock, ReportKind kind, int32_t timeout_ms) {
  Inboxes& all = inboxes(kind);
  const auto found = all.find(static_cast<uint64_t>(pthread_self()));
  if (found == all.end()) {
    return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "this thread is subscribed to no stream");
  }
  const std::shared_ptr<Inbox> inbox = found->second;
  const auto ready = [&] { return !inbox->waiting.empty() || inbox->subscriptions == 0; };
  if (timeout_ms < 0) {
    inbox->arrived.wait(lock, ready);
  } else if (!inbox->arrived.wait_for(lock, std::chrono::milliseconds(timeout_ms), ready)) {
    return fail(ACL_ERROR_RT_REPORT_TIMEOUT, "no callback came in time");
  }
  if (inbox->subscriptions == 0) {
    return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "the thread's last subscription ended");
  }
  for (size_t left = inbox->waiting.size(); left > 0 && !inbox->waiting.empty(); --left) {
    const std::shared_ptr<Callback> callback = inbox->waiting.front();
    inbox->waiting.pop_front();
    on_host_sync(callback->clock);
    lock.unlock();
    callback->function(callback->argument);
    lock.lock();
    finish(*callback, /*dropped=*/false);
  }
  return ACL_SUCCESS;
}

void deliver(Lock& lock, Stream& stream, Work& work) {
  Callback& callback = *work.callback;
  const ReportKind kind = work.task.name == "aclrtLaunchCallback" && stream.report_thread
                              ? ReportKind::kCallback
                              : ReportKind::kHostFunc;
  const auto found = inboxes(kind).find(thread_of(kind, stream));
  if (found == inboxes(kind).end()) return;
  found->second->waiting.push_back(work.callback);
  found->second->arrived.notify_all();
  if (callback.block) {
    callback.changed.wait(lock, [&] { return callback.done || work.cancelled; });
  }
}

}  // namespace sim
