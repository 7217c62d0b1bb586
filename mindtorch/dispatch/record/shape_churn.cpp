#include "mindtorch/dispatch/record/shape_churn.h"

#include <algorithm>

namespace mindtorch::dispatch {

void ShapeChurn::count(const Trace& trace, CallSite site, bool is_new, size_t result_bytes) {
  const bool is_short =
      trace.ops.size() <= kFewOps && result_bytes < kLittleBytes &&
      std::ranges::all_of(trace.ops, [](const OpRecord& op) { return op.device.is_host(); });
  const bool is_slow = is_short || (is_new && result_bytes < kLargeBytes);
  const uint64_t hash = is_slow ? trace.hash_of_ops() : 0;
  const bool repeats = hash != 0 && hash == last_hash_ && site == last_site_;
  count_ = repeats ? count_ + 1 : 0;
  last_hash_ = hash;
  last_site_ = site;
  if (count_ < (is_new ? kTraces : kShortTraces)) return;
  count_ = 0;
  last_hash_ = 0;
  ops_.clear();
  for (const OpRecord& op : trace.ops) ops_.push_back(op.op);
  next_ = 0;
  repetitions_ = 0;
  is_immediate_.store(true, std::memory_order_release);
}

bool ShapeChurn::continues_with(const ops::Op& op) {
  const CallSiteHooks& hooks = call_site_hooks();
  const bool is_first = next_ == 0;
  if (ops_[next_] != &op || (is_first && ++repetitions_ > kRepetitions) ||
      (is_first && hooks.capture != nullptr && !(hooks.capture() == last_site_))) {
    end();
    return false;
  }
  if (++next_ == ops_.size()) next_ = 0;
  return true;
}

}  // namespace mindtorch::dispatch
