#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "mindtorch/base/small_vector.h"
#include "mindtorch/runtime/stream.h"
#include "mindtorch/runtime/stream_state.h"

namespace mindtorch::ascend {

// All of a call that phase one looks at: the op, shapes, strides, dtypes, scalars, and which
// tensors are the same memory. Not the addresses.
class PlanKey {
 public:
  void add(uint64_t word) { words_.push_back(word); }
  void add(const void* identity) { add(reinterpret_cast<uint64_t>(identity)); }
  std::span<const uint64_t> words() const { return words_; }
  uint64_t hash() const;

 private:
  SmallVector<uint64_t, 64> words_;
};

// A call that was planned once and can run again with other addresses. Derived classes own CANN's
// descriptions and the executor.
class CachedPlan {
 public:
  CachedPlan() = default;
  virtual ~CachedPlan() = default;
  CachedPlan(const CachedPlan&) = delete;
  CachedPlan& operator=(const CachedPlan&) = delete;

 private:
  friend class PlanCache;
  std::vector<uint64_t> key_;
  uint64_t hash_ = 0;
  CachedPlan* next_ = nullptr;      // in the same bucket
  std::atomic<bool> taken_{false};  // one call at a time
  bool recent_ = false;             // used since the clock's hand came by
};

// The plans of one stream, so that no other stream's work takes its lock. Bounded: the plan that
// was not used for longest, roughly, goes when the stream has done the work queued before.
class PlanCache final : public runtime::BackendStreamData {
 public:
  // The cache of this stream.
  static PlanCache& of(runtime::Stream stream);

  PlanCache(runtime::Stream stream, size_t capacity) : stream_(stream), capacity_(capacity) {}

  bool enabled() const { return capacity_ > 0; }
  size_t size() const;
  void clear();
  void forget_prepared() override { clear(); }

 private:
  friend class PlanLease;
  CachedPlan* take(const PlanKey& key, uint64_t hash);
  void give_back(CachedPlan* plan) noexcept {
    plan->taken_.store(false, std::memory_order_release);
  }
  void drop(CachedPlan* plan) noexcept;
  void insert(std::unique_ptr<CachedPlan> plan, const PlanKey& key, uint64_t hash);

  CachedPlan*& bucket(uint64_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }
  void link(CachedPlan* plan);
  void unlink(CachedPlan* plan) noexcept;
  void grow();
  size_t slot_to_reuse();
  void destroy_later(std::unique_ptr<CachedPlan> plan) noexcept;

  const runtime::Stream stream_;
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::vector<CachedPlan*> buckets_;  // a power of two
  std::vector<std::unique_ptr<CachedPlan>> plans_;
  size_t hand_ = 0;
};

// The plan of one call, for this thread alone: one from the cache, or one it makes when there is
// none or another thread uses it. A plan that is not kept at the end failed, and is no more used.
class PlanLease {
 public:
  PlanLease(PlanCache& cache, const PlanKey& key)
      : cache_(cache), key_(key), hash_(key.hash()), taken_(cache.take(key, hash_)) {}
  ~PlanLease() {
    if (MT_UNLIKELY(taken_ != nullptr)) cache_.drop(taken_);
  }
  PlanLease(const PlanLease&) = delete;
  PlanLease& operator=(const PlanLease&) = delete;

  CachedPlan* get() const { return taken_; }
  // Another plan in place of the one there was.
  void renew(std::unique_ptr<CachedPlan> plan) {
    if (taken_ != nullptr) cache_.drop(std::exchange(taken_, nullptr));
    made_ = std::move(plan);
  }
  // New plans go to the cache.
  bool wanted() const { return cache_.enabled(); }
  void keep() {
    if (taken_ != nullptr) return cache_.give_back(std::exchange(taken_, nullptr));
    cache_.insert(std::move(made_), key_, hash_);
  }

 private:
  PlanCache& cache_;
  const PlanKey& key_;
  const uint64_t hash_;
  CachedPlan* taken_;
  std::unique_ptr<CachedPlan> made_;
};

}  // namespace mindtorch::ascend
