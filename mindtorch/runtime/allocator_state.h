#pragma once

#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/alloc_conf.h"
#include "mindtorch/runtime/allocation_request.h"
#include "mindtorch/runtime/allocator_stats.h"
#include "mindtorch/runtime/arena_set.h"
#include "mindtorch/runtime/memory_history.h"
#include "mindtorch/runtime/memory_limit.h"

namespace mindtorch::runtime {

// What all parts of one CachingAllocator work on.
struct AllocatorState {
  AllocatorState(driver::DeviceDriver& driver, int device, const AllocConf& conf)
      : driver(driver),
        device(device),
        conf(conf),
        stats(arenas),
        limit(driver, device, stats, conf.per_process_memory_fraction) {}

  // A cached block of the request's arena, or null.
  Block* take_cached(const AllocationRequest& request) {
    const ArenaLock lock(arenas, *request.arena);
    Block* block = request.arena->take(request.pool, request.size, request.requested);
    if (block != nullptr) history.trace_allocation(*block, request.context);
    return block;
  }

  // What the arena's stream was given so far is over.
  void wait_for_stream(const Arena& arena) {
    if (!driver.query_stream(device, arena.stream())) driver.wait_stream(device, arena.stream());
  }

  driver::DeviceDriver& driver;
  const int device;
  SharedAllocConf conf;
  MemoryHistory history;
  ArenaSet arenas;
  AllocatorStats stats;
  MemoryLimit limit;
};

}  // namespace mindtorch::runtime
