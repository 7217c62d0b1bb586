// The caching allocator as a Python class, and the alloc conf.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "errors.h"
#include "interpreter_end.h"
#include "memory_snapshot.h"
#include "mindtorch/runtime/caching_allocator.h"
#include "mindtorch/runtime/hooks.h"
#include "python_context.h"
#include "python_driver.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

using runtime::AllocConf;
using runtime::CachingAllocator;
using runtime::PoolId;

// Blocks that Python code gave back, of all allocators.
std::atomic<uint64_t> g_blocks_freed{0};

// Python's collector does nothing for a thread that calls it while another one is in it. A thread
// that needs memory waits for the other instead; not for ever, since a finalizer of the other may
// wait for something that this thread holds.
class CollectorTurn {
 public:
  CollectorTurn() {
    const GilRelease unlocked(PyGILState_Check() == 1);
    std::unique_lock lock(state().mutex);
    mine_ = !std::exchange(state().taken, true);
    if (!mine_) state().left.wait_for(lock, kLongest, [] { return !state().taken; });
  }
  ~CollectorTurn() {
    if (!mine_) return;
    const std::lock_guard lock(state().mutex);
    state().taken = false;
    state().left.notify_all();
  }
  CollectorTurn(const CollectorTurn&) = delete;
  CollectorTurn& operator=(const CollectorTurn&) = delete;

  bool mine() const { return mine_; }

 private:
  static constexpr std::chrono::seconds kLongest{1};
  struct State {
    std::mutex mutex;
    std::condition_variable left;
    bool taken = false;
  };
  static State& state() {
    static State& state = *new State;
    return state;
  }
  bool mine_ = false;
};

// Memory that only unreachable Python objects hold is freed by Python's collector, also where a
// program has switched it off.
bool collect_python_garbage() {
  if (Py_IsInitialized() == 0) return false;
  const uint64_t before = g_blocks_freed;
  const CollectorTurn turn;
  if (!turn.mine()) return g_blocks_freed != before;
  const GilHold gil;
  const PyRef collector = PyRef::maybe(PyImport_ImportModule("gc"));
  if (!collector) return false;
  PyRef::maybe(
      call_python([&] { return PyObject_CallMethod(collector.get(), "collect", nullptr); }));
  return g_blocks_freed != before;
}

AllocConf parse_conf(const std::string& text) {
  return AllocConf::parse(text, [](const std::string&) {});  // whoever wrote it was told
}

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

// The allocator of one device, with the methods of the Python object as its driver.
class PyAllocator {
 public:
  PyAllocator(PyObject* self, int device, std::string kind, const std::string& conf)
      : driver_(self, std::move(kind)), events_(driver_, device) {
    MT_CHECK(device >= 0, ValueError, "a device index must not be negative, but got ", device);
    allocator_.emplace(driver_, device, events_, late_errors_, parse_conf(conf));
  }
  ~PyAllocator() { driver_.forget_owner(); }
  PyAllocator(const PyAllocator&) = delete;
  PyAllocator& operator=(const PyAllocator&) = delete;

  CachingAllocator& allocator() {
    MT_CHECK(allocator_.has_value(), RuntimeError, "this allocator is closed");
    return *allocator_;
  }
  PythonDriver& driver() { return driver_; }

  uintptr_t malloc(nb::handle size, nb::handle stream) {
    const size_t bytes = to_byte_count(size);
    const driver::StreamHandle handle = driver_.stream_handle(stream.ptr());
    runtime::Block* const block = allocate(bytes, handle);
    if (block == nullptr) return 0;
    const auto address = reinterpret_cast<uintptr_t>(block->data);
    const std::lock_guard lock(mutex_);
    blocks_[address] = block;
    return address;
  }

  void free(nb::handle pointer, nb::handle stream) {
    const uintptr_t address = to_address(pointer);
    const std::string text = nb::str(pointer).c_str();
    if (text == "0") return;
    const driver::StreamHandle handle = driver_.stream_handle(stream.ptr());
    CachingAllocator& allocator = this->allocator();
    const GilRelease unlocked(true);
    runtime::Block* const block = find(address, true);
    MT_CHECK(block != nullptr, RuntimeError, "invalid device pointer: ", text);
    if (!stream.is_none()) allocator.record_stream(block, handle);
    allocator.release(block);
    ++g_blocks_freed;
  }

  void record_stream(nb::handle pointer, nb::handle stream) {
    const driver::StreamHandle handle = driver_.stream_handle(stream.ptr());
    // As torch does, memory of others is left alone.
    allocator().record_stream(find(to_address(pointer), false), handle);
  }

  bool owns(nb::handle pointer) { return find(to_address(pointer), false) != nullptr; }

  void synchronize() {
    CachingAllocator& allocator = this->allocator();
    const GilRelease unlocked(true);
    driver_.wait_device(allocator.device());
    allocator.process_events();
    late_errors_.raise_any();
  }

