#include "mindtorch/runtime/device_runtime.h"

#include <atomic>
#include <vector>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/hooks.h"
#include "mindtorch/runtime/host_wait.h"

namespace mindtorch::runtime {
namespace {

uint32_t next_runtime_slot() {
  static std::atomic<uint32_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

DeviceRuntime::DeviceRuntime(Accelerator& accelerator, int device)
    : accelerator_(accelerator),
      driver_(accelerator.driver()),
      device_(device),
      slot_(next_runtime_slot()),
      events_(driver_, device),
      memory_(driver_, device, events_, async_errors_, accelerator.alloc_conf()),
      allocator_(*this),
      streams_(*this) {
  const auto before_growth = [this] {
    check_usable();
    internal_capture_.await_end();
  };
  memory_.set_callbacks({.before_growth = before_growth,
                         .wait_device = [this] { wait_and_release(); },
                         .keep_captures_out = [this] { return internal_capture_.keep_out(); }});
}

DeviceRuntime::~DeviceRuntime() {
  try {
    driver_.wait_device(device_);
  } catch (...) {  // what is left is given back anyway
  }
}

std::string DeviceRuntime::name() const { return detail::concat(driver_.kind(), ":", device_); }

Stream DeviceRuntime::pool_stream(int priority) {
  check_usable();
  return Stream(streams_.next(priority));
}

Stream DeviceRuntime::capture_stream() {
  check_usable();
  return Stream(streams_.reserved());
}

void DeviceRuntime::forget_prepared() {
  for (StreamState* const stream : streams_.all()) {
    if (BackendStreamData* const data = stream->backend_data()) data->forget_prepared();
  }
}

Stream DeviceRuntime::external_stream(driver::StreamHandle handle) {
  check_usable();
  return Stream(streams_.external(handle));
}

Stream DeviceRuntime::find_stream(int64_t id) {
  check_usable();
  for (StreamState* stream : streams_.all()) {
    if (stream->id == id) return Stream(*stream);
  }
  MT_THROW(ValueError, name(), " has no stream with the id ", id);
}

std::pair<int, int> DeviceRuntime::priority_range() {
  check_usable();
  return streams_.priority_range();
}

void DeviceRuntime::synchronize() {
  check_usable();
  hooks().before_sync(SyncPoint::kWaitDevice);
  wait_and_release();
  async_errors_.raise_any();
}

void DeviceRuntime::wait_and_release() {
  std::vector<std::pair<StreamState*, uint64_t>> marks;
  for (StreamState* stream : streams_.all()) marks.emplace_back(stream, stream->deferred.mark());
  {
    const HostWait waiting;
    const auto none = internal_capture_.keep_out();
    driver_.wait_device(device_);
  }
  for (const auto& [stream, mark] : marks) stream->deferred.release_through(mark);
}

void DeviceRuntime::poll_deferred() noexcept {
  if (forked()) return;
  try {
    for (StreamState* stream : streams_.all()) stream->deferred.poll(true);
  } catch (...) {  // no memory for the list: nothing is released, nothing is lost
  }
}

void DeviceRuntime::check_usable() const { accelerator_.check_usable(); }

bool DeviceRuntime::forked() const noexcept { return accelerator_.forked(); }

}  // namespace mindtorch::runtime
