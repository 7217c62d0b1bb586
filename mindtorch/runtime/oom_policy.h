#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <shared_mutex>

#include "mindtorch/runtime/allocator_state.h"
#include "mindtorch/runtime/device_segments.h"
#include "mindtorch/runtime/expandable_segments.h"
#include "mindtorch/runtime/pending_frees.h"
#include "mindtorch/runtime/private_pools.h"

namespace mindtorch::runtime {

// What the owner of an allocator does itself.
struct AllocatorCallbacks {
  std::function<void()> before_growth;  // before the driver is asked for memory; may throw
  std::function<void()> wait_device;    // when memory has run out; may release blocks
  // Held while streams are asked and waited for: a stream that is captured allows neither.
  std::function<std::shared_lock<std::shared_mutex>()> keep_captures_out;
};

// What happens when no cached block fits: a list of steps, tried in order until one has a block;
// the list is at the top of oom_policy.cpp. Thread-safe; no lock is held while a hook is called,
// and none but keep_captures_out while the driver is.
class OomPolicy {
 public:
  OomPolicy(AllocatorState& state,
            DeviceSegments& segments,
            ExpandableSegments& expandable_segments,
            PrivatePools& pools,
            PendingFrees& pending)
      : state_(state),
        segments_(segments),
        expandable_segments_(expandable_segments),
        pools_(pools),
        pending_(pending) {}
  OomPolicy(const OomPolicy&) = delete;
  OomPolicy& operator=(const OomPolicy&) = delete;

  void set_callbacks(AllocatorCallbacks callbacks) { callbacks_ = std::move(callbacks); }

  // Throws OutOfMemoryError, or what the driver throws.
  Block* allocate(AllocationRequest request);

  // Above garbage_collection_threshold: frees cached segments, oldest first.
  void collect_garbage();
  // Gives back every unused segment and page; waits for the streams they belong to. Nothing while
  // the user captures a graph.
  void release_cache();

 private:
  struct Attempt {
    AllocationRequest& request;
    int64_t blocks_freed = 0;  // by any thread, when the round began
    bool another_round = true;
  };
  enum class When : uint8_t { kAlways, kOutsideCapture };
  struct Step {
    Block* (OomPolicy::*run)(Attempt&);
    When when;
  };
  static const Step kGrowth[];
  static const Step kReclaimRound[];
  static constexpr int kMaxReclaimRounds = 4;

  Block* collect_garbage(Attempt&);
  Block* release_outgrown_segments(Attempt&);
  Block* grow(Attempt&);
  Block* count_oom(Attempt&);
  Block* take_from_pools_for_oom(Attempt&);
  Block* release_oversize_segments_and_grow(Attempt&);
  Block* wait_for_device_and_search(Attempt&);
  Block* release_cache_and_grow(Attempt&);
  Block* borrow_from_idle_streams(Attempt&);
  Block* relieve_pressure_and_search(Attempt&);

  Block* borrow(Arena& arena, const AllocationRequest& request);
  std::shared_lock<std::shared_mutex> keep_captures_out() const {
    if (!callbacks_.keep_captures_out) return {};
    return callbacks_.keep_captures_out();
  }

  AllocatorState& state_;
  DeviceSegments& segments_;
  ExpandableSegments& expandable_segments_;
  PrivatePools& pools_;
  PendingFrees& pending_;
  AllocatorCallbacks callbacks_;
};

}  // namespace mindtorch::runtime
