#include "tests/cpp/support/fake_driver.h"

#include <cstdlib>
#include <cstring>
#include <sstream>

namespace mindtorch::test {

using driver::CopyKind;
using driver::EventFlags;
using driver::EventHandle;
using driver::StreamHandle;

namespace {

constexpr size_t kAddressesPerDevice = size_t{1} << 48;

uintptr_t number(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace

const char* name_of(Call function) {
  static constexpr const char* kNames[] = {
#define FAKE_DRIVER_NAME(name) #name,
      FAKE_DRIVER_FUNCTIONS(FAKE_DRIVER_NAME)
#undef FAKE_DRIVER_NAME
  };
  return kNames[static_cast<size_t>(function)];
}

FakeDriver::FakeDriver(FakeOptions options) : options_(options), auto_finish_(options.auto_finish) {
  const auto devices = static_cast<size_t>(options_.device_count);
  used_bytes_.resize(devices);
  outside_bytes_.resize(devices);
  // The last one hands out pinned addresses.
  for (size_t i = 0; i <= devices; ++i) next_address_.push_back((i + 1) * kAddressesPerDevice);
  for (int i = 0; i < options_.device_count; ++i) streams_.add({i, nullptr}, 0);
}

FakeDriver::~FakeDriver() {
  for (auto& [address, range] : ranges_) std::free(range.backing);
  for (auto& [address, range] : reserved_) std::free(range.backing);
}

// --- Counting, logging, faults -----------------------------------------------------------------

bool FakeDriver::fault(Call function) {
  ++fallible_;
  bool failed = fallible_ == fail_at_ || (fail_from_ >= 0 && fallible_ >= fail_from_);
  int64_t& left = fail_in_[static_cast<size_t>(function)];
  if (left < 0) failed = true;
  if (left > 0 && --left == 0) failed = true;
  return failed;
}

FakeDriver::Lock FakeDriver::enter_quietly(Call function,
                                           std::initializer_list<uintptr_t> args,
                                           bool& failed) {
  if (on_call_) on_call_(function);
  Lock lock(mutex_);
  ++counts_[static_cast<size_t>(function)];
  if (logging_) log_.push_back({function, args});
  switch (function) {  // what never fails
    case Call::release:
    case Call::release_pinned:
    case Call::destroy_stream:
    case Call::destroy_event:
    case Call::unreserve:
    case Call::unmap:
    case Call::destroy_graph:
      failed = false;
      break;
    default:
      failed = fault(function);
  }
  return lock;
}

FakeDriver::Lock FakeDriver::enter(Call function, std::initializer_list<uintptr_t> args) {
  bool failed = false;
  Lock lock = enter_quietly(function, args, failed);
  if (failed) raise(function, 507000, "injected fault");
  return lock;
}

void FakeDriver::raise(Call function, int64_t code, const std::string& why) const {
  throw driver::DriverError(name_of(function), code, why);
}

void FakeDriver::complain(std::string what) { failures_.push_back(std::move(what)); }

bool FakeDriver::check_device(int device) {
  if (device >= 0 && device < options_.device_count) return true;
  complain(text("no device ", device));
  return false;
}

void FakeDriver::fail_call(int64_t nth) {
  Lock lock(mutex_);
  fail_at_ = fallible_ + nth;
}
void FakeDriver::fail_from(int64_t nth) {
  Lock lock(mutex_);
  fail_from_ = fallible_ + nth;
}
void FakeDriver::fail(Call function, int64_t nth) {
  Lock lock(mutex_);
  fail_in_[static_cast<size_t>(function)] = nth;
}
void FakeDriver::fail_always(Call function) { fail(function, -1); }
void FakeDriver::clear_faults() {
  Lock lock(mutex_);
  fail_at_ = fail_from_ = -1;
  fail_in_.fill(0);
}
int64_t FakeDriver::fallible_calls() const {
  Lock lock(mutex_);
  return fallible_;
}
int64_t FakeDriver::count(Call function) const {
  Lock lock(mutex_);
  return counts_[static_cast<size_t>(function)];
}
void FakeDriver::reset_counts() {
  Lock lock(mutex_);
  counts_.fill(0);
}
void FakeDriver::set_logging(bool on) {
  Lock lock(mutex_);
  logging_ = on;
}
std::vector<LoggedCall> FakeDriver::log() const {
  Lock lock(mutex_);
  return log_;
}
std::vector<Call> FakeDriver::log_functions() const {
  Lock lock(mutex_);
  std::vector<Call> functions;
  for (const LoggedCall& call : log_) functions.push_back(call.function);
  return functions;
}
void FakeDriver::clear_log() {
  Lock lock(mutex_);
  log_.clear();
}
void FakeDriver::set_on_call(std::function<void(Call)> callback) { on_call_ = std::move(callback); }

// --- The books ---------------------------------------------------------------------------------

std::vector<std::string> FakeDriver::leaks() const {
  Lock lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [address, range] : ranges_) {
    lines.push_back(text(range.device < 0 ? "pinned memory " : "memory ", std::hex, address,
                         std::dec, " of ", range.bytes, " bytes"));
  }
  for (const auto& [address, range] : mapped_) {
    lines.push_back(text("mapping ", std::hex, address, std::dec, " of ", range.bytes, " bytes"));
  }
  for (const auto& [address, range] : reserved_) {
    lines.push_back(
        text("reservation ", std::hex, address, std::dec, " of ", range.bytes, " bytes"));
  }
  for (const auto& [key, stream] : streams_) {
    if (key.second != nullptr) lines.push_back(text("stream ", key.second));
  }
  for (const auto& [handle, event] : events_) lines.push_back(text("event ", handle));
  for (const auto& [handle, graph] : graphs_) lines.push_back(text("graph ", handle));
  return lines;
}

std::vector<std::string> FakeDriver::failures() const {
  Lock lock(mutex_);
  return failures_;
}
size_t FakeDriver::allocated_bytes(int device) const {
  Lock lock(mutex_);
  return used_bytes_[static_cast<size_t>(device)];
}
size_t FakeDriver::pinned_bytes() const {
  Lock lock(mutex_);
  return used_pinned_bytes_;
}
size_t FakeDriver::live_events() const {
  Lock lock(mutex_);
  return events_.size();
}
size_t FakeDriver::live_streams() const {
  Lock lock(mutex_);
  size_t live = 0;
  for (const auto& [key, stream] : streams_) live += key.second != nullptr;
  return live;
}
int FakeDriver::priority_of(StreamHandle stream) const {
  Lock lock(mutex_);
  for (const auto& [key, entry] : streams_) {
    if (key.second == stream && stream != nullptr) return entry.priority;
  }
  return 0;
}
bool FakeDriver::is_live(const void* data, size_t bytes) const {
  Lock lock(mutex_);
  return find_range(data, bytes) != nullptr;
}
bool FakeDriver::reached(EventHandle event) const {
  Lock lock(mutex_);
  const auto found = events_.find(event);
  return found != events_.end() && (!found->second.mark || found->second.mark->reached);
}

const FakeDriver::Range* FakeDriver::find_range(const void* data, size_t bytes) const {
  const uintptr_t address = number(data);
  for (const auto* ranges : {&ranges_, &mapped_}) {
    auto after = ranges->upper_bound(address);
    if (after == ranges->begin()) continue;
    const auto& [start, range] = *std::prev(after);
    uintptr_t end = start + range.bytes;
    for (; ranges == &mapped_ && after != ranges->end() && after->first == end; ++after) {
      end += after->second.bytes;  // neighbouring mappings are one piece of memory
    }
    if (address < end && bytes <= end - address) return &range;
  }
  return nullptr;
}

// --- Identity and memory -----------------------------------------------------------------------

driver::DeviceProperties FakeDriver::properties(int device) {
  const Lock lock = enter(Call::properties, {static_cast<uintptr_t>(device)});
  if (!check_device(device)) raise(Call::properties, 107001, "invalid device");
  driver::DeviceProperties properties;
  properties.name = "Fake";
  properties.total_memory_bytes = options_.memory_bytes;
  properties.least_priority = options_.least_priority;
  properties.greatest_priority = options_.greatest_priority;
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
  auto home = reserved_.upper_bound(start);
  if (home == reserved_.begin() || bytes == 0 || start % granularity(device) != 0 ||
      bytes % granularity(device) != 0) {
    complain("map: odd or unreserved range");
    return false;
  }
  --home;
  if (home->second.device != device || start + bytes > home->first + home->second.bytes) {
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
  return check_device(device) && check_device(peer) && device != peer;
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