  void close() noexcept {
    driver_.retire();
    const GilRelease unlocked(true);
    allocator_.reset();
  }

 private:
  runtime::Block* allocate(size_t bytes, driver::StreamHandle stream) {
    CachingAllocator& allocator = this->allocator();
    try {
      const GilRelease unlocked(true);
      return allocator.allocate(bytes, stream);
    } catch (const OutOfMemoryError&) {
      set_python_error();
      if (const auto refusal = driver_.take_refusal()) refusal->become_cause();
      throw PythonError();
    }
  }

  runtime::Block* find(uintptr_t address, bool erase) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) return nullptr;
    runtime::Block* const block = found->second;
    if (erase) blocks_.erase(found);
    return block;
  }

  PythonDriver driver_;
  runtime::EventPool events_;
  runtime::LateErrors late_errors_;
  std::optional<CachingAllocator> allocator_;
  std::mutex mutex_;
  std::unordered_map<uintptr_t, runtime::Block*> blocks_;
};

// Calls a member function of the allocator without the GIL.
template <auto kFunction>
void run(PyAllocator& self) {
  CachingAllocator& allocator = self.allocator();
  const GilRelease unlocked(true);
  (allocator.*kFunction)();
}

template <typename Change>
void change_conf(PyAllocator& self, const Change& change) {
  AllocConf conf = self.allocator().conf();
  change(conf);
  self.allocator().set_conf(conf);
}

