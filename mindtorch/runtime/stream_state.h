#pragma once

#include <cstdint>

#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/deferred_release.h"

namespace mindtorch::runtime {

class DeviceRuntime;

// What is known of one stream. Made by its device's StreamPool, and lives as long as that.
struct StreamState {
  StreamState(DeviceRuntime& runtime, driver::StreamHandle handle, int64_t id, int priority);

  DeviceRuntime& runtime;
  const driver::StreamHandle handle;
  const int64_t id;
  const int priority;
  DeferredRelease deferred;
};

}  // namespace mindtorch::runtime
