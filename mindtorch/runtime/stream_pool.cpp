#include "mindtorch/runtime/stream_pool.h"

#include <algorithm>

#include "mindtorch/runtime/device_runtime.h"

namespace mindtorch::runtime {
namespace {

// torch's numbers: bit 0 says "of the pool", then 4 bits of level (1 is the least priority), then
// the index. An external stream's number is its handle, which is even.
int64_t stream_id(int level, int index) {
  return (int64_t{index} << 5) | (int64_t{level + 1} << 1) | 1;
}

constexpr uint64_t kKnown = uint64_t{1} << 32;

uint64_t pack(int least, int greatest) {
  return (static_cast<uint64_t>(static_cast<uint16_t>(least)) << 16) |
         static_cast<uint16_t>(greatest) | kKnown;
}

}  // namespace

StreamState::StreamState(DeviceRuntime& on,
                         driver::StreamHandle stream,
                         int64_t stream_id,
                         int stream_priority)
    : runtime(on),
      handle(stream),
      id(stream_id),
      priority(stream_priority),
      deferred(on.driver(), on.device(), stream, on.events(), on.async_errors()) {}

StreamPool::StreamPool(DeviceRuntime& runtime) : runtime_(runtime) {
  streams_.push_back(std::make_unique<StreamState>(runtime, nullptr, 0, 0));
  default_ = streams_.front().get();
}

StreamPool::~StreamPool() {
  for (const auto& stream : streams_) stream->deferred.release_through(stream->deferred.mark());
  const auto destroy = [&](const Slot& slot) {
    if (const StreamState* made = slot.load()) {
      runtime_.driver().destroy_stream(runtime_.device(), made->handle);
    }
  };
  for (const Level& level : levels_) {
    for (const Slot& slot : level.streams) destroy(slot);
  }
  destroy(reserved_);
}

std::pair<int, int> StreamPool::priority_range() {
  uint64_t range = range_.load(std::memory_order_relaxed);
  if (range == 0) {
    const driver::DeviceProperties properties = runtime_.driver().properties(runtime_.device());
    range = pack(
        properties.least_priority,
        std::max(properties.greatest_priority, properties.least_priority - (kMaxPriorities - 1)));
    range_.store(range, std::memory_order_relaxed);
  }
  return {static_cast<int16_t>(range >> 16), static_cast<int16_t>(range)};
}

StreamState& StreamPool::next(int priority) {
  const auto [least, greatest] = priority_range();
  priority = std::clamp(priority, std::min(greatest, least), least);
  const int level = least - priority;
  Level& streams = levels_[static_cast<size_t>(level)];
  const int index = static_cast<int>(streams.turn.fetch_add(1, std::memory_order_relaxed) %
                                     uint32_t{kStreamsPerPriority});
  Slot& slot = streams.streams[static_cast<size_t>(index)];
  StreamState* made = slot.load(std::memory_order_acquire);
  return made != nullptr ? *made : make(slot, stream_id(level, index), priority);
}

StreamState& StreamPool::reserved() {
  StreamState* made = reserved_.load(std::memory_order_acquire);
  if (made != nullptr) return *made;
  return make(reserved_, stream_id(0, kStreamsPerPriority), priority_range().first);
}

StreamState& StreamPool::make(Slot& slot, int64_t id, int priority) {
  // The lock is held across the driver's call: two threads must not make the same stream, and
  // those that find theirs made do not come here.
  std::lock_guard lock(mutex_);
  if (StreamState* made = slot.load(std::memory_order_acquire)) return *made;
  streams_.reserve(streams_.size() + 1);
  const driver::StreamHandle handle = runtime_.driver().create_stream(runtime_.device(), priority);
  try {
    streams_.push_back(std::make_unique<StreamState>(runtime_, handle, id, priority));
  } catch (...) {
    runtime_.driver().destroy_stream(runtime_.device(), handle);
    throw;
  }
  slot.store(streams_.back().get(), std::memory_order_release);
  return *streams_.back();
}

StreamState& StreamPool::external(driver::StreamHandle handle) {
  std::lock_guard lock(mutex_);
  for (const auto& stream : streams_) {
    if (stream->handle == handle) return *stream;
  }
  const auto id = static_cast<int64_t>(reinterpret_cast<intptr_t>(handle));
  streams_.push_back(std::make_unique<StreamState>(runtime_, handle, id, 0));
  return *streams_.back();
}

std::vector<StreamState*> StreamPool::all() const {
  std::lock_guard lock(mutex_);
  std::vector<StreamState*> streams;
  streams.reserve(streams_.size());
  for (const auto& stream : streams_) streams.push_back(stream.get());
  return streams;
}

}  // namespace mindtorch::runtime
