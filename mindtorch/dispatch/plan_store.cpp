#include "mindtorch/dispatch/plan_store.h"

#include <algorithm>

#include "mindtorch/dispatch/window_plan.h"

namespace mindtorch::dispatch {

PlanStore::PlanStore() = default;
PlanStore::~PlanStore() = default;

const Recording* PlanStore::expected() const {
  return last_ == nullptr ? nullptr : &last_->successor->recording();
}

WindowPlan& PlanStore::use(Kept& kept) {
  kept.last_use = ++uses_;
  if (last_ != nullptr) last_->successor = kept.plan.get();
  return *(last_ = kept.plan.get());
}

WindowPlan* PlanStore::get_expected(std::span<const uint8_t> visible,
                                    std::span<const ops::PointwiseParams> params) {
  if (!last_->successor->sees(visible) || !last_->successor->takes(params)) return nullptr;
  return &use(*std::ranges::find(plans_, last_->successor,
                                 [](const Kept& kept) { return kept.plan.get(); }));
}

WindowPlan& PlanStore::get(const Recording& recording, std::span<const uint8_t> visible) {
  const uint64_t hash = recording.hash();
  for (Kept& kept : plans_) {
    if (kept.hash == hash && kept.plan->sees(visible) && kept.plan->takes(recording.params) &&
        kept.plan->recording() == recording) {
      return use(kept);
    }
  }
  auto plan = std::make_unique<WindowPlan>(recording, visible);
  if (plans_.size() == kCapacity) drop_oldest();
  ++made_;
  return use(plans_.emplace_back(hash, 0, std::move(plan)));
}

void PlanStore::drop_oldest() {
  const auto oldest = std::ranges::min_element(plans_, {}, &Kept::last_use);
  if (last_ == oldest->plan.get()) last_ = nullptr;
  for (const Kept& kept : plans_) {
    if (kept.plan->successor == oldest->plan.get()) kept.plan->successor = kept.plan.get();
  }
  plans_.erase(oldest);
}

}  // namespace mindtorch::dispatch
