#include "mindtorch/runtime/host_stats.h"

namespace mindtorch::runtime {
namespace {

using Flat = std::vector<std::pair<std::string, int64_t>>;

void append(Flat& flat, const std::string& name, const Stat& stat) {
  flat.emplace_back(name + ".allocated", stat.allocated);
  flat.emplace_back(name + ".current", stat.current);
  flat.emplace_back(name + ".freed", stat.freed);
  flat.emplace_back(name + ".peak", stat.peak);
}

void append(Flat& flat, const std::string& name, const DurationStat& stat) {
  flat.emplace_back(name + ".avg", stat.count == 0 ? 0 : stat.total / stat.count);
  flat.emplace_back(name + ".count", stat.count);
  flat.emplace_back(name + ".max", stat.max);
  flat.emplace_back(name + ".min", stat.min);
  flat.emplace_back(name + ".total", stat.total);
}

}  // namespace

void HostStats::reset_peak() noexcept {
  for (Stat* stat : {&active_requests, &active_bytes, &allocations, &allocated_bytes}) {
    stat->peak = stat->current;
  }
  for (DurationStat* stat : {&host_alloc_time, &host_free_time}) stat->max = stat->min = 0;
}

void HostStats::reset_accumulated() noexcept {
  for (Stat* stat : {&active_requests, &active_bytes, &allocations, &allocated_bytes}) {
    stat->allocated = stat->freed = 0;
  }
  for (DurationStat* stat : {&host_alloc_time, &host_free_time}) stat->total = stat->count = 0;
}

Flat HostStats::flat() const {
  Flat flat;
  append(flat, "active_bytes", active_bytes);
  append(flat, "active_requests", active_requests);
  append(flat, "allocated_bytes", allocated_bytes);
  append(flat, "allocations", allocations);
  append(flat, "host_alloc_time", host_alloc_time);
  append(flat, "host_free_time", host_free_time);
  flat.emplace_back("num_host_alloc", allocations.allocated);
  flat.emplace_back("num_host_free", allocations.freed);
  return flat;
}

}  // namespace mindtorch::runtime
