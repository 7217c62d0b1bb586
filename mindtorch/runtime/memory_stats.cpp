#include "mindtorch/runtime/memory_stats.h"

#include <algorithm>

namespace mindtorch::runtime {
namespace {

using FlatStats = std::vector<std::pair<std::string, int64_t>>;

struct MetricName {
  Metric metric;
  const char* name;
};

constexpr MetricName kMetricNames[] = {
    {Metric::kAllocation, "allocation"},
    {Metric::kAllocation, "allocated"},  // the name torch's documentation gives it
    {Metric::kAllocatedBytes, "allocated_bytes"},
    {Metric::kActive, "active"},
    {Metric::kActiveBytes, "active_bytes"},
    {Metric::kRequestedBytes, "requested_bytes"},
    {Metric::kInactiveSplit, "inactive_split"},
    {Metric::kInactiveSplitBytes, "inactive_split_bytes"},
    {Metric::kSegment, "segment"},
    {Metric::kReservedBytes, "reserved_bytes"},
};

constexpr const char* kPoolNames[] = {"small_pool", "large_pool", "all"};

void add(FlatStats& flat, const std::string& prefix, const Stat& stat) {
  flat.emplace_back(prefix + ".current", stat.current);
  flat.emplace_back(prefix + ".peak", stat.peak);
  flat.emplace_back(prefix + ".allocated", stat.allocated);
  flat.emplace_back(prefix + ".freed", stat.freed);
}

}  // namespace

std::vector<std::pair<std::string, int64_t>> MemoryStats::flat() const {
  FlatStats flat;
  flat.reserve(160);
  for (const auto& [metric, name] : kMetricNames) {
    const auto& pools = metrics[static_cast<size_t>(metric)];
    for (size_t pool = 0; pool < pools.size(); ++pool) {
      add(flat, std::string(name) + "." + kPoolNames[pool], pools[pool]);
    }
  }
  add(flat, "oversize_allocations", all(Metric::kOversizeAllocations));
  add(flat, "oversize_segments", oversize_segments);
  flat.emplace_back("num_alloc_retries", num_alloc_retries);
  flat.emplace_back("num_ooms", num_ooms);
  flat.emplace_back("num_sync_all_streams", num_sync_all_streams);
  flat.emplace_back("num_device_alloc", num_device_alloc);
  flat.emplace_back("num_device_free", num_device_free);
  flat.emplace_back("max_split_size", max_split_size);
  std::ranges::sort(flat);
  return flat;
}

}  // namespace mindtorch::runtime
