// The switches behind torch.autocast.
#include "mindtorch/autocast/autocast.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings/tensor/device_names.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/dispatch/eager/layers.h"
#include "mindtorch/ops/registry.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

nb::dict autocast_policies() {
  static constexpr const char* kNames[] = {"none",           "lower precision", "float32",
                                           "float32 result", "widest",          "refused"};
  nb::dict policies;
  for (const ops::Op& op : ops::registry().ops()) {
    policies[op.schema.full_name().c_str()] =
        nb::make_tuple(kNames[static_cast<int>(op.autocast.cpu)],
                       kNames[static_cast<int>(op.autocast.accelerator)]);
  }
  return policies;
}

}  // namespace

void bind_autocast(nb::module_& module) {
  const auto type_of = [](const std::string& name) { return parse_device(name).type; };
  module.def(
      "_is_autocast_enabled",
      [=](const std::string& type) { return autocast::is_enabled(type_of(type)); },
      nb::arg("device_type"));
  module.def(
      "_set_autocast_enabled",
      [=](const std::string& type, bool enabled) { autocast::set_enabled(type_of(type), enabled); },
      nb::arg("device_type"), nb::arg("enabled"));
  module.def(
      "_get_autocast_dtype",
      [=](const std::string& type) {
        return nb::borrow(dtype_object(autocast::dtype(type_of(type))));
      },
      nb::arg("device_type"));
  module.def(
      "_set_autocast_dtype",
      [=](const std::string& type, nb::handle dtype) {
        MT_CHECK(is_dtype(dtype.ptr()), TypeError, "dtype must be a torch.dtype (got ",
                 Py_TYPE(dtype.ptr())->tp_name, ")");
        autocast::set_dtype(type_of(type), to_dtype(dtype.ptr()));
      },
      nb::arg("device_type"), nb::arg("dtype"));
  module.def("_autocast_policies", &autocast_policies,
             "By op: the policies on CPUs and on accelerators.");
  module.def("is_autocast_cache_enabled", &autocast::is_cache_enabled);
  module.def("set_autocast_cache_enabled", &autocast::set_cache_enabled, nb::arg("enabled"));
  module.def("clear_autocast_cache", &autocast::clear_cache);
  module.def("autocast_increment_nesting", &autocast::increment_nesting);
  module.def("autocast_decrement_nesting", &autocast::decrement_nesting);
  module.def(
      "_is_any_autocast_enabled",
      [] {
        return (dispatch::thread_layers().enabled & dispatch::bit(dispatch::Layer::kAutocast)) != 0;
      },
      "On this thread, for any device type.");
}

}  // namespace mindtorch::python
