#include "mindtorch/dispatch/plan_store.h"

#include <algorithm>

#include "mindtorch/dispatch/window_plan.h"

namespace mindtorch::dispatch {

PlanStore::PlanStore() = default;
PlanStore::~PlanStore() = default;

const Recording* PlanStore::expected() const {
  return last_ == nullptr ? nullptr : &last_->successor->recording();
}

WindowPlan& PlanStore::use(WindowPlan& plan) {
  if (last_ != nullptr) last_->successor = &plan;
  return *(last_ = &plan);
}

WindowPlan* PlanStore::get_expected(std::span<const uint8_t> visible) {
  return last_->successor->sees(visible) ? &use(*last_->successor) : nullptr;
}

WindowPlan& PlanStore::get(const Recording& recording, std::span<const uint8_t> visible) {
  const uint64_t hash = recording.hash();
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    WindowPlan& plan = *it->second->second;
    if (!plan.sees(visible) || !(plan.recording() == recording)) continue;
    plans_.splice(plans_.begin(), plans_, it->second);
    return use(plan);
  }
  auto plan = std::make_unique<WindowPlan>(recording, visible);
  if (plans_.size() == kCapacity) drop_oldest();
  plans_.emplace_front(hash, std::move(plan));
  by_hash_.emplace(hash, plans_.begin());
  ++made_;
  return use(*plans_.front().second);
}

void PlanStore::drop_oldest() {
  const WindowPlan* const oldest = plans_.back().second.get();
  const auto [first, last] = by_hash_.equal_range(plans_.back().first);
  by_hash_.erase(std::find_if(
      first, last, [&](const auto& entry) { return entry.second->second.get() == oldest; }));
  if (last_ == oldest) last_ = nullptr;
  for (auto& [hash, plan] : plans_) {
    if (plan->successor == oldest) plan->successor = plan.get();
  }
  plans_.pop_back();
}

}  // namespace mindtorch::dispatch
