#pragma once

#include "simulator/ascend/core/stream.h"

namespace sim {

enum class ReportKind { kCallback, kHostFunc };  // aclrtSubscribeReport, aclrtSubscribeHostFunc

// The functions below want the lock.

aclError subscribe(ReportKind kind, uint64_t thread, Stream& stream);
aclError unsubscribe(ReportKind kind, uint64_t thread, Stream& stream);
// Runs the callbacks that came for the calling thread, waiting for the first.
aclError process_report(Lock& lock, ReportKind kind, int32_t timeout_ms);
// On the stream's thread: hands a callback to the subscribed thread.
void deliver(Lock& lock, Stream& stream, Work& work);

}  // namespace sim
