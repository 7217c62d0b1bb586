#include "mindtorch/runtime/arena_set.h"

#include <utility>

namespace mindtorch::runtime {
namespace {

std::atomic<uint64_t> next_serial{1};

}  // namespace

constinit thread_local ArenaSet::CachedArena ArenaSet::t_cache[ArenaSet::kCacheSize];

ArenaSet::ArenaSet() : serial_(next_serial.fetch_add(1)) {}

Arena& ArenaSet::find_or_add(driver::StreamHandle stream, PrivatePool* owner) {
  {
    std::lock_guard lock(mutex_);
    for (const auto& arena : arenas_) {
      if (arena->stream() == stream && arena->owner() == owner) return *arena;
    }
    if (!unowned_.empty()) {
      Arena& arena = *unowned_.back();
      unowned_.pop_back();
      arena.reassign(stream, owner);
      return arena;
    }
  }
  auto arena = std::make_unique<Arena>(stream, owner, rules_);
  // The new one is locked like the others from here on.
  with_all_locked([&](auto& arenas) MT_UNCHECKED_LOCKS {
    arenas.reserve(arenas.size() + 1);
    arena->lock();
    peaks_.add_arena(arena.get());
    arenas.push_back(std::move(arena));
  });
  return find_or_add(stream, owner);  // another thread may have been first
}

bool ArenaSet::disown(const PrivatePool* owner) {
  bool done = false;
  with_all_locked([&](const auto& arenas) MT_REQUIRES(mutex_) {
    if (selections_.load() > 0) return;
    size_t count = 0;
    for (const auto& arena : arenas) {
      if (arena->owner() != owner) continue;
      arena->is_held();
      if (arena->segments() != nullptr) return;
      ++count;
    }
    unowned_.reserve(unowned_.size() + count);
    for (const auto& arena : arenas) {
      if (arena->owner() != owner) continue;
      arena->reassign(nullptr, &nobody_);
      unowned_.push_back(arena.get());
    }
    done = true;
  });
  return done;
}

void ArenaSet::rebalance_peaks(const Arena* asking) noexcept {
  with_all_locked([&](const auto&) { peaks_.rebalance(asking); });
}

}  // namespace mindtorch::runtime
