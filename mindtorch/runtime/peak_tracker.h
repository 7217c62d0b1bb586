#pragma once

#include <cstdint>
#include <vector>

#include "mindtorch/runtime/arena.h"
#include "mindtorch/runtime/memory_stats.h"

namespace mindtorch::runtime {

// The peaks of sums over all arenas, see Note [Exact peaks without a shared counter]. Every
// function but single_arena() needs all arenas locked.
class PeakTracker {
 public:
  void add_arena(Arena* arena);
  // Makes the peaks true and shares out the room below them: every arena gets half of what is left,
  // `asking` first, then those with the most searches since the last time; the last that was
  // searched gets all of it, and those that nobody used none.
  void rebalance(const Arena* asking = nullptr) noexcept;
  // The peaks start again from the current values.
  void reset() noexcept;

  int64_t peak(int pool, int lane) const noexcept { return peak_[pool][lane]; }
  // The only arena's allowance is the peak itself. Changes only with all arenas locked: one lock is
  // enough to read it.
  bool single_arena() const noexcept { return single_arena_; }

 private:
  std::vector<Arena*> order_;  // of the last rebalance
  bool single_arena_ = false;
  StatPairs peak_[kPoolCount + 1];
};

}  // namespace mindtorch::runtime
