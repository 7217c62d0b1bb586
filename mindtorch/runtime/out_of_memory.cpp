#include "mindtorch/runtime/out_of_memory.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mindtorch/base/error.h"
#include "mindtorch/driver/device_row.h"
#include "mindtorch/runtime/snapshot.h"

namespace mindtorch::runtime {
namespace {

constexpr size_t kHoldersShown = 5;
constexpr size_t kUnknownTotal = size_t{1} << 60;  // what drivers say that do not know

std::string format_size(size_t bytes) {
  char text[64];
  if (bytes <= 1024) {
    std::snprintf(text, sizeof text, "%zu bytes", bytes);
  } else if (bytes <= size_t{1} << 20) {
    std::snprintf(text, sizeof text, "%.2f KiB", static_cast<double>(bytes) / 1024.0);
  } else if (bytes <= size_t{1} << 30) {
    std::snprintf(text, sizeof text, "%.2f MiB", static_cast<double>(bytes) / 1048576.0);
  } else {
    std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / 1073741824.0);
  }
  return text;
}

struct Usage {
  size_t allocated = 0;
  size_t private_free = 0;  // cached by private pools
  size_t free = 0;          // cached by the default pool
  size_t largest_free = 0;
  size_t other_streams_free = 0;
  size_t waiting = 0;  // freed, but another stream is not done
};

Usage measure(const std::vector<SegmentInfo>& segments, driver::StreamHandle stream) {
  Usage usage;
  for (const SegmentInfo& segment : segments) {
    usage.allocated += segment.allocated_size;
    usage.waiting += segment.active_size - segment.allocated_size;
    const size_t free = segment.total_size - segment.active_size;
    if (segment.pool_id != PoolId()) {
      usage.private_free += free;
      continue;
    }
    usage.free += free;
    if (segment.stream != stream) usage.other_streams_free += free;
    for (const BlockInfo& block : segment.blocks) {
      if (block.state == BlockState::kFree) {
        usage.largest_free = std::max(usage.largest_free, block.size);
      }
    }
  }
  return usage;
}

std::string largest_holders(const std::vector<SegmentInfo>& segments) {
  struct Holder {
    size_t bytes = 0;
    size_t blocks = 0;
  };
  std::map<std::string, Holder> by_site;
  for (const SegmentInfo& segment : segments) {
    for (const BlockInfo& block : segment.blocks) {
      if (block.state != BlockState::kAllocated || block.context == nullptr) continue;
      const std::vector<Frame> frames = block.context->frames();
      if (frames.empty()) continue;
      Holder& holder = by_site[detail::concat(frames[0].filename, ":", frames[0].line, " (",
                                              frames[0].name, ")")];
      holder.bytes += block.size;
      ++holder.blocks;
    }
  }
  if (by_site.empty()) return "";
  std::vector<std::pair<std::string, Holder>> sites(by_site.begin(), by_site.end());
  std::stable_sort(sites.begin(), sites.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  if (sites.size() > kHoldersShown) sites.resize(kHoldersShown);
  std::string text = "\nLargest holders:";
  for (const auto& [site, holder] : sites) {
    text += detail::concat("\n  ", format_size(holder.bytes), " in ", holder.blocks,
                           holder.blocks == 1 ? " block: " : " blocks: ", site);
  }
  return text;
}

}  // namespace

void throw_beyond_any_device(const driver::DeviceDriver& driver) {
  throw OutOfMemoryError(detail::concat(driver.row().title,
                                        " out of memory. Tried to allocate more than 1EB memory."));
}

void throw_out_of_memory(AllocatorState& state, const AllocationRequest& request, bool capturing) {
  driver::DeviceDriver& driver = state.driver;
  MemoryHistory& history = state.history;
  const driver::StreamHandle stream = request.arena == nullptr ? nullptr : request.arena->stream();
  driver::MemoryInfo info;
  try {
    info = driver.memory_info(state.device);
  } catch (const Error&) {  // the report goes out without these figures
  }
  if (history.enabled()) {
    TraceEntry entry{};
    entry.action = TraceAction::kOutOfMemory;
    entry.address = info.free_bytes;
    entry.size = request.size;
    entry.stream = stream;
    entry.context = request.context;
    history.record(std::move(entry));
  }
  const std::vector<SegmentInfo> segments = take_snapshot(state);
  const Usage usage = measure(segments, stream);
  const double fraction = state.limit.fraction();
  const auto reserved = static_cast<size_t>(state.stats.reserved_bytes());
  const bool total_known = info.total_bytes > 0 && info.total_bytes < kUnknownTotal;
  const driver::DeviceRow& row = driver.row();
  const size_t allocated = usage.allocated + usage.private_free;
  const size_t unallocated = reserved > allocated ? reserved - allocated : 0;

  std::string text = detail::concat(row.title, " out of memory. Tried to allocate ",
                                    format_size(request.segment_size), ". ");
  if (total_known) {
    text += detail::concat(row.title, " ", state.device, " has a total capacity of ",
                           format_size(info.total_bytes), " of which ",
                           format_size(info.free_bytes), " is free. ");
  }
  if (fraction < 1.0) {
    const auto limit = static_cast<size_t>(fraction * static_cast<double>(info.total_bytes));
    text += detail::concat(format_size(limit), " allowed; ");
  }
  text += detail::concat("Of the allocated memory ", format_size(allocated),
                         " is allocated by mindtorch, ");
  if (usage.private_free > 0) {
    text +=
        detail::concat("with ", format_size(usage.private_free), " allocated in private pools, ");
  }
  text += detail::concat("and ", format_size(unallocated),
                         " is reserved by mindtorch but unallocated.");
  text += detail::concat("\nThe largest free block has ", format_size(usage.largest_free));
  if (usage.free > 0) {
    const double scattered =
        1.0 - static_cast<double>(usage.largest_free) / static_cast<double>(usage.free);
    char percent[16];
    std::snprintf(percent, sizeof percent, "%.0f%%", scattered * 100);
    text += detail::concat(" of ", format_size(usage.free), " free in the cache (fragmentation ",
                           percent, ")");
    if (usage.other_streams_free > 0) {
      text += detail::concat("; ", format_size(usage.other_streams_free),
                             " of it belongs to other streams");
    }
  }
  text += ".";
  if (usage.waiting > 0) {
    text +=
        detail::concat(" ", format_size(usage.waiting), " is freed but waits for other streams.");
  }
  text += largest_holders(segments);
  if (!history.enabled()) {
    text += detail::concat("\nTo see who holds the memory: torch.", row.name,
                           ".memory._record_memory_history().");
  }

  text += "\nWhat would help: ";
  if (capturing && usage.free >= request.segment_size) {
    text +=
        "empty_cache() before the capture: while a graph is captured the cache of others cannot be "
        "given back.";
  } else if (fraction < 1.0 && info.free_bytes >= request.segment_size) {
    text += "a larger fraction in set_per_process_memory_fraction: the device has room.";
  } else if (usage.free >= request.size && !state.conf.get()->expandable_segments &&
             driver.virtual_memory() != nullptr) {
    text += detail::concat("expandable_segments:True in ", row.advised_alloc_conf().name,
                           ": the free memory is in pieces.");
  } else if (usage.free >= request.size) {
    text += detail::concat("a smaller max_split_size_mb in ", row.advised_alloc_conf().name,
                           ", so that large blocks are not cut up: the free memory is in pieces.");
  } else if (total_known && info.total_bytes > reserved + info.free_bytes &&
             info.total_bytes - reserved - info.free_bytes > reserved) {
    text += "freeing the device: most of its memory is held by other programs.";
  } else {
    text += "smaller batches, or tensors released earlier.";
  }
  throw OutOfMemoryError(text);
}

}  // namespace mindtorch::runtime
