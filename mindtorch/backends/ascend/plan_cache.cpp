#include "mindtorch/backends/ascend/plan_cache.h"

#include <algorithm>
#include <utility>

#include "mindtorch/backends/ascend/options.h"

namespace mindtorch::ascend {
namespace {

uint64_t fold(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

size_t capacity_from_environment() {
  static const size_t capacity = options::kPlanCache.get();
  return capacity;
}

}  // namespace

uint64_t PlanKey::hash() const {
  constexpr uint64_t kA = 0x9e3779b97f4a7c15, kB = 0xd1b54a32d192ed03;
  uint64_t hash = words_.size();
  size_t i = 0;
  for (; i + 1 < words_.size(); i += 2) hash = fold(words_[i] ^ hash ^ kA, words_[i + 1] ^ kB);
  if (i < words_.size()) hash = fold(words_[i] ^ hash ^ kA, kB);
  return hash;
}

PlanCache& PlanCache::of(runtime::Stream stream) {
  runtime::StreamState& state = stream.state();
  if (auto* const made = static_cast<PlanCache*>(state.backend_data())) return *made;
  return static_cast<PlanCache&>(
      state.set_backend_data(std::make_unique<PlanCache>(stream, capacity_from_environment())));
}

CachedPlan* PlanCache::take(const PlanKey& key, uint64_t hash) {
  const std::span<const uint64_t> words = key.words();
  const std::scoped_lock lock(mutex_);
  if (buckets_.empty()) return nullptr;
  for (CachedPlan* plan = bucket(hash); plan != nullptr; plan = plan->next_) {
    if (plan->hash_ != hash ||
        !std::equal(words.begin(), words.end(), plan->key_.begin(), plan->key_.end())) {
      continue;
    }
    if (plan->taken_.load(std::memory_order_acquire)) continue;
    plan->taken_.store(true, std::memory_order_relaxed);
    plan->recent_ = true;
    return plan;
  }
  return nullptr;
}

void PlanCache::insert(std::unique_ptr<CachedPlan> plan, const PlanKey& key, uint64_t hash) {
  plan->key_.assign(key.words().begin(), key.words().end());
  plan->hash_ = hash;
  std::unique_ptr<CachedPlan> replaced;
  {
    const std::scoped_lock lock(mutex_);
    if (plans_.size() < capacity_) {
      if (plans_.size() >= buckets_.size()) grow();
      plans_.reserve(plans_.size() + 1);
      link(plan.get());
      plans_.push_back(std::move(plan));
    } else if (const size_t slot = slot_to_reuse(); slot < plans_.size()) {
      unlink(plans_[slot].get());
      link(plan.get());
      replaced = std::exchange(plans_[slot], std::move(plan));
    } else {
      replaced = std::move(plan);  // every plan is in use at this moment
    }
  }
  destroy_later(std::move(replaced));
}

void PlanCache::drop(CachedPlan* plan) noexcept {
  std::unique_ptr<CachedPlan> dropped;
  {
    const std::scoped_lock lock(mutex_);
    unlink(plan);
    const auto found = std::find_if(plans_.begin(), plans_.end(),
                                    [&](const auto& each) { return each.get() == plan; });
    dropped = std::move(*found);
    *found = std::move(plans_.back());
    plans_.pop_back();
  }
  destroy_later(std::move(dropped));
}

size_t PlanCache::size() const {
  const std::scoped_lock lock(mutex_);
  return plans_.size();
}

void PlanCache::clear() {
  std::vector<std::unique_ptr<CachedPlan>> cleared;
  {
    const std::scoped_lock lock(mutex_);
    const auto idle = std::partition(plans_.begin(), plans_.end(), [](const auto& plan) {
      return plan->taken_.load(std::memory_order_acquire);
    });
    for (auto each = idle; each != plans_.end(); ++each) {
      unlink(each->get());
      cleared.push_back(std::move(*each));
    }
    plans_.erase(idle, plans_.end());
    hand_ = 0;
  }
  for (auto& plan : cleared) destroy_later(std::move(plan));
}

void PlanCache::link(CachedPlan* plan) {
  CachedPlan*& first = bucket(plan->hash_);
  plan->next_ = first;
  first = plan;
}

void PlanCache::unlink(CachedPlan* plan) noexcept {
  CachedPlan** place = &bucket(plan->hash_);
  while (*place != plan) place = &(*place)->next_;
  *place = plan->next_;
}

void PlanCache::grow() {
  buckets_.assign(std::max<size_t>(64, buckets_.size() * 2), nullptr);
  for (const auto& plan : plans_) link(plan.get());
}

// The clock: a plan used since the hand came by gets another round.
size_t PlanCache::slot_to_reuse() {
  for (size_t steps = 0; steps < 2 * plans_.size(); ++steps) {
    hand_ = (hand_ + 1) % plans_.size();
    CachedPlan& plan = *plans_[hand_];
    if (plan.taken_.load(std::memory_order_acquire)) continue;
    if (!std::exchange(plan.recent_, false)) return hand_;
  }
  return plans_.size();
}

// Kernels of the plan may still be queued.
void PlanCache::destroy_later(std::unique_ptr<CachedPlan> plan) noexcept {
  if (plan == nullptr) return;
  stream_.defer([](void* context) { delete static_cast<CachedPlan*>(context); }, plan.release());
}

}  // namespace mindtorch::ascend
