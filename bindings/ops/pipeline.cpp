// torch.pipeline(): deferred execution, as Python sees it.
#include "mindtorch/dispatch/record/pipeline.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/frames.h"
#include "bindings/interpreter/gil.h"
#include "bindings/interpreter/interpreter_end.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/ops/py_pipeline.h"
#include "mindtorch/ops/prepared_group.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

using dispatch::CallSite;
using dispatch::CallSiteText;
using dispatch::FlushReason;
using dispatch::Pipeline;
using dispatch::PipelineConfig;
using dispatch::PipelineError;

// Where the user called a function of this package; its own line where nobody did.
CallSite site_outside(const CallSite inside) noexcept {
  CallSite site = inside;
  each_frame(current_frame(), [&](PyFrameObject* caller, PyCodeObject* code) {
    if (is_package_code(code)) return true;
    site = {code, instruction_of(caller)};
    return false;
  });
  return site;
}

// The last code that turned out to be the user's. It is kept: no other takes its address.
PyObject* g_users_code = nullptr;

CallSite check_site(const CallSite site) noexcept {
  if (is_package_code(static_cast<PyCodeObject*>(site.code))) return site_outside(site);
  PyObject* const before =
      std::exchange(g_users_code, Py_NewRef(static_cast<PyObject*>(site.code)));
  Py_XDECREF(before);
  return site;
}

CallSite capture() noexcept {
  PyThreadState* const thread = current_thread_state();
  if (MT_UNLIKELY(thread != entered_thread() || thread == nullptr) && PyGILState_Check() == 0) {
    return {};
  }
  const RunningCode running = running_code(thread);
  if (running.code == nullptr) return {};
  const CallSite site{running.code, running.position};
  return MT_LIKELY(site.code == g_users_code) ? site : check_site(site);
}

void retain(void* code) noexcept { Py_INCREF(static_cast<PyObject*>(code)); }

void release(std::span<void* const> codes) noexcept {
  if (interpreter_ends()) return;
  const auto drop = [&] {
    for (void* const code : codes) Py_DECREF(static_cast<PyObject*>(code));
  };
  if (PyGILState_Check() == 1) return drop();
  const GilHold gil;
  drop();
}

CallSiteText describe(CallSite site) {
  if (interpreter_ends()) return {};
  const GilHold gil;
  auto* const code = static_cast<PyCodeObject*>(site.code);
  return {to_text(code->co_filename), PyCode_Addr2Line(code, site.position),
          to_text(code->co_name)};
}

nb::dict site_dict(const CallSiteText& site) {
  nb::dict fields;
  fields["file"] = site.file;
  fields["line"] = site.line;
  fields["func"] = site.function;
  return fields;
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
  fields["callsite"] = site_dict(error->site);
  fields["read_set"] = error->reads;
  fields["write_set"] = error->writes;
  fields["alias_set"] = error->aliases;
  fields["version_plan"] = error->versions;
  nb::list edges;
  for (const dispatch::DependencyEdge& edge : error->edges) {
    nb::dict each;
    each["from"] = edge.from;
    each["to"] = edge.to;
    each["reason"] = edge.reason;
    edges.append(each);
  }
  fields["dependency_edges"] = edges;
  fields["runtime_code"] = error->runtime_code;
  fields["suppressed_errors"] = nb::list();
  fields["message"] = error->message;
  return fields;
}

nb::list ops_of(const std::vector<dispatch::OpReport>& ops) {
  nb::list entries;
  for (const dispatch::OpReport& op : ops) {
    nb::dict entry;
    entry["op_seq"] = op.number;
    entry["op_name"] = op.name;
    entry["callsite"] = site_dict(op.site);
    entries.append(entry);
  }
  return entries;
}

constexpr const char* kPipelineDoc =
    "Runs ops together: with the results of running them one by one, and in less time.\n\n"
    ">>> with torch.pipeline():\n"
    "...     y = (torch.ones(3) * 2 + 1).relu()\n"
    ">>> y\n"
    "tensor([3., 3., 3.])\n";

PipelineConfig g_defaults;  // guarded by the GIL

// Calls `change(name, field...)` for every setting, with the field of each configuration.
template <typename Change, typename... Config>
void each_setting(Change change, Config&... config) {
  change("max_ops", config.max_ops...);
  change("max_pending_bytes", config.max_pending_bytes...);
  change("max_wait_us", config.max_wait_us...);
  change("debug_enabled", config.debug_enabled...);
  change("min_defer_ops", config.min_defer_ops...);
  change("adaptive_defer", config.adaptive_defer...);
  change("adaptive_small_window_ops", config.adaptive_small_window_ops...);
  change("adaptive_min_defer_ops", config.adaptive_min_defer_ops...);
}

nb::dict config_dict(const PipelineConfig& config) {
  nb::dict fields;
  each_setting([&](const char* name, const auto& field) { fields[name] = field; }, config);
  return fields;
}

template <typename Field>
void read_setting(const char* name, nb::handle value, Field& field) {
  if (nb::try_cast(value, field)) return;
  // What takes an int refuses those that it cannot hold.
  constexpr bool kTakesInts = !std::is_same_v<Field, bool>;
  MT_CHECK(!kTakesInts || PyLong_Check(value.ptr()) == 0, ValueError, "pipeline setting ", name,
           " is too large for 64 bits: ", nb::str(value).c_str());
  MT_THROW(TypeError, "pipeline setting ", name, " cannot be ", Py_TYPE(value.ptr())->tp_name);
}

