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
#include "mindtorch/ops/prepared_group.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

using dispatch::CallSite;
using dispatch::CallSiteText;
using dispatch::Pipeline;
using dispatch::PipelineConfig;
using dispatch::PipelineError;

// A running Python function, and its place in it.
CallSite site_of(PyFrameObject* frame) noexcept {
  CallSite site;
  PyCodeObject* const code = PyFrame_GetCode(frame);
  site.code = code;
  Py_DECREF(code);  // the frame holds it
  site.position = instruction_of(frame);
  return site;
}

// Where the user called a function of this package; its own line where nobody did.
CallSite site_outside(PyFrameObject* frame, const CallSite inside) noexcept {
  CallSite site = inside;
  each_frame(reinterpret_cast<PyFrameObject*>(Py_NewRef(frame)),
             [&](PyFrameObject* caller, PyCodeObject* code) {
               if (is_package_code(code)) return true;
               site = {code, instruction_of(caller)};
               return false;
             });
  return site;
}

// The last code that turned out to be the user's. It is kept: no other takes its address.
PyObject* g_users_code = nullptr;

CallSite check_site(PyFrameObject* frame, const CallSite site) noexcept {
  if (is_package_code(static_cast<PyCodeObject*>(site.code))) return site_outside(frame, site);
  PyObject* const before =
      std::exchange(g_users_code, Py_NewRef(static_cast<PyObject*>(site.code)));
  Py_XDECREF(before);
  return site;
}

// That of this thread when it last entered a pipeline. While it is the current one, this thread has
// the GIL: asking that way takes less time than recording an op, as PyGILState_Check() does not.
constinit thread_local PyThreadState* t_entered __attribute__((tls_model("initial-exec"))) =
    nullptr;

// Of the thread that has the GIL, whichever it is.
PyThreadState* current_thread_state() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked();
#else
  return _PyThreadState_UncheckedGet();
#endif
}

// The frame object is made once per activation, so that many ops of one function cost little.
CallSite capture() noexcept {
  if (MT_UNLIKELY(current_thread_state() != t_entered || t_entered == nullptr) &&
      PyGILState_Check() == 0) {
    return {};
  }
  PyFrameObject* const frame = PyEval_GetFrame();
  if (frame == nullptr) return {};
  const CallSite site = site_of(frame);
  return MT_LIKELY(site.code == g_users_code) ? site : check_site(frame, site);
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
PipelineConfig block_config(const nb::kwargs& settings) {
  PipelineConfig config = g_defaults;
  if (settings.size() == 0) return config;
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
  return config_dict(config);
}

// Note [Slots of torch.pipeline]
// A block is made, entered and left around a few ops, each of which takes some hundred nanoseconds.
// These three go through CPython's own slots, without the conversion of arguments.

Pipeline& pipeline_of(PyObject* self) {
  MT_CHECK(nb::inst_ready(self), TypeError, "the __init__ of this pipeline was never called");
  return *nb::inst_ptr<Pipeline>(self);
}

PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&] {
    pipeline_of(self).enter();
    t_entered = current_thread_state();
    return Py_NewRef(self);
  });
}

PyObject* leave(PyObject* self, PyObject* const* error, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    MT_CHECK(count == 3, TypeError, "__exit__() takes 3 arguments, but got ", count);
    Pipeline& pipeline = pipeline_of(self);
    if (error[0] == Py_None) {
      pipeline.leave();
    } else {
      try {  // the first error wins
        pipeline.leave();
      } catch (const std::exception&) {
      }
    }
    Py_RETURN_NONE;
  });
}

PyMethodDef g_methods[] = {
    {"__enter__", &enter, METH_NOARGS, "__enter__($self, /)\n--\n\n"},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&leave)), METH_FASTCALL,
     "__exit__($self, kind, error, trace, /)\n--\n\n"},
    {nullptr, nullptr, 0, nullptr},
};

vectorcallfunc g_construct_with = nullptr;  // takes settings

PyObject* construct(PyObject* type, PyObject* const* args, size_t flags, PyObject* names) {
  if (PyVectorcall_NARGS(flags) != 0 || names != nullptr) {
    return g_construct_with(type, args, flags, names);
  }
  return guarded([&] {
    nb::object self = nb::inst_alloc(type);
    new (nb::inst_ptr<Pipeline>(self)) Pipeline(g_defaults);
    nb::inst_mark_ready(self);
    return self.release().ptr();
  });
}

PyType_Slot g_slots[] = {
    {Py_tp_methods, g_methods},
    {0, nullptr},
};

}  // namespace

void bind_pipeline(nb::module_& module) {
  dispatch::call_site_hooks() = {&capture, &retain, &release, &describe, &interpreter_ends};

  nb::class_<Pipeline> type(module, "pipeline", kPipelineDoc, nb::type_slots(g_slots),
                            nb::pooled(8));
  g_construct_with =
      std::exchange(reinterpret_cast<PyTypeObject*>(type.ptr())->tp_vectorcall, &construct);
  type.def("__init__",
           [](Pipeline* self, const nb::kwargs& settings) {
             new (self) Pipeline(block_config(settings));
           })
      .def(
          "flush", [](Pipeline& self, const std::string& reason) { self.flush(reason); },
          nb::arg("reason") = "manual", "Runs what is recorded; raises the first error.")
      .def("pending_count", &Pipeline::pending_count, "How many ops wait.")
      .def_prop_ro("flush_id", &Pipeline::flush_id, "How many flushes there were.")
      .def_prop_ro("last_flush_reason", &Pipeline::last_flush_reason, "Why the last one did.")
      .def_prop_ro(
          "config", [](const Pipeline& self) { return config_dict(self.config()); },
          "The settings of this pipeline.")
      .def("_error", &error_of)
      .def("_pending_ops", [](const Pipeline& self) { return ops_of(self.pending_ops()); })
      .def("_last_ops", [](const Pipeline& self) { return ops_of(self.last_ops()); })
      .def("_plans_made", &Pipeline::plans_made)
      .def("_last_launches", &Pipeline::last_launches);
  module.def(
      "current_pipeline", [] { return Pipeline::current(); }, nb::rv_policy::reference,
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
