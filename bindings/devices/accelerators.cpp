// Devices of one kind: which there are, which is current, waiting for one.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <memory>
#include <string>

#include "bindings/interpreter/python_ref.h"
#include "mindtorch/base/warning.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/hooks.h"
#include "mindtorch/runtime/stream.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

bool is_initialized(const std::string& kind) {
  const runtime::Accelerator* const accelerator = runtime::find_accelerator(kind);
  return accelerator != nullptr && accelerator->initialized();
}

nb::dict device_properties(const std::string& kind, int device) {
  runtime::Accelerator& accelerator = runtime::accelerator(kind);
  accelerator.check_usable();
  accelerator.check_device(device);
  const driver::DeviceProperties found = accelerator.driver().properties(device);
  nb::dict result;
  result["name"] = found.name;
  result["major"] = found.major;
  result["minor"] = found.minor;
  result["total_memory"] = found.total_memory_bytes;
  result["multi_processor_count"] = found.multi_processor_count;
  for (const auto& [name, value] : found.more) result[name.c_str()] = value;
  return result;
}

std::pair<size_t, size_t> memory_info(const std::string& kind, int device) {
  const driver::MemoryInfo info = runtime::runtime_for(kind, device).driver().memory_info(device);
  return {info.free_bytes, info.total_bytes};
}

void synchronize(const std::string& kind, int device) {
  runtime::DeviceRuntime& runtime = runtime::runtime_for(kind, device);
  const GilRelease unlocked(true);
  runtime.synchronize();
}

uintptr_t raw_allocate(const std::string& kind, int device, size_t bytes) {
  runtime::DeviceRuntime& runtime = runtime::runtime_for(kind, device);
  return reinterpret_cast<uintptr_t>(runtime.driver().allocate(device, bytes));
}

void raw_release(const std::string& kind, int device, uintptr_t address) {
  runtime::DeviceRuntime& runtime = runtime::runtime_for(kind, device);
  runtime.driver().release(device, reinterpret_cast<void*>(address));
}

// Memory of raw_allocate(), released once the work given to the current stream by now is done.
void defer_free(const std::string& kind, int device, uintptr_t address) {
  struct Free {
    driver::DeviceDriver& driver;
    int device;
    void* data;
  };
  runtime::DeviceRuntime& runtime = runtime::runtime_for(kind, device);
  runtime::current_stream(runtime).defer(
      [](void* context) {
        const std::unique_ptr<Free> free(static_cast<Free*>(context));
        free->driver.release(free->device, free->data);
      },
      new Free{runtime.driver(), device, reinterpret_cast<void*>(address)});
}

// Null: the driver has no such calls.
driver::PeerAccess* peer_access(const std::string& kind, int device, int peer) {
  runtime::Accelerator& accelerator = runtime::accelerator(kind);
  accelerator.check_usable();
  accelerator.check_device(device);
  accelerator.check_device(peer);
  return accelerator.driver().peer_access();
}

bool can_access_peer(const std::string& kind, int device, int peer) {
  driver::PeerAccess* const access = peer_access(kind, device, peer);
  return access != nullptr && access->can_access(device, peer);
}

void set_peer_access(const std::string& kind, int device, int peer, bool enabled) {
  driver::PeerAccess* const access = peer_access(kind, device, peer);
  MT_CHECK(access != nullptr && access->can_access(device, peer), RuntimeError, kind, ":", device,
           " cannot reach the memory of ", kind, ":", peer);
  enabled ? access->enable(device, peer) : access->disable(device, peer);
}

// What set_sync_debug_mode asked for when the host waits for a stream.
std::atomic<bool> g_sync_is_error{false};

void report_sync(runtime::SyncPoint point) {
  if (point != runtime::SyncPoint::kWaitStream) return;
  constexpr const char* kText = "called a synchronizing NPU operation";
  MT_CHECK(!g_sync_is_error, RuntimeError, kText);
  warn(kText);
}

// 0: nothing, 1: a warning, 2: an error.
void set_sync_debug_mode(int mode) {
  g_sync_is_error = mode == 2;
  if (mode == 0) {
    runtime::hooks().before_sync.remove(&report_sync);
  } else {
    runtime::hooks().before_sync.add(&report_sync);
  }
}

}  // namespace

void bind_accelerators(nb::module_& module) {
  module.def("_set_sync_debug_mode", &set_sync_debug_mode, nb::arg("mode"));
  module.def("_is_initialized", &is_initialized, nb::arg("kind"));
  module.def("_current_device", [](const std::string& kind) {
    return runtime::current_device(runtime::accelerator(kind));
  });
  module.def("_set_current_device", [](const std::string& kind, int device) {
    runtime::set_current_device(runtime::accelerator(kind), device);
  });
  module.def("_use_device",
             [](const std::string& kind, int device) { runtime::runtime_for(kind, device); });
  module.def("_device_properties", &device_properties, nb::arg("kind"), nb::arg("device"));
  module.def("_memory_info", &memory_info, nb::arg("kind"), nb::arg("device"));
  module.def("_synchronize_device", &synchronize, nb::arg("kind"), nb::arg("device"));
  module.def("_raw_allocate", &raw_allocate, nb::arg("kind"), nb::arg("device"), nb::arg("size"));
  module.def("_raw_release", &raw_release, nb::arg("kind"), nb::arg("device"), nb::arg("ptr"));
  module.def("_defer_free", &defer_free, nb::arg("kind"), nb::arg("device"), nb::arg("ptr"));
  module.def("_can_access_peer", &can_access_peer);
  module.def("_set_peer_access", &set_peer_access);
}

}  // namespace mindtorch::python
