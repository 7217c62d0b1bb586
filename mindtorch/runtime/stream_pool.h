#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "mindtorch/base/thread_safety.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/stream_state.h"

namespace mindtorch::runtime {

// The streams of one device: the default one, 32 per priority handed out in turn, and those that
// the program made. Streams of the pool are made at first use and shared from then on; those of
// others are never destroyed here. Owned by DeviceRuntime. Thread-safe; a request that finds its
// stream made takes no lock. Throws what the driver throws; a stream that could not be made is
// tried again when its turn comes.
class StreamPool {
 public:
  static constexpr int kStreamsPerPriority = 32;
  static constexpr int kMaxPriorities = 4;  // as torch

  explicit StreamPool(DeviceRuntime& runtime);
  ~StreamPool();  // the owner has waited for the device
  StreamPool(const StreamPool&) = delete;
  StreamPool& operator=(const StreamPool&) = delete;

  StreamState& default_stream() noexcept { return *default_; }
  // The next stream of the priority, which is brought into range first.
  StreamState& next(int priority);
  // One that next() never gives.
  StreamState& reserved();
  // The stream with this handle; null is the default one.
  StreamState& external(driver::StreamHandle handle);

  // (least, greatest): a lower number is a higher priority.
  std::pair<int, int> priority_range();

  // All streams so far, in the order they became known.
  std::vector<StreamState*> all() const;

 private:
  using Slot = std::atomic<StreamState*>;
  struct Level {
    std::array<Slot, kStreamsPerPriority> streams{};
    std::atomic<uint32_t> turn{0};
  };

  StreamState& make(Slot& slot, int64_t id, int priority);

  DeviceRuntime& runtime_;
  std::array<Level, kMaxPriorities> levels_;
  Slot reserved_{nullptr};
  std::atomic<uint64_t> range_{0};  // two ints and a bit that says they are known

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<StreamState>> streams_ MT_GUARDED_BY(mutex_);
  StreamState* default_;
};

}  // namespace mindtorch::runtime
