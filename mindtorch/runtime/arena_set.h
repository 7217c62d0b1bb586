#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/runtime/arena.h"
#include "mindtorch/runtime/peak_tracker.h"
#include "mindtorch/runtime/private_pool.h"

namespace mindtorch::runtime {

// All arenas of one allocator: one per stream in the default pool, one per stream and private pool.
// An arena lives as long as the set, and may serve another private pool once its own is gone.
// Thread-safe.
class ArenaSet {
 public:
  ArenaSet();
  ArenaSet(const ArenaSet&) = delete;
  ArenaSet& operator=(const ArenaSet&) = delete;

  // The stream's arena in the default pool. No lock as a rule: each thread remembers a few.
  Arena& of_stream(driver::StreamHandle stream) {
    const size_t slot = ((reinterpret_cast<uintptr_t>(stream) >> 4) ^ serial_) % kCacheSize;
    CachedArena& cached = t_cache[slot];
    if (MT_UNLIKELY(cached.serial != serial_ || cached.stream != stream)) {
      cached = {serial_, stream, &find_or_add(stream, nullptr)};
    }
    return *cached.arena;
  }
  // `owner` null: of the default pool.
  [[gnu::noinline]] Arena& find_or_add(driver::StreamHandle stream, PrivatePool* owner);

  // Calls `function` with the list of arenas, all of them locked: in the order of the list, which
  // only grows at its end, so that no two threads can wait for each other.
  template <class Function>
  void with_all_locked(Function function);

  // The arenas for which `choose` is true, without those that have no owner for now. While a
  // selection lives no pool is forgotten, so that an arena stays with its stream and pool.
  class Selection;
  template <class Choose>
  Selection select(Choose choose);

  // Frees the arenas of a pool for others. False, and nothing changes: one of them holds memory, or
  // a selection lives.
  bool disown(const PrivatePool* owner);

  // Needs all arenas locked, or no arena in use by another thread.
  void set_rules(const SplitRules& rules) noexcept { rules_ = rules; }
  // Needs all arenas locked.
  PeakTracker& peaks() noexcept { return peaks_; }

 private:
  friend class ArenaLock;

  // The arenas a thread used last.
  struct CachedArena {
    uint64_t serial = 0;
    driver::StreamHandle stream = nullptr;
    Arena* arena = nullptr;
  };
  static constexpr size_t kCacheSize = 8;
  static constinit thread_local CachedArena t_cache[kCacheSize]
      __attribute__((tls_model("initial-exec")));

  [[gnu::noinline]] void rebalance_peaks(const Arena* asking) noexcept;

  const uint64_t serial_;  // identifies the set in the threads' caches
  SplitRules rules_;
  PeakTracker peaks_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Arena>> arenas_ MT_GUARDED_BY(mutex_);
  std::vector<Arena*> unowned_ MT_GUARDED_BY(mutex_);
  PrivatePool nobody_;              // the owner of the unowned
  std::atomic<int> selections_{0};  // rises under the mutex
};

// Holds an arena's lock, and sees that the peaks are true when it is given back. The analysis takes
// arena_ for another arena than the one that the constructor was given.
class MT_LOCK ArenaLock {
 public:
  ArenaLock(ArenaSet& arenas, Arena& arena) noexcept MT_ACQUIRE(arena)
      : arenas_(arenas), arena_(arena) {
    arena.lock();
  }
  ~ArenaLock() MT_RELEASE() MT_UNCHECKED_LOCKS {
    bool rebalance = false;
    if (MT_UNLIKELY(arena_.above_peak())) {
      if (arenas_.peaks_.single_arena()) {
        arena_.raise_peak();
      } else {
        rebalance = true;
      }
    }
    arena_.unlock();
    if (MT_UNLIKELY(rebalance)) arenas_.rebalance_peaks(&arena_);
  }
  ArenaLock(const ArenaLock&) = delete;
  ArenaLock& operator=(const ArenaLock&) = delete;

 private:
  ArenaSet& arenas_;
  Arena& arena_;
};

class ArenaSet::Selection {
 public:
  ~Selection() { arenas_.selections_.fetch_sub(1); }
  Selection(const Selection&) = delete;
  Selection& operator=(const Selection&) = delete;

  auto begin() const { return chosen_.begin(); }
  auto end() const { return chosen_.end(); }

 private:
  friend class ArenaSet;
  template <class Choose>
  Selection(ArenaSet& arenas, Choose choose) : arenas_(arenas) {
    std::lock_guard lock(arenas.mutex_);
    for (const auto& arena : arenas.arenas_) {
      if (arena->owner() != &arenas.nobody_ && choose(*arena)) chosen_.push_back(arena.get());
    }
    arenas.selections_.fetch_add(1);
  }

  ArenaSet& arenas_;
  std::vector<Arena*> chosen_;
};

template <class Choose>
ArenaSet::Selection ArenaSet::select(Choose choose) {
  return Selection(*this, choose);
}

template <class Function>
void ArenaSet::with_all_locked(Function function) MT_UNCHECKED_LOCKS {
  std::lock_guard list_lock(mutex_);
  struct Unlock {
    std::vector<std::unique_ptr<Arena>>& arenas;
    ~Unlock() {
      for (auto arena = arenas.rbegin(); arena != arenas.rend(); ++arena) (*arena)->unlock();
    }
  };
  for (const auto& arena : arenas_) arena->lock();
  const Unlock unlock{arenas_};
  function(arenas_);
}

}  // namespace mindtorch::runtime
