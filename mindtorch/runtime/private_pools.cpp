#include "mindtorch/runtime/private_pools.h"

#include <algorithm>

#include "mindtorch/base/error.h"

namespace mindtorch::runtime {

PrivatePool* PrivatePools::find(PoolId id) const {
  for (const auto& pool : pools_) {
    if (pool->id == id) return pool.get();
  }
  return nullptr;
}

void PrivatePools::retain(PoolId id, bool use_on_oom, bool no_split) {
  std::lock_guard lock(mutex_);
  retain_locked(id, use_on_oom, no_split);
}

PrivatePool& PrivatePools::retain_locked(PoolId id, bool use_on_oom, bool no_split) {
  MT_CHECK(id != PoolId(), ValueError, "(0, 0) is the default memory pool");
  PrivatePool* pool = find(id);
  if (pool == nullptr) {
    pools_.push_back(std::make_unique<PrivatePool>());
    pool = pools_.back().get();
    pool->id = id;
    pool->use_on_oom = use_on_oom;
    pool->no_split = no_split;
  }
  ++pool->use_count;
  return *pool;
}

void PrivatePools::release(PoolId id) {
  std::lock_guard lock(mutex_);
  PrivatePool* pool = find(id);
  MT_CHECK(pool != nullptr && pool->use_count > 0, RuntimeError, "memory pool (", id.first, ", ",
           id.second, ") is not in use");
  --pool->use_count;
}

int PrivatePools::use_count(PoolId id) const {
  std::lock_guard lock(mutex_);
  const PrivatePool* pool = find(id);
  return pool == nullptr ? 0 : pool->use_count.load();
}

void PrivatePools::open_for_thread(PoolId id) {
  open({nullptr, false, nullptr, std::this_thread::get_id()}, id);
}

void PrivatePools::open_for_capture(PoolId id, driver::StreamHandle stream) {
  open({nullptr, true, stream, {}}, id);
}

void PrivatePools::open(Scope scope, PoolId id) {
  std::lock_guard lock(mutex_);
  scope.pool = &retain_locked(id, false, false);
  for (const Scope& open : scopes_) {
    if (open.pool == scope.pool) {
      --scope.pool->use_count;
      MT_THROW(RuntimeError, "memory pool (", id.first, ", ", id.second,
               ") is already open for allocation");
    }
  }
  scopes_.push_back(scope);
  flags_.set(SlowPathFlags::kPoolScopes, true);
  if (scope.capture) captures_.fetch_add(1);
}

bool PrivatePools::close(PoolId id) {
  std::lock_guard lock(mutex_);
  const auto scope = std::find_if(scopes_.begin(), scopes_.end(),
                                  [id](const Scope& open) { return open.pool->id == id; });
  MT_CHECK(scope != scopes_.end(), RuntimeError, "memory pool (", id.first, ", ", id.second,
           ") is not open for allocation");
  const bool capture = scope->capture;
  --scope->pool->use_count;
  scopes_.erase(scope);
  if (scopes_.empty()) flags_.set(SlowPathFlags::kPoolScopes, false);
  if (capture) captures_.fetch_sub(1);
  return capture;
}

Arena& PrivatePools::route(driver::StreamHandle stream) {
  PrivatePool* pool = nullptr;
  {
    const std::thread::id thread = std::this_thread::get_id();
    std::lock_guard lock(mutex_);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend() && pool == nullptr; ++scope) {
      if (scope->capture ? scope->stream == stream : scope->thread == thread) pool = scope->pool;
    }
  }
  return pool == nullptr ? arenas_.of_stream(stream) : arenas_.find_or_add(stream, pool);
}

void PrivatePools::forget_unused() {
  std::lock_guard lock(mutex_);
  std::erase_if(pools_, [this](const std::unique_ptr<PrivatePool>& pool) {
    return pool->use_count == 0 && arenas_.disown(pool.get());
  });
}

}  // namespace mindtorch::runtime
