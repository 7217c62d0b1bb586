#include "bindings/args/default_device.h"

#include <nanobind/nanobind.h>

#include "bindings/tensor/py_types.h"

namespace nb = nanobind;

namespace mindtorch::python {

bool g_default_device_used = false;

namespace {

thread_local std::optional<Device> t_device;

}  // namespace

std::optional<Device> thread_default_device() { return t_device; }

void bind_default_device(nb::module_& module) {
  module.def(
      "_set_default_device",
      [](nb::handle device) {
        const nb::object before = t_device ? nb::steal(wrap_device(*t_device)) : nb::none();
        if (device.is_none()) {
          t_device.reset();
        } else {
          t_device = to_device(device.ptr());
          g_default_device_used = true;
        }
        return before;
      },
      nb::arg("device").none());
  module.def("_get_default_device", []() -> nb::object {
    return t_device ? nb::steal(wrap_device(*t_device)) : nb::none();
  });
}

}  // namespace mindtorch::python
