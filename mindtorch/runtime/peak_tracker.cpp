#include "mindtorch/runtime/peak_tracker.h"

#include <algorithm>

namespace mindtorch::runtime {
namespace {

int64_t current(Arena& arena, int pool, int lane) {
  const ArenaStats& stats = arena.stats();
  return pool == kAllPools ? stats.current[0][lane] + stats.current[1][lane]
                           : stats.current[pool][lane];
}

}  // namespace

void PeakTracker::add_arena(Arena* arena) {
  rebalance();  // while a single arena's allowance still is the peak
  order_.push_back(arena);
  single_arena_ = order_.size() == 1;
  if (!single_arena_) rebalance();
}

void PeakTracker::rebalance(const Arena* asking) noexcept {
  if (order_.empty()) return;
  std::sort(order_.begin(), order_.end(), [asking](const Arena* a, const Arena* b) {
    if ((a == asking) != (b == asking)) return a == asking;
    return a->searches_since_rebalance() > b->searches_since_rebalance();
  });
  const Arena* last = order_.front();
  for (const Arena* arena : order_) {
    if (arena->searches_since_rebalance() != 0) last = arena;
  }
  for (int lane = 0; lane < kLaneCount; ++lane) {
    for (int pool = 0; pool <= kAllPools; ++pool) {
      int64_t sum = 0;
      for (Arena* arena : order_) sum += current(*arena, pool, lane);
      int64_t peak = std::max(peak_[pool][lane], sum);
      if (single_arena_) peak = std::max(peak, order_[0]->stats().high[pool][lane]);
      peak_[pool].set(lane, peak);
      int64_t room = peak - sum;
      for (Arena* arena : order_) {
        const int64_t share = arena == last ? room : room - room / 2;
        arena->stats().high[pool].set(lane, current(*arena, pool, lane) + share);
        room -= share;
      }
    }
  }
  for (Arena* arena : order_) arena->mark_rebalanced();
}

void PeakTracker::reset() noexcept {
  for (Arena* arena : order_) {
    for (StatPairs& high : arena->stats().high) high = StatPairs();
  }
  for (StatPairs& peak : peak_) peak = StatPairs();
  rebalance();
}

}  // namespace mindtorch::runtime
