// Streams and events of accelerators. Python's classes (_streams.py) derive from these.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <string>

#include "bindings/interpreter/python_ref.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/event.h"
#include "mindtorch/runtime/stream.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

using runtime::Event;
using runtime::EventFlags;
using runtime::Stream;

uintptr_t handle_of(const Stream& stream) { return reinterpret_cast<uintptr_t>(stream.handle()); }

void make_stream(Stream* self,
                 const std::string& kind,
                 int device,
                 int priority,
                 std::optional<uintptr_t> handle) {
  runtime::DeviceRuntime& runtime = runtime::runtime_for(kind, device);
  new (self)
      Stream(handle ? runtime.external_stream(reinterpret_cast<driver::StreamHandle>(*handle))
                    : runtime.pool_stream(priority));
}

void bind_stream(nb::module_& module) {
  nb::class_<Stream>(module, "_Stream", nb::is_weak_referenceable(), nb::dynamic_attr())
      .def("__init__", &make_stream, nb::arg("kind"), nb::arg("device"), nb::arg("priority") = 0,
           nb::arg("handle") = nb::none())
      .def("__init__", [](Stream* self, const Stream& other) { new (self) Stream(other); })
      .def_prop_ro("_kind", [](const Stream& self) { return self.runtime().accelerator().kind(); })
      .def_prop_ro("device_index", &Stream::device)
      .def_prop_ro("stream_id", &Stream::id)
      .def_prop_ro("priority", &Stream::priority)
      .def_prop_ro("native_handle", &handle_of)
      .def("_query", &Stream::query)
      .def("_synchronize",
           [](const Stream& self) {
             const GilRelease unlocked(true);
             self.synchronize();
           })
      .def("_wait_stream", &Stream::wait_stream)
      .def("_is_capturing", &Stream::is_capturing)
      .def(
          "__eq__",
          [](const Stream& self, nb::handle other) {
            return nb::isinstance<Stream>(other) && nb::cast<const Stream&>(other) == self;
          },
          nb::arg("other").none())
      .def("__hash__", [](const Stream& self) { return std::hash<const void*>()(&self.state()); });
  module.def("_check_can_share_events",
             [](const std::string& kind) { Event::check_can_share(runtime::accelerator(kind)); });
  module.def("_current_stream", [](const std::string& kind, int device) {
    return runtime::current_stream(runtime::runtime_for(kind, device));
  });
  module.def("_default_stream", [](const std::string& kind, int device) {
    return runtime::runtime_for(kind, device).default_stream();
  });
  module.def("_find_stream", [](const std::string& kind, int device, int64_t id) {
    return runtime::runtime_for(kind, device).find_stream(id);
  });
  module.def("_set_stream", &runtime::set_stream);
  module.def("_set_current_stream", &runtime::set_current_stream);
  module.def("_stream_priority_range", [](const std::string& kind, int device) {
    return runtime::runtime_for(kind, device).priority_range();
  });
}

EventFlags event_flags(bool enable_timing, bool blocking, bool shared) {
  EventFlags flags = enable_timing ? EventFlags::kTiming : EventFlags::kNone;
  if (blocking) flags = flags | EventFlags::kBlockingWait;
  return shared ? flags | EventFlags::kShared : flags;
}

void make_event(Event* self, bool enable_timing, bool blocking, bool shared) {
  new (self) Event(event_flags(enable_timing, blocking, shared));
}

void bind_event(nb::module_& module) {
  nb::class_<Event>(module, "_Event", nb::is_weak_referenceable(), nb::dynamic_attr())
      .def("__init__", &make_event, nb::arg("enable_timing") = false, nb::arg("blocking") = false,
           nb::arg("shared") = false)
      .def_prop_ro("_kind",
                   [](const Event& self) -> std::optional<std::string> {
                     if (!self.recorded()) return std::nullopt;
                     return self.runtime()->accelerator().kind();
                   })
      .def_prop_ro("_device_index",
                   [](const Event& self) -> std::optional<int> {
                     if (!self.recorded()) return std::nullopt;
                     return self.runtime()->device();
                   })
      .def_prop_ro("event_id",
                   [](const Event& self) { return reinterpret_cast<uintptr_t>(self.handle()); })
      .def("_record", &Event::record)
      .def("_wait", &Event::block)
      .def("_query", &Event::query)
      .def("_elapsed_time", &Event::elapsed_time)
      .def("_share",
           [](const Event& self) {
             const std::string shared = self.share();
             return nb::bytes(shared.data(), shared.size());
           })
      .def("_open",
           [](Event& self, const std::string& kind, int device, nb::bytes shared) {
             self = Event::open(runtime::runtime_for(kind, device), {shared.c_str(), shared.size()},
                                self.flags());
           })
      .def("_synchronize", [](const Event& self) {
        const GilRelease unlocked(true);
        self.synchronize();
      });
}

}  // namespace

void bind_streams(nb::module_& module) {
  bind_stream(module);
  bind_event(module);
}

}  // namespace mindtorch::python
