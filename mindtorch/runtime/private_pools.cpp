// Private pools of the caching allocator, and which allocations go to them.
#include <algorithm>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/caching_allocator.h"
#include "mindtorch/runtime/hooks.h"

namespace mindtorch::runtime {

PrivatePool* CachingAllocator::find_pool(PoolId id) const {
  for (const auto& pool : pools_) {
    if (pool->id == id) return pool.get();
  }
  return nullptr;
}

void CachingAllocator::retain_pool(PoolId id, bool use_on_oom, bool no_split) {
  MT_CHECK(id != PoolId(), ValueError, "(0, 0) is the default memory pool");
  std::lock_guard lock(arenas_mutex_);
  PrivatePool* pool = find_pool(id);
  if (pool == nullptr) {
    pools_.push_back(std::make_unique<PrivatePool>());
    pool = pools_.back().get();
    pool->id = id;
    pool->use_on_oom = use_on_oom;
    pool->no_split = no_split;
  }
  ++pool->use_count;
}

void CachingAllocator::release_pool(PoolId id) {
  std::lock_guard lock(arenas_mutex_);
  PrivatePool* pool = find_pool(id);
  MT_CHECK(pool != nullptr && pool->use_count > 0, RuntimeError, "memory pool (", id.first, ", ",
           id.second, ") is not in use");
  --pool->use_count;
}

int CachingAllocator::pool_use_count(PoolId id) const {
  std::lock_guard lock(arenas_mutex_);
  const PrivatePool* pool = find_pool(id);
  return pool == nullptr ? 0 : pool->use_count;
}

void CachingAllocator::begin_pool_scope(PoolId id) {
  hooks().before_sync(SyncPoint::kSwitchStream);
  begin_scope({nullptr, false, nullptr, std::this_thread::get_id()}, id);
}

void CachingAllocator::begin_capture_scope(PoolId id, driver::StreamHandle stream) {
  begin_scope({nullptr, true, stream, {}}, id);
  captures_.fetch_add(1);
  pending_.pause();
}

void CachingAllocator::begin_scope(Scope scope, PoolId id) {
  retain_pool(id);
  std::lock_guard lock(arenas_mutex_);
  scope.pool = find_pool(id);
  for (const Scope& open : scopes_) {
    if (open.pool == scope.pool) {
      --scope.pool->use_count;
      MT_THROW(RuntimeError, "memory pool (", id.first, ", ", id.second,
               ") is already open for allocation");
    }
  }
  scopes_.push_back(scope);
  set_attention(kScopes, true);
}

void CachingAllocator::end_scope(PoolId id) {
  hooks().before_sync(SyncPoint::kSwitchStream);
  bool capture = false;
  {
    std::lock_guard lock(arenas_mutex_);
    const auto scope = std::find_if(scopes_.begin(), scopes_.end(),
                                    [id](const Scope& open) { return open.pool->id == id; });
    MT_CHECK(scope != scopes_.end(), RuntimeError, "memory pool (", id.first, ", ", id.second,
             ") is not open for allocation");
    capture = scope->capture;
    --scope->pool->use_count;
    scopes_.erase(scope);
    if (scopes_.empty()) set_attention(kScopes, false);
  }
  if (capture) {
    captures_.fetch_sub(1);
    pending_.resume();
  }
}

// The innermost scope that applies decides.
Arena& CachingAllocator::routed_arena(driver::StreamHandle stream) {
  PrivatePool* pool = nullptr;
  {
    const std::thread::id thread = std::this_thread::get_id();
    std::lock_guard lock(arenas_mutex_);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend() && pool == nullptr; ++scope) {
      if (scope->capture ? scope->stream == stream : scope->thread == thread) pool = scope->pool;
    }
  }
  return pool == nullptr ? arena_for(stream) : find_or_add_arena(stream, pool);
}

// Pools nobody holds, without memory in them. Not while somebody walks over arenas: the segments in
// hand there belong to one, and to its stream. The next time will do.
void CachingAllocator::forget_unused_pools() {
  with_all_arenas_locked([this](const auto& arenas) {
    if (arena_lists_.load() > 0) return;
    std::erase_if(pools_, [&](const std::unique_ptr<PrivatePool>& pool) {
      if (pool->use_count > 0) return false;
      for (const auto& arena : arenas) {
        if (arena->owner() == pool.get() && arena->segments() != nullptr) return false;
      }
      for (const auto& arena : arenas) {
        if (arena->owner() != pool.get()) continue;
        arena->reassign(nullptr, &spare_pool_);
        spare_arenas_.push_back(arena.get());
      }
      return true;
    });
  });
}

}  // namespace mindtorch::runtime
