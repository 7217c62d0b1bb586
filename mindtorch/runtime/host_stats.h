#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/runtime/memory_stats.h"

namespace mindtorch::runtime {

// How long calls took, in microseconds.
struct DurationStat {
  int64_t total = 0;
  int64_t max = 0;
  int64_t min = 0;
  int64_t count = 0;

  void add(int64_t us) noexcept {
    total += us;
    count += 1;
    max = std::max(max, us);
    min = min == 0 ? us : std::min(min, us);
  }
};

// One consistent reading of a pinned pool's counters, with torch's names and meanings.
struct MT_API HostStats {
  Stat active_requests;  // blocks in use, or freed and still used by a stream
  Stat active_bytes;
  Stat allocations;  // blocks held, in use or cached
  Stat allocated_bytes;
  DurationStat host_alloc_time;  // calls of the driver
  DurationStat host_free_time;

  void reset_peak() noexcept;
  void reset_accumulated() noexcept;
  // torch's 28 flat keys ("active_bytes.peak", "host_alloc_time.avg"), sorted.
  std::vector<std::pair<std::string, int64_t>> flat() const;
};

}  // namespace mindtorch::runtime
