#include "tests/cpp/support/fake_driver.h"

#include <cstdlib>
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

FakeDriver::FakeDriver(FakeOptions options)
    : options_([&] {
        options.row.name = options.kind;
        return options;
      }()),
      auto_finish_(options.auto_finish) {
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

// --- Live objects ------------------------------------------------------------------------------

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

}  // namespace mindtorch::test
