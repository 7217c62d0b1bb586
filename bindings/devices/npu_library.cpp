// Which library is behind torch.npu: CANN's, the simulator, or none, and why.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_line.h"
#include "bindings/interpreter/python_ref.h"
#include "mindtorch/backends/ascend/acl_api.h"
#include "mindtorch/backends/ascend/patterns/patterns.h"
#include "mindtorch/backends/ascend/used_ops.h"
#include "mindtorch/base/error.h"
#include "mindtorch/runtime/hooks.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

constexpr const char* kChoices[] = {"auto", "cann", "sim", "off"};

const char* choice_name(ascend::Choice choice) { return kChoices[static_cast<int>(choice)]; }

void choose(const std::string& name) {
  for (int i = 0; i < 4; ++i) {
    if (name == kChoices[i]) return ascend::choose(static_cast<ascend::Choice>(i));
  }
  MT_THROW(ValueError, "the NPU library is one of auto, cann, sim, off, not ", name);
}

nb::dict load_report() {
  const ascend::LoadReport& report = ascend::load_report();
  nb::list attempts;
  for (const ascend::Attempt& attempt : report.attempts) {
    attempts.append(nb::make_tuple(attempt.library, attempt.path, attempt.reason));
  }
  nb::dict result;
  result["choice"] = choice_name(report.choice);
  result["usable"] = report.usable;
  result["simulated"] = report.simulated;
  result["reason"] = report.reason;
  result["attempts"] = attempts;
  result["missing_required"] = report.missing_required;
  result["missing_optional"] = report.missing_optional;
  return result;
}

// Reports of the simulator's checks are raised by the next call that waits for a device.
void raise_reports(runtime::SyncPoint point) {
  using runtime::SyncPoint;
  if (point == SyncPoint::kRecordEvent || point == SyncPoint::kQueryStream ||
      point == SyncPoint::kSwitchStream) {
    return;
  }
  const GilHold gil;
  const PyRef simulator =
      PyRef::maybe(call_python([] { return PyImport_ImportModule("mindtorch_v2.npu.simulator"); }));
  if (!simulator) return;
  PyObject* const done = call_python(
      [&] { return PyObject_CallMethod(simulator.get(), "_after_synchronize", nullptr); });
  if (done == nullptr) throw CarriedError::take();
  Py_DECREF(done);
}

void raise_reports_at_sync(bool wanted) {
  if (wanted) {
    runtime::hooks().before_sync.add(&raise_reports);
  } else {
    runtime::hooks().before_sync.remove(&raise_reports);
  }
}

}  // namespace

void bind_npu_library(nb::module_& module) {
  ascend::set_site_callback(&python_line);
  module.def(
      "_npu_aclnn_available", [] { return ascend::load_report().usable; },
      "Whether ACLNN ops can run: a library and a device were found.");
  module.def(
      "_npu_aclnn_symbols_ok",
      [] { return ascend::load_report().usable && ascend::missing_ops().empty(); },
      "Whether the library has every ACLNN op that is used.");
  module.def("_npu_missing_ops", &ascend::missing_ops);
  module.def("_npu_used_ops", [] { return ascend::used_ops(); });
  module.def(
      "_npu_call_patterns",
      [] {
        nb::list rows;
        for (const ops::CallPattern& each : ascend::all_call_patterns()) {
          const auto text = [](std::string_view part) { return nb::str(part.data(), part.size()); };
          rows.append(nb::make_tuple(text(each.name), text(each.expression), text(each.calls),
                                     text(each.proof)));
        }
        return rows;
      },
      "Patterns of recorded ops that run as CANN's fused ops: name, expression, ops, test.");
  module.def("_npu_versions", [] {
    nb::dict versions;
    for (const auto& [package, version] : ascend::cann_versions()) {
      versions[package.c_str()] = version;
    }
    return versions;
  });
  module.def("_npu_raise_reports_at_sync", &raise_reports_at_sync, nb::arg("wanted"));
  module.def("_npu_choose", &choose, nb::arg("library"));
  module.def("_npu_chosen", [] { return choice_name(ascend::chosen()); });
  module.def("_npu_is_in_use", &ascend::is_in_use);
  module.def("_npu_load_report", &load_report);
  module.def("_npu_simulator_folder", &ascend::simulator_folder);
}

}  // namespace mindtorch::python
