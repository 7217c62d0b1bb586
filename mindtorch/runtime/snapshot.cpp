#include "mindtorch/runtime/snapshot.h"

#include <algorithm>

#include "mindtorch/runtime/allocator_state.h"

namespace mindtorch::runtime {
namespace {

void append(SegmentInfo& info, const Block& block) {
  info.total_size += block.size;
  if (block.state == BlockState::kAllocated) info.allocated_size += block.size;
  if (block.state == BlockState::kAllocated || block.state == BlockState::kPending) {
    info.active_size += block.size;
    info.requested_size += block.requested;
  }
  // A block whose pages are being mapped is not allocated yet.
  const BlockState state = block.state == BlockState::kMapping ? BlockState::kFree : block.state;
  info.blocks.push_back(
      {reinterpret_cast<uintptr_t>(block.data), block.size, block.requested, state, block.context});
}

}  // namespace

std::vector<SegmentInfo> take_snapshot(AllocatorState& state,
                                       const PoolId* pool,
                                       std::vector<TraceEntry>* trace) {
  MemoryHistory& history = state.history;
  std::vector<SegmentInfo> segments;
  state.arenas.with_all_locked([&](const auto& arenas) {
    for (const auto& arena : arenas) {
      const PoolId id = arena->owner() == nullptr ? PoolId() : arena->owner()->id;
      if (pool != nullptr && *pool != id) continue;
      arena->is_held();
      arena->coalesce();
      for (const Segment* segment = arena->segments(); segment != nullptr;
           segment = segment->next) {
        bool open = false;
        for (const Block* block = segment->first; block != nullptr; block = block->next) {
          if (block->state == BlockState::kUnmapped) {
            open = false;
            continue;
          }
          if (!open) {
            SegmentInfo info{};
            info.address = reinterpret_cast<uintptr_t>(block->data);
            info.stream = arena->stream();
            info.pool = segment->pool;
            info.pool_id = id;
            info.is_expandable = segment->expandable;
            info.context = segment->context;
            segments.push_back(std::move(info));
            open = true;
          }
          append(segments.back(), *block);
        }
      }
    }
    state.arenas.peaks().rebalance();
    if (history.enabled()) {
      TraceEntry entry{};
      entry.action = TraceAction::kSnapshot;
      for (const SegmentInfo& info : segments) entry.size += info.active_size;
      history.record(std::move(entry));
    }
    if (trace != nullptr) *trace = history.entries();
  });
  std::sort(segments.begin(), segments.end(),
            [](const SegmentInfo& a, const SegmentInfo& b) { return a.address < b.address; });
  return segments;
}

}  // namespace mindtorch::runtime
