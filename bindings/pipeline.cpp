// torch.pipeline(): deferred execution, as Python sees it.
#include "mindtorch/dispatch/pipeline.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "interpreter_end.h"
#include "python_ref.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

using dispatch::CallSite;
using dispatch::CallSiteText;
using dispatch::Pipeline;
using dispatch::PipelineConfig;
using dispatch::PipelineError;

// The running Python function and its place in it. The frame object is made once per activation,
// so that many ops of one function cost little.
CallSite capture() noexcept {
  if (PyGILState_Check() == 0) return {};
  PyFrameObject* const frame = PyEval_GetFrame();
  if (frame == nullptr) return {};
  CallSite site;
  site.code = PyFrame_GetCode(frame);
#if PY_VERSION_HEX >= 0x030B0000
  site.position = PyFrame_GetLasti(frame);
#else
  site.position = frame->f_lasti < 0 ? -1 : frame->f_lasti * 2;
#endif
  return site;
}

void release(std::span<const CallSite> sites) noexcept {
  if (sites.empty() || interpreter_ends()) return;
  const GilHold gil;
  for (const CallSite& site : sites) Py_DECREF(static_cast<PyObject*>(site.code));
}

CallSiteText describe(CallSite site) {
  if (interpreter_ends()) return {};
  const GilHold gil;
  auto* const code = static_cast<PyCodeObject*>(site.code);
  const auto text = [](PyObject* string) -> std::string {
    const char* const utf8 = PyUnicode_AsUTF8(string);
    if (utf8 == nullptr) PyErr_Clear();
    return utf8 == nullptr ? "?" : utf8;
  };
  return {text(code->co_filename), PyCode_Addr2Line(code, site.position), text(code->co_name)};
}

void* let_others_run() noexcept { return PyGILState_Check() == 1 ? PyEval_SaveThread() : nullptr; }
void come_back(void* state) noexcept {
  if (state != nullptr) PyEval_RestoreThread(static_cast<PyThreadState*>(state));
}

nb::object error_of(const Pipeline& pipeline) {
  const std::optional<PipelineError> error = pipeline.last_error();
  if (!error) return nb::none();
  nb::dict fields;
  fields["flush_id"] = error->flush_id;
  fields["op_seq"] = error->op_number;
  fields["op_name"] = error->op_name;
  fields["schema"] = error->schema;
  fields["phase"] = error->phase;
  fields["backend"] = error->device;
  nb::dict site;
  site["file"] = error->site.file;
  site["line"] = error->site.line;
  site["func"] = error->site.function;
  fields["callsite"] = site;
  fields["read_set"] = error->reads;
  fields["write_set"] = error->writes;
  fields["message"] = error->message;
  return fields;
}

}  // namespace

void bind_pipeline(nb::module_& module) {
  dispatch::call_site_hooks() = {&capture, &release, &describe, &let_others_run, &come_back};

  nb::class_<Pipeline>(module, "_Pipeline")
      .def(
          "__init__",
          [](Pipeline* self, std::optional<int64_t> max_ops,
             std::optional<int64_t> max_pending_bytes, std::optional<int64_t> max_wait_us,
             std::optional<int64_t> min_defer_ops, bool debug_enabled) {
            PipelineConfig config;
            config.max_ops = max_ops;
            config.max_pending_bytes = max_pending_bytes;
            config.max_wait_us = max_wait_us;
            config.min_defer_ops = min_defer_ops;
            config.debug_enabled = debug_enabled;
            new (self) Pipeline(config);
          },
          nb::kw_only(), nb::arg("max_ops") = nb::none(), nb::arg("max_pending_bytes") = nb::none(),
          nb::arg("max_wait_us") = nb::none(), nb::arg("min_defer_ops") = nb::none(),
          nb::arg("debug_enabled") = false)
      .def("flush", [](Pipeline& self, const std::string& reason) { self.flush(reason); })
      .def("pending_count", &Pipeline::pending_count)
      .def_prop_ro("flush_id", &Pipeline::flush_id)
      .def_prop_ro("last_flush_reason", &Pipeline::last_flush_reason)
      .def("_error", &error_of);
  // The pipeline that takes this thread's ops; what was there before comes back.
  module.def(
      "_set_pipeline", [](Pipeline* pipeline) { Pipeline::make_current(pipeline); },
      nb::arg("pipeline").none());
}

}  // namespace mindtorch::python
