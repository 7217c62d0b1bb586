// The names of torch._C for __torch_function__: modes, switches, questions, and calls of handlers.
#include "bindings/overrides/function_modes.h"

#include <nanobind/nanobind.h>

#include <utility>
#include <vector>

#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/overrides/python_function.h"
#include "bindings/overrides/torch_function.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

enum class Overrides { kEnabled, kNoSubclasses, kDisabled };

struct ThreadState {
  std::vector<PyObject*> modes;  // owned; the innermost is the last
  Overrides overrides = Overrides::kEnabled;

  // A thread that ends inside a mode.
  ~ThreadState() {
    if (modes.empty() || Py_IsInitialized() == 0) return;
    const GilHold gil;
    g_function_modes -= static_cast<int>(modes.size());
    for (PyObject* const mode : modes) Py_DECREF(mode);
  }
};

thread_local ThreadState t_state;

void push(PyObject* mode) {
  t_state.modes.push_back(mode);
  ++g_function_modes;
}
PyObject* pop() {
  PyObject* const mode = t_state.modes.back();
  t_state.modes.pop_back();
  --g_function_modes;
  return mode;
}

// with torch._C.DisableTorchFunction(): sets the switch of the thread for a block.
template <Overrides kWanted>
struct Switch {
  Overrides before = Overrides::kEnabled;
  bool is_set = false;

  Switch() { enter(); }  // as in torch, it holds from when it is made
  void enter() {
    if (std::exchange(is_set, true)) return;
    before = t_state.overrides;
    t_state.overrides = kWanted == Overrides::kEnabled ? kWanted : std::max(before, kWanted);
  }
  void leave() {
    if (std::exchange(is_set, false)) t_state.overrides = before;
  }
};

template <Overrides kWanted>
void bind_switch(nb::module_& module, const char* name, const char* doc) {
  using Type = Switch<kWanted>;
  nb::class_<Type>(module, name, doc)
      .def(nb::init<>())
      .def("__enter__",
           [](nb::object self) {
             nb::cast<Type&>(self).enter();
             return self;
           })
      .def("__exit__", [](Type& self, nb::args) { self.leave(); })
      .def("__del__", [](Type& self) { self.leave(); });
}

// _disabled_torch_function_impl(cls, func, types, args, kwargs): the call without overrides.
PyObject* run_disabled(PyObject*, PyObject* args) {
  PyObject* function = nullptr;
  PyObject* types = nullptr;
  PyObject* call_args = nullptr;
  PyObject* kwargs = nullptr;
  if (PyArg_ParseTuple(args, "OO|OO", &function, &types, &call_args, &kwargs) == 0) return nullptr;
  const Overrides before = std::exchange(t_state.overrides, Overrides::kNoSubclasses);
  PyObject* const empty = PyTuple_New(0);
  PyObject* const result = PyObject_Call(function, call_args == nullptr ? empty : call_args,
                                         kwargs == Py_None ? nullptr : kwargs);
  Py_DECREF(empty);
  t_state.overrides = before;
  return result;
}

PyMethodDef g_run_disabled = {"_disabled_torch_function_impl", &run_disabled, METH_VARARGS,
                              "Runs a function without __torch_function__ of classes."};

bool has_torch_function(nb::handle objects) {
  if (function_mode_enabled()) return true;
  if (!subclass_overrides_enabled()) return false;
  const PyRef all(PySequence_Tuple(objects.ptr()));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
    PyObject* const object = PyTuple_GET_ITEM(all.get(), i);
    if (!is_plain_tensor(object) && handles_calls(object)) return true;
  }
  return false;
}

nb::object handle_torch_function(nb::object function, nb::tuple args, nb::dict kwargs) {
  std::vector<PyObject*> all;
  for (nb::handle value : args) all.push_back(value.ptr());
  nb::list names;
  for (auto [name, value] : kwargs) {
    names.append(name);
    all.push_back(value.ptr());
  }
  const nb::tuple kwnames(names);
  PyObject* result = nullptr;
  const bool is_handled = handle_call(function.ptr(), all.data(),
                                      static_cast<Py_ssize_t>(args.size()), kwnames.ptr(), result);
  if (!is_handled) return nb::borrow(Py_NotImplemented);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

}  // namespace

bool function_mode_enabled() {
  return !t_state.modes.empty() && t_state.overrides != Overrides::kDisabled;
}
bool subclass_overrides_enabled() { return t_state.overrides == Overrides::kEnabled; }

PyObject* disabled_torch_function() {
  static PyObject* const function = PyCFunction_New(&g_run_disabled, nullptr);
  return function;
}

PoppedMode::PoppedMode() : mode_(pop()) {}
PoppedMode::~PoppedMode() { push(mode_); }

void bind_overrides(nb::module_& module) {
  bind_switch<Overrides::kNoSubclasses>(
      module, "DisableTorchFunctionSubclass",
      "with torch._C.DisableTorchFunctionSubclass(): classes handle no calls; modes do.");
  bind_switch<Overrides::kDisabled>(
      module, "DisableTorchFunction",
      "with torch._C.DisableTorchFunction(): neither classes nor modes handle calls.");
  bind_switch<Overrides::kEnabled>(module, "_EnableTorchFunction",
                                   "with torch._C._EnableTorchFunction(): all handle calls again.");
  module.attr("_disabled_torch_function_impl") = nb::borrow(disabled_torch_function());
  module.def("_is_torch_function_enabled", &subclass_overrides_enabled);
  module.def("_is_torch_function_all_disabled",
             [] { return t_state.overrides == Overrides::kDisabled; });
  module.def("_is_torch_function_mode_enabled", &function_mode_enabled);
  module.def("_len_torch_function_stack", [] { return t_state.modes.size(); });
  module.def("_get_function_stack_at", [](size_t index) {
    if (index >= t_state.modes.size()) throw nb::index_error("no such mode");
    return nb::borrow(t_state.modes[index]);
  });
  module.def("_push_on_torch_function_stack", [](nb::object mode) {
    MT_CHECK(nb::hasattr(mode, "__torch_function__"), TypeError,
             "a mode must have a method __torch_function__, which ", Py_TYPE(mode.ptr())->tp_name,
             " has not");
    push(mode.release().ptr());
  });
  module.def("_pop_torch_function_stack", [] {
    MT_CHECK(!t_state.modes.empty(), RuntimeError, "there is no mode to pop");
    return nb::steal(pop());
  });
  module.def("_has_torch_function", &has_torch_function);
  module.def("_has_torch_function_unary", [](nb::handle object) {
    return function_mode_enabled() ||
           (!is_plain_tensor(object.ptr()) && handles_calls(object.ptr()));
  });
  module.def("_has_torch_function_variadic",
             [](nb::args objects) { return has_torch_function(objects); });
  module.def("_handle_torch_function", &handle_torch_function);
  module.def("_make_overridable",
             [](nb::handle function) { return nb::steal(make_overridable(function.ptr())); });
  module.def("_is_overridable", [](nb::handle object) { return is_overridable(object.ptr()); });
  module.def("_set_parameter_class", [](nb::handle cls) {
    g_parameter_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(cls.ptr()));
  });
}

}  // namespace mindtorch::python
