#include "simulator/ascend/core/exception.h"

namespace sim {

void tell_exception(Lock& lock, const Stream& stream, aclError code) {
  const aclrtExceptionInfoCallback callback = runtime().exception_callback;
  if (!callback) return;
  const uint64_t task = stream.queue.finished();
  aclrtExceptionInfo info{static_cast<uint32_t>(task), static_cast<uint32_t>(stream.id), 0,
                          static_cast<uint32_t>(stream.device), static_cast<uint32_t>(code)};
  lock.unlock();
  callback(&info);
  lock.lock();
}

}  // namespace sim
