#include "mindtorch/dispatch/record/op_queues.h"

namespace mindtorch::dispatch {
namespace {

constinit thread_local OpQueue* t_last __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

OpQueues& OpQueues::instance() {
  static auto* const queues = new OpQueues;
  return *queues;
}

OpQueue& OpQueues::attach(OpQueue::Owner& owner) {
  if (MT_LIKELY(t_last != nullptr && t_last->try_attach(owner))) return *t_last;
  const std::scoped_lock lock(mutex_);
  for (OpQueue* const queue : queues_) {
    if (!queue->try_attach(owner)) continue;
    queue->churn().forget();  // it saw another thread's program
    return *(t_last = queue);
  }
  t_last = queues_.emplace_back(new OpQueue);
  t_last->try_attach(owner);
  return *t_last;
}

std::vector<OpQueue*> OpQueues::all() {
  const std::scoped_lock lock(mutex_);
  return queues_;
}

bool OpQueues::flush_all(FlushReason reason, const OpQueue* but, bool wait) noexcept {
  bool any = false;
  for (OpQueue* const queue : all()) {
    if (queue != but) any |= queue->flush(reason, nullptr, wait).has_run;
  }
  return any;
}

}  // namespace mindtorch::dispatch
