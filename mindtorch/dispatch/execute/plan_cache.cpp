#include "mindtorch/dispatch/execute/plan_cache.h"

#include <algorithm>

namespace mindtorch::dispatch {

PlanRunner& PlanCache::use(PlanRunner& runner) {
  ++uses_;
  was_recent_ = runner.last_use != 0 && uses_ - runner.last_use <= kFewTraces;
  runner.last_use = uses_;
  if (last_ != nullptr) last_->successor = &runner;
  return *(last_ = &runner);
}

PlanRunner* PlanCache::find_predicted(std::span<const uint8_t> visible, const Trace& recorded) {
  PlanRunner* const runner = last_->successor;
  if (!runner->has_visible(visible) || !runner->has_params(recorded.params, recorded.numbers)) {
    return nullptr;
  }
  return &use(*runner);
}

PlanRunner& PlanCache::get(const Trace& trace, std::span<const uint8_t> visible) {
  const uint64_t hash = trace.hash();
  std::vector<uint8_t> varying(trace.ops.size());
  size_t others = 0;
  for (Entry& entry : entries_) {
    if (entry.hash != hash || !entry.runner->has_visible(visible) ||
        entry.runner->trace() != trace) {
      continue;
    }
    if (entry.runner->has_params(trace.params, trace.numbers)) return use(*entry.runner);
    entry.runner->mark_other_params(trace, varying);
    ++others;
  }
  const bool are_fixed = others < kFewParams;
  auto runner = std::make_unique<PlanRunner>(trace, visible,
                                             are_fixed ? std::span<const uint8_t>() : varying);
  if (entries_.size() == kCapacity) evict();
  ++made_;
  return use(*entries_.emplace_back(hash, std::move(runner)).runner);
}

// The one not used for longest.
void PlanCache::evict() {
  const auto oldest = std::ranges::min_element(
      entries_, {}, [](const Entry& entry) { return entry.runner->last_use; });
  if (last_ == oldest->runner.get()) last_ = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.runner->successor == oldest->runner.get()) {
      entry.runner->successor = entry.runner.get();
    }
  }
  entries_.erase(oldest);
}

}  // namespace mindtorch::dispatch
