#pragma once

#include <mutex>
#include <vector>

#include "mindtorch/base/thread_safety.h"
#include "mindtorch/dispatch/record/op_queue.h"

namespace mindtorch::dispatch {

// All queues of the process.
class OpQueues {
 public:
  static OpQueues& instance();

  // A queue for an owner, until OpQueue::detach(): the one this thread had last where it is free,
  // since its plans fit.
  OpQueue& attach(OpQueue::Owner& owner);
  // Flushes every queue but one. True: something has run.
  bool flush_all(FlushReason reason, const OpQueue* but, bool wait) noexcept;

 private:
  std::vector<OpQueue*> all();

  std::mutex mutex_;
  std::vector<OpQueue*> queues_ MT_GUARDED_BY(mutex_);  // never freed
};

}  // namespace mindtorch::dispatch
