// Allocators of devices: what those over a Python driver and those of real devices have in common.
#include "bindings/memory/allocator_handle.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_context.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/memory/memory_snapshot.h"

namespace nb = nanobind;

namespace mindtorch::python {

using runtime::AllocConf;
using runtime::CachingAllocator;
using runtime::PoolId;

std::atomic<uint64_t> g_blocks_freed{0};

namespace {

// A number of bytes as Python code gives it. What does not fit is more than any device has.
size_t to_byte_count(nb::handle number) {
  const PyRef index(PyNumber_Index(number.ptr()));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  MT_CHECK(overflow >= 0 && (overflow > 0 || value >= 0), ValueError,
           "a size must not be negative, but got ", nb::str(nb::handle(index.get())).c_str());
  return overflow > 0 ? SIZE_MAX : static_cast<size_t>(value);
}

// An address as Python code gives it; 0 for what cannot be one.
uintptr_t to_address(nb::handle number) {
  const PyRef index(PyNumber_Index(number.ptr()));
  const size_t value = PyLong_AsSize_t(index.get());
  if (value == static_cast<size_t>(-1) && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return 0;
  }
  return value;
}

}  // namespace

uintptr_t AllocatorHandle::malloc(nb::handle size, nb::handle stream) {
  const size_t bytes = to_byte_count(size);
  const driver::StreamHandle handle = stream_handle(stream.ptr());
  runtime::Block* const block = allocate(bytes, handle);
  if (block == nullptr) return 0;
  const auto address = reinterpret_cast<uintptr_t>(block->data);
  const std::lock_guard lock(mutex_);
  blocks_[address] = block;
  return address;
}

void AllocatorHandle::free(nb::handle pointer, nb::handle stream) {
  const uintptr_t address = to_address(pointer);
  const std::string text = nb::str(pointer).c_str();
  if (text == "0") return;
  const driver::StreamHandle handle = stream_handle(stream.ptr());
  CachingAllocator& allocator = this->allocator();
  const GilRelease unlocked(true);
  runtime::Block* const block = find(address, true);
  MT_CHECK(block != nullptr, RuntimeError, "invalid device pointer: ", text);
  if (!stream.is_none()) allocator.record_stream(block, handle);
  allocator.release(block);
  ++g_blocks_freed;
}

void AllocatorHandle::record_stream(nb::handle pointer, nb::handle stream) {
  const driver::StreamHandle handle = stream_handle(stream.ptr());
  // As torch does, memory of others is left alone.
  allocator().record_stream(find(to_address(pointer), false), handle);
}

bool AllocatorHandle::owns(nb::handle pointer) {
  return find(to_address(pointer), false) != nullptr;
}

runtime::Block* AllocatorHandle::allocate(size_t bytes, driver::StreamHandle stream) {
  CachingAllocator& allocator = this->allocator();
  const GilRelease unlocked(true);
  return allocator.allocate(bytes, stream);
}

runtime::Block* AllocatorHandle::find(uintptr_t address, bool erase) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return nullptr;
  runtime::Block* const block = found->second;
  if (erase) blocks_.erase(found);
  return block;
}

