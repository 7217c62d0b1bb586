#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mindtorch/runtime/block.h"
#include "mindtorch/runtime/memory_history.h"
#include "mindtorch/runtime/private_pool.h"

namespace mindtorch::runtime {

struct BlockInfo {
  uint64_t address;
  size_t size;
  size_t requested_size;
  BlockState state;  // kFree, kAllocated or kPending
  std::shared_ptr<const CallContext> context;
};

// One segment, or one mapped range of an expandable segment, with the blocks that tile it.
struct SegmentInfo {
  uint64_t address;
  size_t total_size = 0;
  size_t allocated_size = 0;
  size_t active_size = 0;
  size_t requested_size = 0;  // of active blocks
  driver::StreamHandle stream;
  PoolKind pool;
  PoolId pool_id;
  bool is_expandable;
  std::shared_ptr<const CallContext> context;
  std::vector<BlockInfo> blocks;
};

struct AllocatorState;

// What there is now, by address; only of one pool if given. `trace`, if given, gets the history up
// to exactly this moment.
std::vector<SegmentInfo> take_snapshot(AllocatorState& state,
                                       const PoolId* pool = nullptr,
                                       std::vector<TraceEntry>* trace = nullptr);

}  // namespace mindtorch::runtime
