#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/runtime/alloc_conf.h"
#include "mindtorch/runtime/memory_history.h"

namespace mindtorch::runtime {

// What a recorded program would have needed under some settings.
struct ReplayResult {
  size_t peak_reserved_bytes = 0;
  size_t peak_active_bytes = 0;      // what the program itself used
  double fragmentation_at_peak = 0;  // share of the reserved bytes nobody used at their peak
  int64_t device_allocations = 0;    // calls to the driver
  int64_t device_frees = 0;
  int64_t allocations = 0;  // of the program
  bool out_of_memory = false;
  size_t out_of_memory_at = 0;     // index of the entry that could not be served
  size_t out_of_memory_bytes = 0;  // what it asked for
};

struct ReplaySettings {
  AllocConf conf;
  size_t device_bytes = SIZE_MAX;  // the memory of the imaginary device
  bool virtual_memory = true;      // whether it has expandable segments to offer
  // Called now and then with the number of entries done.
  std::function<void(size_t)> progress;
};

// Runs the trace of one device through a CachingAllocator over an imaginary device. The
// entries are a MemoryHistory's, oldest first; allocations, frees and their completion count, the
// rest is what the replay decides anew. Blocks freed that were allocated before the trace began
// are skipped.
MT_API ReplayResult replay(const std::vector<TraceEntry>& trace, const ReplaySettings& settings);

}  // namespace mindtorch::runtime