nb::dict read_stats(PyAllocator& self) {
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

nb::dict settings_to_python(const AllocConf& conf) {
  nb::dict result;
  for (const auto& [key, value] : conf.settings) {
    result[key.c_str()] = std::visit([](const auto& v) { return nb::cast(v); }, value);
  }
  return result;
}

nb::object max_split_size(PyAllocator& self) {
  const size_t bytes = self.allocator().conf().max_split_size;
  return bytes == AllocConf::kUnlimited ? nb::none() : nb::cast(bytes);
}

nb::object gc_threshold(PyAllocator& self) {
  const double threshold = self.allocator().conf().garbage_collection_threshold;
  return threshold == 0 ? nb::none() : nb::cast(threshold);
}

// torch's names for what is in force.
nb::dict allocator_settings(PyAllocator& self) {
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

void configure_history(PyAllocator& self,
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

nb::list read_segments(PyAllocator& self, std::optional<PoolId> pool) {
  std::vector<runtime::SegmentInfo> segments;
  CachingAllocator& allocator = self.allocator();
  {
    const GilRelease unlocked(true);
    segments = allocator.snapshot(pool ? &*pool : nullptr);
  }
  return segments_to_python(segments, allocator.device());
}

// Segments and trace of one moment.
nb::tuple read_segments_and_trace(PyAllocator& self) {
  std::vector<runtime::SegmentInfo> segments;
  std::vector<runtime::TraceEntry> trace;
  CachingAllocator& allocator = self.allocator();
  {
    const GilRelease unlocked(true);
    segments = allocator.snapshot(nullptr, &trace);
  }
  return nb::make_tuple(segments_to_python(segments, allocator.device()), trace_to_python(trace));
}

void adopt(PyAllocator& self,
           uintptr_t address,
           size_t bytes,
           size_t requested,
           bool large,
           nb::handle stream) {
  self.allocator().adopt(reinterpret_cast<void*>(address), bytes, requested,
                         large ? runtime::PoolKind::kLarge : runtime::PoolKind::kSmall,
                         self.driver().stream_handle(stream.ptr()));
}

void bind_methods(nb::class_<PyAllocator>& type) {
  type.def("malloc", &PyAllocator::malloc, nb::arg("size"), nb::arg("stream") = nb::none(),
           nb::sig("def malloc(self, size: int, stream: object | None = None) -> int"),
           "The address of at least `size` bytes for work on `stream`; 0 for no bytes.")
      .def("free", &PyAllocator::free, nb::arg("ptr"), nb::arg("stream") = nb::none(),
           nb::sig("def free(self, ptr: int, stream: object | None = None) -> None"),
           "Gives a block back; `stream`, if named, used it last.")
      .def("record_stream", &PyAllocator::record_stream, nb::arg("ptr"), nb::arg("stream").none(),
           "Work queued on `stream` uses the block, too.")
      .def("owns", &PyAllocator::owns, nb::arg("ptr"), "Whether malloc() gave this address.")
      .def("synchronize", &PyAllocator::synchronize,
           "Waits for the device; blocks that waited for it are free again.")
      .def("empty_cache", &run<&CachingAllocator::empty_cache>,
           "Gives memory that nobody uses back to the device.")
      .def("_maybe_collect_garbage", &run<&CachingAllocator::collect_garbage>)
      .def(
          "_enforce_memory_fraction",
          [](PyAllocator& self, nb::handle requested) {
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
           [](PyAllocator& self, int64_t bytes) { self.allocator().set_reserved_bytes(bytes); })
      .def("_adopt", &adopt, nb::arg("ptr"), nb::arg("size"), nb::arg("requested"),
           nb::arg("large"), nb::arg("stream").none())
      .def("_close", &PyAllocator::close);
}

void bind_settings_of(nb::class_<PyAllocator>& type) {
  type.def_prop_ro("device_id", [](PyAllocator& self) { return self.allocator().device(); })
      .def_prop_rw(
          "max_split_size", &max_split_size,
          [](PyAllocator& self, std::optional<size_t> bytes) {
            change_conf(self, [&](AllocConf& conf) {
              conf.max_split_size = bytes.value_or(AllocConf::kUnlimited);
            });
          },
          nb::for_setter(nb::arg("value").none()), "Blocks of this size are not split; in bytes.")
      .def_prop_rw(
          "gc_threshold", &gc_threshold,
          [](PyAllocator& self, std::optional<double> threshold) {
            MT_CHECK(threshold.value_or(0) >= 0 && threshold.value_or(0) <= 1, ValueError,
                     "gc_threshold must be a number from 0 to 1");
            change_conf(self, [&](AllocConf& conf) {
              conf.garbage_collection_threshold = threshold.value_or(0);
            });
          },
          nb::for_setter(nb::arg("value").none()),
          "The part of the device above which cached memory is given back.")
      .def_prop_rw(
          "memory_fraction", [](PyAllocator& self) { return self.allocator().memory_fraction(); },
          [](PyAllocator& self, double fraction) {
            self.allocator().set_memory_fraction(fraction);
          },
          "The part of the device that may be reserved.")
      .def("_set_conf",
           [](PyAllocator& self, const std::string& text) {
             self.allocator().set_conf(parse_conf(text));
           })
      .def("_allocator_settings", &allocator_settings);
}

void bind_history(nb::class_<PyAllocator>& type) {
  type.def("_configure_history", &configure_history, nb::arg("enabled"), nb::arg("context"),
           nb::arg("max_entries"), nb::arg("skip_actions"), nb::arg("clear"))
      .def("_history_enabled",
           [](PyAllocator& self) { return self.allocator().history().enabled(); })
      .def("_segments", &read_segments, nb::arg("pool") = nb::none())
      .def("_segments_and_trace", &read_segments_and_trace)
      .def("_trace",
           [](PyAllocator& self) { return trace_to_python(self.allocator().history().entries()); });
}

void bind_pools(nb::class_<PyAllocator>& type) {
  type.def("_retain_pool",
           [](PyAllocator& self, PoolId id, bool use_on_oom, bool no_split) {
             self.allocator().retain_pool(id, use_on_oom, no_split);
           })
      .def("_release_pool", [](PyAllocator& self, PoolId id) { self.allocator().release_pool(id); })
      .def("_pool_use_count",
           [](PyAllocator& self, PoolId id) { return self.allocator().pool_use_count(id); })
      .def("_begin_pool_scope",
           [](PyAllocator& self, PoolId id) { self.allocator().begin_pool_scope(id); })
      .def("_end_pool_scope", [](PyAllocator& self, PoolId id) { self.allocator().end_scope(id); });
}

}  // namespace

void bind_memory(nb::module_& module) {
  if (add_driver_errors(module.ptr()) < 0) throw nb::python_error();
  if (watch_interpreter_end() < 0) throw nb::python_error();
  runtime::set_context_source(&take_python_context);
  runtime::hooks().on_memory_pressure.add(&collect_python_garbage);
  nb::class_<PyAllocator> type(
      module, "_CachingAllocator",
      "Device memory of one device. The methods of the object are its driver; subclasses have\n"
      "_raw_malloc, _raw_free, _mem_get_info, _sync_device, _record_event and _event_complete.",
      nb::is_weak_referenceable(), nb::dynamic_attr());
  type.def(
      "__init__",
      [](nb::pointer_and_handle<PyAllocator> self, int device_id, std::string kind,
         const std::string& conf) {
        new (self.p) PyAllocator(self.h.ptr(), device_id, std::move(kind), conf);
      },
      nb::arg("device_id") = 0, nb::arg("kind") = "npu", nb::arg("conf") = "");
  bind_methods(type);
  bind_settings_of(type);
  bind_history(type);
  bind_pools(type);
  module.def("_alloc_conf_environment", &AllocConf::environment_text);
  module.def(
      "_parse_alloc_conf",
      [](const std::string& text) {
        nb::list warnings;
        const AllocConf conf = AllocConf::parse(
            text, [&warnings](const std::string& warning) { warnings.append(warning); });
        return nb::make_tuple(settings_to_python(conf), warnings);
      },
      nb::arg("text"));
}

}  // namespace mindtorch::python
