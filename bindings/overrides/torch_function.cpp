#include "bindings/overrides/torch_function.h"

#include <string>
#include <vector>

#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/overrides/function_modes.h"

namespace mindtorch::python {

PyTypeObject* g_parameter_type = nullptr;
int g_function_modes = 0;

namespace {

PyObject* protocol_name() {
  static PyObject* const name = PyUnicode_InternFromString("__torch_function__");
  return name;
}

// The method of a class that handles calls; null where it has none or turned it off.
PyObject* find_handler(PyTypeObject* type) {
  // Only classes made at run time can have it: not the numbers and containers of most arguments.
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) return nullptr;
  PyObject* const found = _PyType_Lookup(type, protocol_name());
  return found == disabled_torch_function() ? nullptr : found;
}

bool is_list(PyObject* object) { return PyTuple_Check(object) || PyList_Check(object); }

// The arguments that handle a call, one of each class: subclasses first, then from left to right.
class Handlers {
 public:
  void add_all(PyObject* const* args, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; ++i) {
      add(args[i]);
      if (!is_list(args[i])) continue;
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(args[i]); ++k) {
        add(PySequence_Fast_GET_ITEM(args[i], k));
      }
    }
  }
  const std::vector<PyObject*>& objects() const { return objects_; }
  PyRef types() const {
    PyRef tuple(PyTuple_New(std::ssize(objects_)));
    for (size_t i = 0; i < objects_.size(); ++i) {
      PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(objects_[i]));
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(type));
    }
    return tuple;
  }

 private:
  void add(PyObject* object) {
    if (is_plain_tensor(object) || find_handler(Py_TYPE(object)) == nullptr) return;
    auto place = objects_.end();
    for (auto at = objects_.begin(); at != objects_.end(); ++at) {
      if (Py_TYPE(*at) == Py_TYPE(object)) return;
      const bool is_subclass = PyType_IsSubtype(Py_TYPE(object), Py_TYPE(*at)) != 0;
      if (is_subclass && place == objects_.end()) place = at;
    }
    objects_.insert(place, object);
  }

  std::vector<PyObject*> objects_;
};

PyRef positional(PyObject* const* args, Py_ssize_t nargs) {
  PyRef tuple(PyTuple_New(nargs));
  for (Py_ssize_t i = 0; i < nargs; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(args[i]));
  return tuple;
}

PyRef keywords(PyObject* const* values, PyObject* names) {
  if (names == nullptr || PyTuple_GET_SIZE(names) == 0) return PyRef();
  PyRef dict(PyDict_New());
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); ++k) {
    if (PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(names, k), values[k]) < 0) throw PythonError();
  }
  return dict;
}

// What `handler` makes of the call. As in torch, kwargs is given only where there are any.
PyRef ask(PyObject* handler,
          PyObject* function,
          const PyRef& types,
          const PyRef& args,
          const PyRef& kwargs) {
  const PyRef method(PyObject_GetAttr(handler, protocol_name()));
  return PyRef(PyObject_CallFunctionObjArgs(method.get(), function, types.get(), args.get(),
                                            kwargs.get(), nullptr));
}

std::string text_of(PyObject* object) {
  const PyRef text(PyObject_Repr(object));
  const char* const utf8 = PyUnicode_AsUTF8(text.get());
  if (utf8 == nullptr) throw PythonError();
  return utf8;
}

std::string function_name(PyObject* function) {
  static PyObject* resolve_name = nullptr;
  imported(resolve_name, "mindtorch_v2.overrides", "resolve_name");
  const PyRef name = PyRef::maybe(PyObject_CallOneArg(resolve_name, function));
  if (name && PyUnicode_Check(name.get())) return PyUnicode_AsUTF8(name.get());
  const PyRef own = PyRef::maybe(PyObject_GetAttrString(function, "__name__"));
  return own && PyUnicode_Check(own.get()) ? PyUnicode_AsUTF8(own.get()) : "?";
}

[[noreturn]] void refuse(PyObject* function, PyObject* mode, const Handlers& handlers) {
  std::string text = "Multiple dispatch failed for '" + function_name(function) +
                     "'; all __torch_function__ handlers returned NotImplemented:\n\n";
  if (mode != nullptr) text += "  - mode object " + text_of(mode) + "\n";
  for (PyObject* const object : handlers.objects()) {
    PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
    text += "  - tensor subclass " + text_of(type) + "\n";
  }
  throw TypeError(text);
}

}  // namespace

bool handles_calls(PyObject* object) {
  return subclass_overrides_enabled() && find_handler(Py_TYPE(object)) != nullptr;
}

