#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/deferred_release.h"

namespace mindtorch::runtime {

class DeviceRuntime;

// What a backend keeps for a stream.
class StreamAttachment {
 public:
  virtual ~StreamAttachment() = default;
};

// What is known of one stream. Made by its device's StreamPool, and lives as long as that.
struct StreamState {
  StreamState(DeviceRuntime& runtime, driver::StreamHandle handle, int64_t id, int priority);
  ~StreamState() { delete attachment_.load(); }

  // The backend's own, once it attached something. Without a lock.
  StreamAttachment* attachment() const noexcept {
    return attachment_.load(std::memory_order_acquire);
  }
  // What was attached first, this or another thread's.
  StreamAttachment& attach(std::unique_ptr<StreamAttachment> made) noexcept {
    StreamAttachment* first = nullptr;
    if (attachment_.compare_exchange_strong(first, made.get())) return *made.release();
    return *first;
  }

  DeviceRuntime& runtime;
  const driver::StreamHandle handle;
  const int64_t id;
  const int priority;
  DeferredRelease deferred;

 private:
  std::atomic<StreamAttachment*> attachment_{nullptr};
};

}  // namespace mindtorch::runtime