// Settings of the block override the defaults; None keeps the default.
PipelineConfig block_config(PyObject* given) {
  PipelineConfig config = g_defaults;
  if (given == nullptr) return config;
  const auto settings = nb::borrow<nb::dict>(given);
  size_t known = 0;
  const auto read = [&](const char* name, auto& field) {
    if (!settings.contains(name)) return;
    ++known;
    const nb::object value = settings[name];
    if (!value.is_none()) read_setting(name, value, field);
  };
  each_setting(read, config);
  if (known == settings.size()) return config;
  const nb::dict fields = config_dict(config);
  for (const auto& [name, value] : settings) {
    MT_CHECK(fields.contains(name), TypeError, "pipeline() got an unexpected keyword argument '",
             nb::cast<std::string>(name), "'");
  }
  return config;
}

// None resets; names that there are not change nothing.
nb::dict set_defaults(const nb::kwargs& settings) {
  PipelineConfig config = g_defaults;
  const auto read = [&](const char* name, auto& field, const auto& fresh) {
    if (!settings.contains(name)) return;
    const nb::object value = settings[name];
    if (value.is_none()) {
      field = fresh;
    } else {
      read_setting(name, value, field);
    }
  };
  each_setting(read, config, static_cast<const PipelineConfig&>(PipelineConfig()));
  dispatch::check(config);
  g_defaults = config;
  forget_free_pipelines();
  return config_dict(config);
}

// Methods and attributes of torch.pipeline. `answer` gives what Python gets.
template <typename Answer>
PyObject* answered(PyObject* self, const Answer& answer) {
  return guarded([&] { return nb::object(nb::cast(answer(pipeline_of(self)))).release().ptr(); });
}

PyObject* flush(PyObject* self, PyObject* args, PyObject* names) {
  PyObject* given = nullptr;
  static const char* keywords[] = {"reason", nullptr};
  if (PyArg_ParseTupleAndKeywords(args, names, "|U:flush", const_cast<char**>(keywords), &given) ==
      0) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    const std::string reason = given == nullptr ? "manual" : to_text(given);
    pipeline_of(self).flush(FlushReason::said(reason));
    Py_RETURN_NONE;
  });
}
PyObject* pending_count(PyObject* self, PyObject*) {
  return answered(self, [](const Pipeline& pipeline) { return pipeline.pending_count(); });
}
PyObject* last_error(PyObject* self, PyObject*) { return answered(self, &error_of); }
PyObject* pending_ops(PyObject* self, PyObject*) {
  return answered(self, [](const Pipeline& pipeline) { return ops_of(pipeline.pending_ops()); });
}
PyObject* last_ops(PyObject* self, PyObject*) {
  return answered(self, [](const Pipeline& pipeline) { return ops_of(pipeline.last_ops()); });
}
PyObject* plans_made(PyObject* self, PyObject*) {
  return answered(self, [](const Pipeline& pipeline) { return pipeline.plans_made(); });
}
PyObject* last_launches(PyObject* self, PyObject*) {
  return answered(self, [](const Pipeline& pipeline) { return pipeline.last_launches(); });
}
PyObject* flush_id(PyObject* self, void*) {
  return answered(self, [](const Pipeline& pipeline) { return pipeline.flush_id(); });
}
PyObject* last_flush_reason(PyObject* self, void*) {
  return answered(self, [](const Pipeline& pipeline) { return pipeline.last_flush_reason(); });
}
PyObject* config(PyObject* self, void*) {
  return answered(self, [](const Pipeline& pipeline) { return config_dict(pipeline.config()); });
}

PyMethodDef g_methods[] = {
    {"flush", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&flush)),
     METH_VARARGS | METH_KEYWORDS,
     "flush($self, reason='manual')\n--\n\nRuns what is recorded; raises the first error."},
    {"pending_count", &pending_count, METH_NOARGS,
     "pending_count($self, /)\n--\n\nHow many ops wait."},
    {"_error", &last_error, METH_NOARGS, nullptr},
    {"_pending_ops", &pending_ops, METH_NOARGS, nullptr},
    {"_last_ops", &last_ops, METH_NOARGS, nullptr},
    {"_plans_made", &plans_made, METH_NOARGS, nullptr},
    {"_last_launches", &last_launches, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef g_attributes[] = {
    {"flush_id", &flush_id, nullptr, "How many flushes there were.", nullptr},
    {"last_flush_reason", &last_flush_reason, nullptr, "Why the last one did.", nullptr},
    {"config", &config, nullptr, "The settings of this pipeline.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

void bind_pipeline(nb::module_& module) {
  dispatch::call_site_hooks() = {&capture, &retain, &release, &describe, &interpreter_ends};

  module.attr("pipeline") =
      nb::steal(make_pipeline_type({&block_config, kPipelineDoc, g_methods, g_attributes}));
  module.def(
      "current_pipeline", [] { return nb::steal(object_of(Pipeline::current())); },
      nb::sig("def current_pipeline() -> pipeline | None"),
      "The pipeline that takes this thread's ops, or None.\n\n"
      ">>> with torch.pipeline() as pipe:\n"
      "...     assert torch.current_pipeline() is pipe\n");
  module.def(
      "_wait_for_engines",
      [] {
        const GilRelease release(true);
        ops::PreparedGroup::wait_for_engines();
      },
      "Until no group is being compiled.");
  module.def("pipeline_config", &set_defaults,
             "Sets the defaults of all pipelines made from now on; gives them all.\n\n"
             ">>> torch.pipeline_config(max_ops=64)[\"max_ops\"]\n64\n"
             ">>> torch.pipeline_config(max_ops=None)[\"max_ops\"]\n");
  module.def(
      "get_pipeline_config", [] { return config_dict(g_defaults); },
      "The defaults of all pipelines.\n\n"
      ">>> torch.get_pipeline_config()[\"adaptive_small_window_ops\"]\n24\n");
}

}  // namespace mindtorch::python
