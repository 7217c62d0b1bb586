// FakeDriver: identity, memory, virtual memory, peers.
#include <cstdlib>
#include <sstream>

#include "tests/cpp/support/fake_driver.h"

namespace mindtorch::test {

namespace {

uintptr_t number(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace

driver::DeviceProperties FakeDriver::properties(int device) {
  const Lock lock = enter(Call::properties, {static_cast<uintptr_t>(device)});
  if (!check_device(device)) raise(Call::properties, 107001, "invalid device");
  driver::DeviceProperties properties;
  properties.name = "Fake";
  properties.total_memory_bytes = options_.memory_bytes;
  properties.least_priority = options_.least_priority;
  properties.greatest_priority = options_.greatest_priority;
  properties.more = options_.more_properties;
  return properties;
}

driver::MemoryInfo FakeDriver::memory_info(int device) {
  const Lock lock = enter(Call::memory_info, {static_cast<uintptr_t>(device)});
  if (!check_device(device)) raise(Call::memory_info, 107001, "invalid device");
  const auto i = static_cast<size_t>(device);
  const auto used = static_cast<int64_t>(used_bytes_[i]) + outside_bytes_[i];
  const auto total = static_cast<int64_t>(options_.memory_bytes);
  return {static_cast<size_t>(used > total ? 0 : total - used), options_.memory_bytes};
}

void FakeDriver::take_outside(int device, int64_t bytes) {
  Lock lock(mutex_);
  outside_bytes_[static_cast<size_t>(device)] += bytes;
}

void FakeDriver::bind_thread(int device) {
  const Lock lock = enter(Call::bind_thread, {static_cast<uintptr_t>(device)});
  if (!check_device(device)) raise(Call::bind_thread, 107001, "invalid device");
}

void* FakeDriver::new_address(int device, size_t bytes, size_t alignment) {
  uintptr_t& next = next_address_[static_cast<size_t>(device)];
  const uintptr_t address = (next + alignment - 1) / alignment * alignment;
  next = address + bytes + alignment;  // never adjacent by accident
  return reinterpret_cast<void*>(address);
}

void* FakeDriver::make_memory(int device, size_t bytes) {
  constexpr size_t kAlignment = 512;
  void* backing = nullptr;
  if (options_.backed) {
    backing = std::aligned_alloc(kAlignment, (bytes + kAlignment) / kAlignment * kAlignment);
  }
  void* data = backing != nullptr
                   ? backing
                   : new_address(device < 0 ? options_.device_count : device, bytes, kAlignment);
  ranges_.emplace(number(data), Range{device, bytes, backing});
  return data;
}

void* FakeDriver::allocate(int device, size_t bytes) {
  bool failed = false;
  const Lock lock = enter_quietly(Call::allocate, {static_cast<uintptr_t>(device), bytes}, failed);
  if (failed && options_.throw_when_out_of_memory) raise(Call::allocate, 207001, "injected fault");
  if (failed || !check_device(device)) return nullptr;
  const auto i = static_cast<size_t>(device);
  const int64_t limit = static_cast<int64_t>(options_.memory_bytes) - outside_bytes_[i];
  if (static_cast<int64_t>(used_bytes_[i]) > limit) return nullptr;
  if (bytes > static_cast<size_t>(limit) - used_bytes_[i]) return nullptr;
  used_bytes_[i] += bytes;
  return make_memory(device, bytes);
}

void FakeDriver::release(int device, void* data) noexcept {
  bool failed = false;
  const Lock lock =
      enter_quietly(Call::release, {static_cast<uintptr_t>(device), number(data)}, failed);
  const auto found = ranges_.find(number(data));
  if (found == ranges_.end() || found->second.device != device) {
    complain(text("release of unknown memory ", data, " on device ", device));
    return;
  }
  used_bytes_[static_cast<size_t>(device)] -= found->second.bytes;
  std::free(found->second.backing);
  ranges_.erase(found);
}

void* FakeDriver::allocate_pinned(size_t bytes) {
  bool failed = false;
  const Lock lock = enter_quietly(Call::allocate_pinned, {bytes}, failed);
  if (failed && options_.throw_when_out_of_memory) {
    raise(Call::allocate_pinned, 207001, "injected fault");
  }
  if (failed || bytes > options_.pinned_bytes - used_pinned_bytes_) return nullptr;
  used_pinned_bytes_ += bytes;
  return make_memory(-1, bytes);
}

void FakeDriver::release_pinned(void* data) noexcept {
  bool failed = false;
  const Lock lock = enter_quietly(Call::release_pinned, {number(data)}, failed);
  const auto found = ranges_.find(number(data));
  if (found == ranges_.end() || found->second.device >= 0) {
    complain(text("release of unknown pinned memory ", data));
    return;
  }
  used_pinned_bytes_ -= found->second.bytes;
  std::free(found->second.backing);
  ranges_.erase(found);
}

// --- Extras ------------------------------------------------------------------------------------

driver::VirtualMemory* FakeDriver::virtual_memory() noexcept {
  return options_.virtual_memory ? this : nullptr;
}
driver::PeerAccess* FakeDriver::peer_access() noexcept {
  return options_.peer_access ? this : nullptr;
}
driver::GraphCapture* FakeDriver::graph_capture() noexcept {
  return options_.graph_capture ? this : nullptr;
}

driver::GraphEditing* FakeDriver::graph_editing() noexcept {
  return options_.graph_editing ? this : nullptr;
}
driver::ProcessSharing* FakeDriver::process_sharing() noexcept {
  return options_.process_sharing ? this : nullptr;
}

void* FakeDriver::reserve(int device, size_t bytes) {
  bool failed = false;
  const Lock lock = enter_quietly(Call::reserve, {static_cast<uintptr_t>(device), bytes}, failed);
  if (failed && options_.throw_when_out_of_memory) raise(Call::reserve, 207001, "injected fault");
  if (bytes == 0 || bytes % granularity(device) != 0) complain("reserve: odd size");
  if (failed || !check_device(device)) return nullptr;
  // Real memory behind the whole range at once: small ranges only, where a test asks for it.
  void* backing = options_.backed ? std::aligned_alloc(granularity(device), bytes) : nullptr;
  void* address = backing != nullptr ? backing : new_address(device, bytes, granularity(device));
  reserved_.emplace(number(address), Range{device, bytes, backing});
  return address;
}

void FakeDriver::unreserve(int device, void* address, size_t bytes) noexcept {
  bool failed = false;
  const Lock lock = enter_quietly(Call::unreserve,
                                  {static_cast<uintptr_t>(device), number(address), bytes}, failed);
  const auto found = reserved_.find(number(address));
  if (found == reserved_.end() || found->second.device != device || found->second.bytes != bytes) {
    complain(text("unreserve of unknown range ", address, " of ", bytes, " bytes"));
    return;
  }
  const auto inside = mapped_.lower_bound(number(address));
  if (inside != mapped_.end() && inside->first < number(address) + bytes) {
    complain(text("unreserve of a range that is still mapped ", address));
  }
  std::free(found->second.backing);
  reserved_.erase(found);
}

bool FakeDriver::map(int device, void* address, size_t bytes) {
  bool failed = false;
  const Lock lock =
      enter_quietly(Call::map, {static_cast<uintptr_t>(device), number(address), bytes}, failed);
  if (failed && options_.throw_when_out_of_memory) raise(Call::map, 207001, "injected fault");
  const uintptr_t start = number(address);
  auto range = reserved_.upper_bound(start);
  if (range == reserved_.begin() || bytes == 0 || start % granularity(device) != 0 ||
      bytes % granularity(device) != 0) {
    complain("map: odd or unreserved range");
    return false;
  }
  --range;
  if (range->second.device != device || start + bytes > range->first + range->second.bytes) {
    complain("map: outside the reserved range");
    return false;
  }
  const auto after = mapped_.lower_bound(start);
  const bool overlap_after = after != mapped_.end() && after->first < start + bytes;
  const bool overlap_before =
      after != mapped_.begin() && std::prev(after)->first + std::prev(after)->second.bytes > start;
  if (overlap_after || overlap_before) {
    complain("map: already mapped");
    return false;
  }
  const auto i = static_cast<size_t>(device);
  const int64_t limit = static_cast<int64_t>(options_.memory_bytes) - outside_bytes_[i];
  if (failed || static_cast<int64_t>(used_bytes_[i] + bytes) > limit) return false;
  used_bytes_[i] += bytes;
  mapped_.emplace(start, Range{device, bytes, nullptr});
  return true;
}

void FakeDriver::unmap(int device, void* address, size_t bytes) noexcept {
  bool failed = false;
  const Lock lock =
      enter_quietly(Call::unmap, {static_cast<uintptr_t>(device), number(address), bytes}, failed);
  const uintptr_t end = number(address) + bytes;
  auto found = mapped_.find(number(address));
  uintptr_t reached = number(address);
  while (found != mapped_.end() && found->first == reached && found->first < end) {
    reached += found->second.bytes;
    used_bytes_[static_cast<size_t>(device)] -= found->second.bytes;
    found = mapped_.erase(found);
  }
  if (reached != end) complain(text("unmap of a range that is not mapped ", address));
}

bool FakeDriver::can_access(int device, int peer) {
  const Lock lock =
      enter(Call::can_access, {static_cast<uintptr_t>(device), static_cast<uintptr_t>(peer)});
  return check_device(device) && check_device(peer) && device != peer && options_.peers_reachable;
}

void FakeDriver::enable(int device, int peer) {
  const Lock lock =
      enter(Call::enable_peer, {static_cast<uintptr_t>(device), static_cast<uintptr_t>(peer)});
  bool& on = peers_[{device, peer}];
  if (on) complain("peer access enabled twice");
  on = true;
}

void FakeDriver::disable(int device, int peer) {
  const Lock lock =
      enter(Call::disable_peer, {static_cast<uintptr_t>(device), static_cast<uintptr_t>(peer)});
  bool& on = peers_[{device, peer}];
  if (!on) complain("peer access disabled, but it was not enabled");
  on = false;
}

}  // namespace mindtorch::test
