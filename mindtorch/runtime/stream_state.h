#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/deferred_release.h"

namespace mindtorch::runtime {

class DeviceRuntime;

// What a backend keeps for a stream; derived from by the backend.
class BackendStreamData {
 public:
  virtual ~BackendStreamData() = default;
  // What was prepared for later calls goes: a mode of computing has changed.
  virtual void forget_prepared() = 0;
};

// What is known of one stream. Made by its device's StreamPool, and lives as long as that.
struct StreamState {
  StreamState(DeviceRuntime& runtime, driver::StreamHandle handle, int64_t id, int priority);
  ~StreamState() { delete backend_data_.load(); }

  // The backend's own, once it attached something. Without a lock.
  BackendStreamData* backend_data() const noexcept {
    return backend_data_.load(std::memory_order_acquire);
  }
  // What was attached first, this or another thread's.
  BackendStreamData& set_backend_data(std::unique_ptr<BackendStreamData> made) noexcept {
    BackendStreamData* first = nullptr;
    if (backend_data_.compare_exchange_strong(first, made.get())) return *made.release();
    return *first;
  }

  DeviceRuntime& runtime;
  const driver::StreamHandle handle;
  const int64_t id;
  const int priority;
  DeferredRelease deferred;

 private:
  std::atomic<BackendStreamData*> backend_data_{nullptr};
};

}  // namespace mindtorch::runtime