namespace {

// Calls a member function of the allocator without the GIL.
template <auto kFunction>
void run(AllocatorHandle& self) {
  CachingAllocator& allocator = self.allocator();
  const GilRelease unlocked(true);
  (allocator.*kFunction)();
}

void synchronize(AllocatorHandle& self) {
  CachingAllocator& allocator = self.allocator();
  const GilRelease unlocked(true);
  self.wait();
  allocator.process_events();
}

template <typename Change>
void change_conf(AllocatorHandle& self, const Change& change) {
  AllocConf conf = self.allocator().conf();
  change(conf);
  self.allocator().set_conf(conf);
}

nb::dict read_stats(AllocatorHandle& self) {
  runtime::MemoryStats stats;
  {
    CachingAllocator& allocator = self.allocator();
    const GilRelease unlocked(true);
    stats = allocator.stats();
  }
  nb::dict result;
  for (const auto& [key, value] : stats.flat()) result[key.c_str()] = value;
  return result;
}

nb::object max_split_size(AllocatorHandle& self) {
  const size_t bytes = self.allocator().conf().max_split_size;
  return bytes == AllocConf::kUnlimited ? nb::none() : nb::cast(bytes);
}

nb::object gc_threshold(AllocatorHandle& self) {
  const double threshold = self.allocator().conf().garbage_collection_threshold;
  return threshold == 0 ? nb::none() : nb::cast(threshold);
}

// torch's names for what is in force.
nb::dict allocator_settings(AllocatorHandle& self) {
  const AllocConf conf = self.allocator().conf();
  nb::dict divisions;
  for (size_t i = 0; i < conf.roundup_power2_divisions.size(); ++i) {
    divisions[std::to_string(size_t{1} << i).c_str()] = conf.roundup_power2_divisions[i];
  }
  nb::dict result;
  result["PYTORCH_CUDA_ALLOC_CONF"] = conf.text;
  const bool limited = conf.max_split_size != AllocConf::kUnlimited;
  result["max_split_size"] = limited ? static_cast<int64_t>(conf.max_split_size) : -1;
  result["garbage_collection_threshold"] = conf.garbage_collection_threshold;
  result["expandable_segments"] = conf.expandable_segments;
  for (const char* key : {"release_lock_on_cudamalloc", "pinned_use_cuda_host_register",
                          "graph_capture_record_stream_reuse"}) {
    result[key] = false;
  }
  result["pinned_num_register_threads"] = 1;
  result["roundup_power2_divisions"] = divisions;
  return result;
}

void configure_history(AllocatorHandle& self,
                       bool enabled,
                       int context,
                       size_t max_entries,
                       const std::vector<std::string>& skip_actions,
                       bool clear) {
  runtime::HistorySettings settings;
  settings.enabled = enabled;
  settings.context = static_cast<runtime::ContextLevel>(context);
  settings.max_entries = max_entries;
  for (const std::string& action : skip_actions) {
    for (int i = 0; i <= static_cast<int>(runtime::TraceAction::kOutOfMemory); ++i) {
      if (runtime::action_name(static_cast<runtime::TraceAction>(i)) == action) {
        settings.skipped_actions |= 1u << i;
      }
    }
  }
  self.allocator().configure_history(settings, clear);
  drop_dead_contexts();
}

nb::list read_segments(AllocatorHandle& self, std::optional<PoolId> pool) {
  std::vector<runtime::SegmentInfo> segments;
  CachingAllocator& allocator = self.allocator();
  {
    const GilRelease unlocked(true);
    segments = allocator.snapshot(pool ? &*pool : nullptr);
  }
  return segments_to_python(segments, allocator.device());
}

// Segments and trace of one moment.
nb::tuple read_segments_and_trace(AllocatorHandle& self) {
  std::vector<runtime::SegmentInfo> segments;
  std::vector<runtime::TraceEntry> trace;
  CachingAllocator& allocator = self.allocator();
  {
    const GilRelease unlocked(true);
    segments = allocator.snapshot(nullptr, &trace);
  }
  return nb::make_tuple(segments_to_python(segments, allocator.device()), trace_to_python(trace));
}

void adopt(AllocatorHandle& self,
           uintptr_t address,
           size_t bytes,
           size_t requested,
           bool large,
           nb::handle stream) {
  self.allocator().adopt(reinterpret_cast<void*>(address), bytes, requested,
                         large ? runtime::PoolKind::kLarge : runtime::PoolKind::kSmall,
                         self.stream_handle(stream.ptr()));
}

void bind_methods(nb::class_<AllocatorHandle>& type) {
  type.def("malloc", &AllocatorHandle::malloc, nb::arg("size"), nb::arg("stream") = nb::none(),
           nb::sig("def malloc(self, size: int, stream: object | None = None) -> int"),
           "The address of at least `size` bytes for work on `stream`; 0 for no bytes.")
      .def("free", &AllocatorHandle::free, nb::arg("ptr"), nb::arg("stream") = nb::none(),
           nb::sig("def free(self, ptr: int, stream: object | None = None) -> None"),
           "Gives a block back; `stream`, if named, used it last.")
      .def("record_stream", &AllocatorHandle::record_stream, nb::arg("ptr"),
           nb::arg("stream").none(), "Work queued on `stream` uses the block, too.")
      .def("owns", &AllocatorHandle::owns, nb::arg("ptr"), "Whether malloc() gave this address.")
      .def("synchronize", &synchronize,
           "Waits for the device; blocks that waited for it are free again.")
      .def("empty_cache", &run<&CachingAllocator::empty_cache>,
           "Gives unused memory back to the device.")
      .def("_maybe_collect_garbage", &run<&CachingAllocator::collect_garbage>)
      .def(
          "_enforce_memory_fraction",
          [](AllocatorHandle& self, nb::handle requested) {
            const size_t bytes = to_byte_count(requested);
            CachingAllocator& allocator = self.allocator();
            const GilRelease unlocked(true);
            allocator.check_memory_fraction(bytes);
          },
          nb::arg("requested"))
      .def("reset_peak_memory_stats", &run<&CachingAllocator::reset_peak_stats>,
           "Every peak becomes the present value.")
      .def("reset_accumulated_memory_stats", &run<&CachingAllocator::reset_accumulated_stats>,
           "Every sum of what was allocated and freed becomes 0.")
      .def("_read_stats", &read_stats)
      .def("_set_reserved_bytes",
           [](AllocatorHandle& self, int64_t bytes) { self.allocator().set_reserved_bytes(bytes); })
      .def("_adopt", &adopt, nb::arg("ptr"), nb::arg("size"), nb::arg("requested"),
           nb::arg("large"), nb::arg("stream").none());
}

void bind_settings_of(nb::class_<AllocatorHandle>& type) {
  type.def_prop_ro("device_id", [](AllocatorHandle& self) { return self.allocator().device(); })
      .def_prop_rw(
          "max_split_size", &max_split_size,
          [](AllocatorHandle& self, std::optional<size_t> bytes) {
            change_conf(self, [&](AllocConf& conf) {
              conf.max_split_size = bytes.value_or(AllocConf::kUnlimited);
            });
          },
          nb::for_setter(nb::arg("value").none()), "Blocks of this size are not split; in bytes.")
      .def_prop_rw(
          "gc_threshold", &gc_threshold,
          [](AllocatorHandle& self, std::optional<double> threshold) {
            MT_CHECK(threshold.value_or(0) >= 0 && threshold.value_or(0) <= 1, ValueError,
                     "gc_threshold must be a number from 0 to 1");
            change_conf(self, [&](AllocConf& conf) {
              conf.garbage_collection_threshold = threshold.value_or(0);
            });
          },
          nb::for_setter(nb::arg("value").none()),
          "The part of the device above which cached memory is given back.")
      .def_prop_rw(
          "memory_fraction",
          [](AllocatorHandle& self) { return self.allocator().memory_fraction(); },
          [](AllocatorHandle& self, double fraction) {
            self.allocator().set_memory_fraction(fraction);
          },
          "The part of the device that may be reserved.")
      .def("_set_conf",
           [](AllocatorHandle& self, const std::string& text) {
             self.allocator().set_conf(AllocConf::parse(text, [](const std::string&) {}));
           })
      .def("_allocator_settings", &allocator_settings);
}

void bind_history(nb::class_<AllocatorHandle>& type) {
  type.def("_configure_history", &configure_history, nb::arg("enabled"), nb::arg("context"),
           nb::arg("max_entries"), nb::arg("skip_actions"), nb::arg("clear"))
      .def("_history_enabled",
           [](AllocatorHandle& self) { return self.allocator().history().enabled(); })
      .def("_segments", &read_segments, nb::arg("pool") = nb::none())
      .def("_segments_and_trace", &read_segments_and_trace)
      .def("_trace", [](AllocatorHandle& self) {
        return trace_to_python(self.allocator().history().entries());
      });
}

void bind_pools(nb::class_<AllocatorHandle>& type) {
  type.def("_retain_pool",
           [](AllocatorHandle& self, PoolId id, bool use_on_oom, bool no_split) {
             self.allocator().retain_pool(id, use_on_oom, no_split);
           })
      .def("_release_pool",
           [](AllocatorHandle& self, PoolId id) { self.allocator().release_pool(id); })
      .def("_pool_use_count",
           [](AllocatorHandle& self, PoolId id) { return self.allocator().pool_use_count(id); })
      .def("_begin_pool_scope",
           [](AllocatorHandle& self, PoolId id) { self.allocator().begin_pool_scope(id); })
      .def("_end_pool_scope",
           [](AllocatorHandle& self, PoolId id) { self.allocator().end_scope(id); });
}

}  // namespace

void bind_allocator_handle(nb::module_& module) {
  nb::class_<AllocatorHandle> type(module, "_Allocator", "Device memory of one device.",
                                   nb::is_weak_referenceable(), nb::dynamic_attr());
  bind_methods(type);
  bind_settings_of(type);
  bind_history(type);
  bind_pools(type);
}

}  // namespace mindtorch::python
