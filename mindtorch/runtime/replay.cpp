#include "mindtorch/runtime/replay.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "mindtorch/base/error.h"
#include "mindtorch/base/round_up.h"
#include "mindtorch/driver/device_row.h"
#include "mindtorch/runtime/caching_allocator.h"

namespace mindtorch::runtime {
namespace {

using driver::EventHandle;
using driver::StreamHandle;

// A device of a given size whose work is always done. Memory is only counted.
class ReplayDevice final : public driver::DeviceDriver, private driver::VirtualMemory {
 public:
  ReplayDevice(size_t bytes, bool virtual_memory)
      : total_(bytes), has_virtual_memory_(virtual_memory) {}

  const driver::DeviceRow& row() const noexcept override {
    static constexpr driver::DeviceRow kRow{.name = "replayed",
                                            .title = "REPLAYED",
                                            .noun = "device",
                                            .dispatch_key = "",
                                            .torch_type = 0,
                                            .dlpack_type = 0};
    return kRow;
  }
  int device_count() noexcept override { return 1; }
  driver::DeviceProperties properties(int) override { return {}; }
  driver::MemoryInfo memory_info(int) override { return {total_ - used_, total_}; }
  void bind_thread(int) override {}
  void wait_device(int) override {}

  void* allocate(int, size_t bytes) override {
    if (bytes > total_ - used_) return nullptr;
    used_ += bytes;
    void* data = new_addresses(bytes);
    sizes_.emplace(data, bytes);
    return data;
  }
  void release(int, void* data) noexcept override {
    const auto found = sizes_.find(data);
    used_ -= found->second;
    sizes_.erase(found);
  }
  void* allocate_pinned(size_t) override { return nullptr; }
  void release_pinned(void*) noexcept override {}

  void copy_async(void*, const void*, size_t, driver::CopyKind, int, StreamHandle) override {}
  void fill_async(void*, uint8_t, size_t, int, StreamHandle) override {}
  StreamHandle create_stream(int, int) override { return nullptr; }
  void destroy_stream(int, StreamHandle) noexcept override {}
  bool query_stream(int, StreamHandle) override { return true; }
  void wait_stream(int, StreamHandle) override {}
  EventHandle create_event(int, driver::EventFlags) override { return nullptr; }
  void destroy_event(int, EventHandle) noexcept override {}
  void record_event(EventHandle, int, StreamHandle) override {}
  void block_stream(int, StreamHandle, EventHandle) override {}
  bool query_event(int, EventHandle) override { return true; }
  void wait_event(int, EventHandle) override {}
  float elapsed_ms(int, EventHandle, EventHandle) override { return 0; }
  driver::VirtualMemory* virtual_memory() noexcept override {
    return has_virtual_memory_ ? this : nullptr;
  }

 private:
  size_t granularity(int) override { return size_t{2} << 20; }
  void* reserve(int, size_t bytes) override { return new_addresses(bytes); }
  void unreserve(int, void*, size_t) noexcept override {}
  bool map(int, void*, size_t bytes) override {
    if (bytes > total_ - used_) return false;
    used_ += bytes;
    return true;
  }
  void unmap(int, void*, size_t bytes) noexcept override { used_ -= bytes; }

  void* new_addresses(size_t bytes) {
    constexpr uintptr_t kPage = uintptr_t{2} << 20;
    const uintptr_t address = next_;
    next_ += round_up(bytes, kPage);
    return reinterpret_cast<void*>(address);
  }

  const size_t total_;
  const bool has_virtual_memory_;
  size_t used_ = 0;
  uintptr_t next_ = uintptr_t{1} << 32;
  std::unordered_map<void*, size_t> sizes_;
};

// Entries of the trace at which a block really becomes free: the completion where there is one,
// else the request.
std::vector<bool> final_frees(const std::vector<TraceEntry>& trace) {
  std::vector<bool> is_final(trace.size(), false);
  std::unordered_map<uint64_t, size_t> requested;  // address -> entry
  for (size_t i = 0; i < trace.size(); ++i) {
    const TraceEntry& entry = trace[i];
    if (entry.action == TraceAction::kFreeRequested) {
      requested[entry.address] = i;
      is_final[i] = true;
    } else if (entry.action == TraceAction::kFreeCompleted) {
      const auto found = requested.find(entry.address);
      if (found != requested.end()) is_final[found->second] = false;
      requested.erase(entry.address);
      is_final[i] = true;
    }
  }
  return is_final;
}

}  // namespace

ReplayResult replay(const std::vector<TraceEntry>& trace, const ReplaySettings& settings) {
  // No device has more; and the allocator's arithmetic stays far from overflow.
  constexpr size_t kMost = size_t{1} << 46;
  ReplayDevice device(std::min(settings.device_bytes, kMost), settings.virtual_memory);
  EventPool events(device, 0);
  AsyncErrors async_errors;
  CachingAllocator allocator(device, 0, events, async_errors, settings.conf);
  const std::vector<bool> frees = final_frees(trace);
  std::unordered_map<uint64_t, Block*> live;
  ReplayResult result;
  int64_t device_allocations = -1;
  constexpr size_t kStride = 4096;

  for (size_t i = 0; i < trace.size(); ++i) {
    const TraceEntry& entry = trace[i];
    if (settings.progress && i % kStride == 0) settings.progress(i);
    if (entry.action == TraceAction::kAlloc) {
      try {
        Block*& known = live[entry.address];
        allocator.release(std::exchange(known, nullptr));  // its free is not in the trace
        known = allocator.allocate(entry.size, entry.stream);
        if (known == nullptr) continue;
      } catch (const OutOfMemoryError&) {
        result.out_of_memory = true;
        result.out_of_memory_at = i;
        result.out_of_memory_bytes = entry.size;
        break;
      }
      ++result.allocations;
      // The reserved bytes can only have grown if the driver was asked.
      if (const int64_t calls = allocator.device_allocations(); calls != device_allocations) {
        device_allocations = calls;
        const MemoryStats stats = allocator.stats();
        const auto reserved = static_cast<size_t>(stats.all(Metric::kReservedBytes).current);
        if (reserved > result.peak_reserved_bytes) {
          const auto active = static_cast<double>(stats.all(Metric::kActiveBytes).current);
          result.peak_reserved_bytes = reserved;
          result.fragmentation_at_peak = 1.0 - active / static_cast<double>(reserved);
        }
      }
    } else if (frees[i]) {
      const auto found = live.find(entry.address);
      if (found == live.end()) continue;
      allocator.release(found->second);
      live.erase(found);
    }
  }
  const MemoryStats stats = allocator.stats();
  result.peak_active_bytes = static_cast<size_t>(stats.all(Metric::kActiveBytes).peak);
  result.device_allocations = stats.num_device_alloc;
  result.device_frees = stats.num_device_free;
  if (settings.progress) settings.progress(trace.size());
  return result;
}

}  // namespace mindtorch::runtime
