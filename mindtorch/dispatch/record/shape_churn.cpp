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
  is_short_ = is_short;
  const size_t end_bytes = is_short ? kLittleBytes : kLargeBytes;
  end_elements_ = static_cast<int64_t>(end_bytes / sizeof(float));
  is_immediate_.store(true, std::memory_order_release);
}

bool ShapeChurn::comes_from_the_same_place() {
  const CallSiteHooks& hooks = call_site_hooks();
  return ++repetitions_ <= kRepetitions &&
         (hooks.capture == nullptr || hooks.capture() == last_site_);
}

}  // namespace mindtorch::dispatch
