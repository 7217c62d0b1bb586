#include "tests/cpp/support/allocator_inspector.h"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

namespace mindtorch::runtime {
namespace {

struct Recount {
  int64_t value[kMetricCount][kPoolCount + 1] = {};

  void add(Metric metric, PoolKind pool, size_t amount) {
    value[static_cast<int>(metric)][static_cast<int>(pool)] += static_cast<int64_t>(amount);
    value[static_cast<int>(metric)][kAllPools] += static_cast<int64_t>(amount);
  }
};

bool in_index(Arena& arena, const Block* block) {
  // Blocks of one size form a list that starts at what find() gives for exactly that size.
  for (const Block* at = arena.index(block->segment->pool).find(block->size); at != nullptr;
       at = at->list_next) {
    if (at == block) return true;
    if (at->size != block->size) return false;
  }
  return false;
}

}  // namespace

std::string AllocatorInspector::problems() {
  const MemoryStats stats = allocator_.stats();
  std::ostringstream wrong;
  Recount count;
  std::vector<std::pair<const char*, size_t>> ranges;
  int64_t oversize_segments = 0;
  allocator_.state_.arenas.with_all_locked([&](const auto& arenas) {
    for (const auto& arena : arenas) {
      int64_t free_segments = 0;
      for (Segment* segment = arena->segments(); segment != nullptr; segment = segment->next) {
        if (segment->arena != arena.get()) wrong << "a segment in a foreign arena\n";
        ranges.emplace_back(segment->data, segment->size);
        if (!segment->expandable) {
          count.add(Metric::kSegment, segment->pool, 1);
          count.add(Metric::kReservedBytes, segment->pool, segment->size);
          if (segment->oversize) ++oversize_segments;
        }
        const char* at = segment->data;
        const Block* previous = nullptr;
        for (const Block* block = segment->first; block != nullptr; block = block->next) {
          if (block->data != at) wrong << "a gap or overlap between blocks\n";
          if (block->size == 0) wrong << "an empty block\n";
          if (block->previous != previous) wrong << "a broken chain\n";
          if (block->segment != segment) wrong << "a block in a foreign segment\n";
          const bool used =
              block->state == BlockState::kAllocated || block->state == BlockState::kPending;
          if (used) {
            count.add(Metric::kActive, segment->pool, 1);
            count.add(Metric::kActiveBytes, segment->pool, block->size);
            count.add(Metric::kRequestedBytes, segment->pool, block->requested);
          }
          if (block->state == BlockState::kAllocated) {
            count.add(Metric::kAllocation, segment->pool, 1);
            count.add(Metric::kAllocatedBytes, segment->pool, block->size);
            if (block->oversize) count.add(Metric::kOversizeAllocations, segment->pool, 1);
          }
          if (block->state == BlockState::kFree) {
            if (previous != nullptr && previous->state == BlockState::kFree) {
              wrong << "free neighbours that are not merged\n";
            }
            if (!in_index(*arena, block)) wrong << "a free block that cannot be found\n";
            if (!block->is_split() && !segment->expandable) ++free_segments;
            if (block->is_split() && !segment->expandable) {
              count.add(Metric::kInactiveSplit, segment->pool, 1);
              count.add(Metric::kInactiveSplitBytes, segment->pool, block->size);
            }
          }
          if (block->state != BlockState::kPending && block->state != BlockState::kAllocated &&
              !block->streams.empty()) {
            wrong << "a free block with streams\n";
          }
          if (segment->expandable && block->state != BlockState::kUnmapped) {
            count.add(Metric::kReservedBytes, segment->pool, block->size);
          }
          if (block->state == BlockState::kUnmapped && block->next != nullptr &&
              !segment->has_gaps) {
            wrong << "a gap that is not looked for\n";
          }
          at += block->size;
          previous = block;
        }
        if (segment->last != previous) wrong << "the last block is not the last\n";
        if (at != segment->data + segment->size) wrong << "blocks do not fill their segment\n";
      }
      for (PoolKind pool : {PoolKind::kSmall, PoolKind::kLarge}) {
        uint64_t age = UINT64_MAX;
        for (Segment* segment = arena->oldest_free(pool); segment != nullptr;
             segment = segment->free_next) {
          --free_segments;
          if (!segment->is_free()) wrong << "a segment in use among the free ones\n";
          if (arena->age(segment) > age) wrong << "free segments out of order\n";
          age = arena->age(segment);
        }
      }
      if (free_segments != 0) wrong << "a free segment is not among the free ones\n";
    }
  });
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i - 1].first + ranges[i - 1].second > ranges[i].first) wrong << "segments overlap\n";
  }
  for (int metric = 0; metric < kMetricCount; ++metric) {
    for (int pool = 0; pool <= kAllPools; ++pool) {
      const Stat& stat = stats.metrics[static_cast<size_t>(metric)][static_cast<size_t>(pool)];
      const int64_t want = count.value[metric][pool];
      if (stat.current != want) {
        wrong << "metric " << metric << " of pool " << pool << " says " << stat.current
              << ", a recount " << want << "\n";
      }
      if (stat.peak < stat.current) wrong << "metric " << metric << ": peak below current\n";
      if (stat.allocated - stat.freed != stat.current) {
        wrong << "metric " << metric << " of pool " << pool << ": " << stat.allocated << " - "
              << stat.freed << " is not " << stat.current << "\n";
      }
    }
  }
  if (stats.oversize_segments.current != oversize_segments) wrong << "oversize segments\n";
  return wrong.str();
}

size_t AllocatorInspector::cached_blocks() {
  size_t blocks = 0;
  allocator_.state_.arenas.with_all_locked([&](const auto& arenas) {
    for (const auto& arena : arenas) {
      arena->coalesce();
      for (Segment* segment = arena->segments(); segment != nullptr; segment = segment->next) {
        for (const Block* block = segment->first; block != nullptr; block = block->next) {
          blocks += block->state == BlockState::kFree ? 1 : 0;
        }
      }
    }
  });
  return blocks;
}

}  // namespace mindtorch::runtime
