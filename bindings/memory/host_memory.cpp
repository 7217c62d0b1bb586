// Statistics of pinned host memory.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "mindtorch/runtime/accelerator.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

// Null before the first use of the device: then there is nothing to count.
runtime::PinnedPool* find_pool(const std::string& kind) {
  runtime::Accelerator* const accelerator = runtime::find_accelerator(kind);
  return accelerator != nullptr && accelerator->initialized() ? &accelerator->pinned() : nullptr;
}

nb::dict host_memory_stats(const std::string& kind) {
  runtime::PinnedPool* const pool = find_pool(kind);
  const runtime::HostStats stats = pool != nullptr ? pool->stats() : runtime::HostStats();
  nb::dict result;
  for (const auto& [key, value] : stats.flat()) result[key.c_str()] = value;
  return result;
}

}  // namespace

void bind_host_memory(nb::module_& module) {
  module.def("_host_memory_stats", &host_memory_stats, nb::arg("kind"));
  module.def(
      "_empty_host_cache",
      [](const std::string& kind) {
        if (runtime::PinnedPool* const pool = find_pool(kind)) pool->empty_cache();
      },
      nb::arg("kind"));
  module.def(
      "_reset_host_memory_stats",
      [](const std::string& kind, bool peak) {
        runtime::PinnedPool* const pool = find_pool(kind);
        if (pool == nullptr) return;
        peak ? pool->reset_peak_stats() : pool->reset_accumulated_stats();
      },
      nb::arg("kind"), nb::arg("peak"));
}

}  // namespace mindtorch::python