bool has_handler(PyObject* argument) {
  if (find_handler(Py_TYPE(argument)) != nullptr) return true;
  if (!is_list(argument)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(argument); ++i) {
    PyObject* const entry = PySequence_Fast_GET_ITEM(argument, i);
    if (!is_plain_tensor(entry) && find_handler(Py_TYPE(entry)) != nullptr) return true;
  }
  return false;
}

bool handle_call(PyObject* function,
                 PyObject* const* args,
                 Py_ssize_t nargs,
                 PyObject* kwnames,
                 PyObject*& result) {
  const bool has_mode = function_mode_enabled();
  const bool asks_classes = subclass_overrides_enabled();
  if (!has_mode && !asks_classes) return false;
  const auto call = [&]() -> PyObject* {
    Handlers handlers;
    const Py_ssize_t names = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
    if (asks_classes) handlers.add_all(args, nargs + names);
    if (!has_mode && handlers.objects().empty()) return Py_NewRef(Py_NotImplemented);
    const PyRef types = handlers.types();
    const PyRef tuple = positional(args, nargs);
    const PyRef kwargs = keywords(args + nargs, kwnames);
    PyRef mode;
    if (has_mode) {
      const PoppedMode popped;  // what the handler calls is not handled by it again
      mode = PyRef::borrow(popped.mode());
      PyRef made = ask(popped.mode(), function, types, tuple, kwargs);
      if (made.get() != Py_NotImplemented) return made.release();
    }
    for (PyObject* const object : handlers.objects()) {
      PyRef made = ask(object, function, types, tuple, kwargs);
      if (made.get() != Py_NotImplemented) return made.release();
    }
    refuse(function, mode.get(), handlers);
  };
  result = guarded(call);
  if (result != Py_NotImplemented) return true;
  Py_CLEAR(result);
  return false;
}

bool handle_method(const char* name,
                   PyObject* const* args,
                   Py_ssize_t nargs,
                   PyObject* kwnames,
                   PyObject*& result,
                   const char* part) {
  const PyRef found =
      PyRef::maybe(PyObject_GetAttrString(reinterpret_cast<PyObject*>(g_tensor_type), name));
  if (!found) return false;
  if (part == nullptr) return handle_call(found.get(), args, nargs, kwnames, result);
  const PyRef accessor = PyRef::maybe(PyObject_GetAttrString(found.get(), part));
  return accessor && handle_call(accessor.get(), args, nargs, kwnames, result);
}

bool handle_bound_method(const char* name,
                         PyObject* self,
                         PyObject* const* args,
                         Py_ssize_t nargs,
                         PyObject* kwnames,
                         PyObject*& result) {
  const Py_ssize_t names = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  std::vector<PyObject*> all{self};
  all.insert(all.end(), args, args + nargs + names);
  return handle_method(name, all.data(), nargs + 1, kwnames, result);
}

bool handle_function(const char* name,
                     PyObject* const* args,
                     Py_ssize_t nargs,
                     PyObject* kwnames,
                     PyObject*& result) {
  const PyRef module = PyRef::maybe(PyImport_ImportModule("mindtorch_v2"));
  if (!module) return false;
  const PyRef found = PyRef::maybe(PyObject_GetAttrString(module.get(), name));
  return found && handle_call(found.get(), args, nargs, kwnames, result);
}

// --- attributes

namespace {

const PyGetSetDef& definition_of(void* closure) {
  return *static_cast<const PyGetSetDef*>(closure);
}

PyObject* get_attribute(PyObject* self, void* closure) {
  const PyGetSetDef& own = definition_of(closure);
  PyObject* result = nullptr;
  if (may_be_handled(self) && handle_method(own.name, &self, 1, nullptr, result, "__get__")) {
    return result;
  }
  return own.get(self, own.closure);
}

int set_attribute(PyObject* self, PyObject* value, void* closure) {
  const PyGetSetDef& own = definition_of(closure);
  if (may_be_handled(self)) {
    PyObject* const args[] = {self, value};
    PyObject* result = nullptr;
    const bool deletes = value == nullptr;
    if (handle_method(own.name, args, deletes ? 1 : 2, nullptr, result,
                      deletes ? "__delete__" : "__set__")) {
      Py_XDECREF(result);
      return result == nullptr ? -1 : 0;
    }
  }
  return own.set(self, value, own.closure);
}

}  // namespace

PyGetSetDef overridable_attribute(const PyGetSetDef& definition) {
  const auto* const own = new PyGetSetDef(definition);
  return {own->name, &get_attribute, own->set == nullptr ? nullptr : &set_attribute, own->doc,
          const_cast<PyGetSetDef*>(own)};
}

}  // namespace mindtorch::python
