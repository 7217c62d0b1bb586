// Allocators as Python classes, and the alloc conf.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/interpreter_end.h"
#include "bindings/interpreter/python_context.h"
#include "bindings/memory/allocator_handle.h"
#include "bindings/memory/python_driver.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/hooks.h"
#include "mindtorch/tensor/device.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

using runtime::AllocConf;
using runtime::CachingAllocator;

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
  const PyRef collector = PyRef::maybe(call_python([] { return PyImport_ImportModule("gc"); }));
  if (!collector) return false;
  PyRef::maybe(
      call_python([&] { return PyObject_CallMethod(collector.get(), "collect", nullptr); }));
  return g_blocks_freed != before;
}

AllocConf parse_conf(const std::string& text) {
  // Python has warned of mistakes already.
  return AllocConf::parse(text, [](const std::string&) {});
}

// With the methods of a Python object as the driver of its one device.
class PyAllocator final : public AllocatorHandle {
 public:
  PyAllocator(PyObject* self, int device, std::string kind, const std::string& conf)
      : driver_(self, std::move(kind)), events_(driver_, device) {
    MT_CHECK(device >= 0, ValueError, "a device index must not be negative, but got ", device);
    allocator_.emplace(driver_, device, events_, async_errors_, parse_conf(conf));
  }
  ~PyAllocator() override { driver_.forget_owner(); }

  CachingAllocator& allocator() override {
    MT_CHECK(allocator_.has_value(), RuntimeError, "this allocator is closed");
    return *allocator_;
  }
  driver::StreamHandle stream_handle(PyObject* stream) override {
    return driver_.stream_handle(stream);
  }
  void wait() override {
    driver_.wait_device(allocator().device());
    allocator().process_events();
    async_errors_.raise_any();
  }

  void close() noexcept {
    driver_.retire();
    const GilRelease unlocked(true);
    allocator_.reset();
  }

 private:
  runtime::Block* allocate(size_t bytes, driver::StreamHandle stream) override {
    try {
      return AllocatorHandle::allocate(bytes, stream);
    } catch (const OutOfMemoryError&) {
      set_python_error();
      if (const auto refusal = driver_.take_refusal()) refusal->become_cause();
      throw PythonError();
    }
  }

  PythonDriver driver_;
  runtime::EventPool events_;
  runtime::AsyncErrors async_errors_;
  std::optional<CachingAllocator> allocator_;
};

// The memory that tensors of a device come from.
class RuntimeAllocator final : public AllocatorHandle {
 public:
  RuntimeAllocator(const std::string& kind, int device)
      : runtime_(runtime::runtime_for(kind, device)) {}

  CachingAllocator& allocator() override {
    runtime_.check_usable();
    return runtime_.memory();
  }
  // None: the current one.
  driver::StreamHandle stream_handle(PyObject* stream) override {
    if (stream == Py_None) return runtime::current_stream(runtime_).handle();
    if (nb::isinstance<runtime::Stream>(stream)) {
      return nb::cast<const runtime::Stream&>(nb::handle(stream)).handle();
    }
    return reinterpret_cast<driver::StreamHandle>(nb::cast<uintptr_t>(nb::handle(stream)));
  }
  void wait() override { runtime_.synchronize(); }

 private:
  runtime::DeviceRuntime& runtime_;
};

nb::dict settings_to_python(const AllocConf& conf) {
  nb::dict result;
  for (const auto& [key, value] : conf.settings) {
    result[key.c_str()] = std::visit([](const auto& v) { return nb::cast(v); }, value);
  }
  return result;
}

nb::list devices_in_use(const std::string& kind) {
  nb::list devices;
  const runtime::Accelerator* const accelerator = runtime::find_accelerator(kind);
  if (accelerator == nullptr || !accelerator->initialized()) return devices;
  for (int i = 0; i < runtime::Accelerator::kMaxDevices; ++i) {
    if (accelerator->find_runtime(i) != nullptr) devices.append(i);
  }
  return devices;
}

}  // namespace

void bind_memory(nb::module_& module) {
  if (add_driver_errors(module.ptr()) < 0) throw nb::python_error();
  runtime::hooks().on_memory_pressure.add(&collect_python_garbage);
  bind_allocator_handle(module);
  nb::class_<PyAllocator, AllocatorHandle>(
      module, "_CachingAllocator",
      "Device memory of one device. The methods of the object are its driver; subclasses have\n"
      "_raw_malloc, _raw_free, _mem_get_info, _sync_device, _record_event and _event_complete.",
      nb::is_weak_referenceable(), nb::dynamic_attr())
      .def(
          "__init__",
          [](nb::pointer_and_handle<PyAllocator> self, int device_id, std::string kind,
             const std::string& conf) {
            new (self.p) PyAllocator(self.h.ptr(), device_id, std::move(kind), conf);
          },
          nb::arg("device_id") = 0, nb::arg("kind") = "device", nb::arg("conf") = "")
      .def("_close", &PyAllocator::close);
  nb::class_<RuntimeAllocator, AllocatorHandle>(module, "_RuntimeAllocator",
                                                "The memory that tensors of a device come from.",
                                                nb::is_weak_referenceable(), nb::dynamic_attr())
      .def(nb::init<const std::string&, int>(), nb::arg("kind"), nb::arg("device_id"));
  module.def("_devices_in_use", &devices_in_use, nb::arg("kind"));
  module.def(
      "_alloc_conf_environment",
      [](const std::string& kind) {
        return AllocConf::environment_text(device_row(Device::parse(kind).type));
      },
      nb::arg("kind"));
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
