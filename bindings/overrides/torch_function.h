#pragma once

#include <Python.h>

#include <algorithm>
#include <cstddef>

#include "bindings/args/call_arguments.h"
#include "bindings/tensor/py_tensor.h"
#include "mindtorch/base/macros.h"

namespace mindtorch::python {

// Note [Overrides]
// A class with a method __torch_function__, be it a subclass of Tensor or not, handles calls that
// it is an argument of; an active mode (torch.overrides.TorchFunctionMode) handles all calls of its
// thread. Plain tensors and parameters pay next to nothing for it: where an op takes a tensor it
// compares the class anyway, and a class that handles calls fails that comparison like an argument
// of the wrong type. Only then, and while some thread has a mode, is anybody asked.

// class Parameter: as plain as Tensor itself. Null until torch.nn is imported.
extern PyTypeObject* g_parameter_type;
// The active modes of all threads together. Guarded by the GIL.
extern int g_function_modes;

inline bool is_plain_tensor(PyObject* object) {
  return Py_TYPE(object) == g_tensor_type || Py_TYPE(object) == g_parameter_type;
}
// Whether the object's class handles calls itself, and this thread lets it.
bool handles_calls(PyObject* object);
// A tensor that leaves calls to us.
inline bool is_native_tensor(PyObject* object) {
  return MT_LIKELY(is_plain_tensor(object)) || (is_tensor(object) && !handles_calls(object));
}
// False where nobody would handle a call with this argument.
inline bool may_be_handled(PyObject* object) {
  return MT_UNLIKELY(g_function_modes != 0 || !is_plain_tensor(object));
}
// Whether the class of an argument, or of an entry of a list or tuple, has a __torch_function__.
bool has_handler(PyObject* argument);
// False where nobody would handle a call with these arguments.
inline bool may_be_handled(PyObject* const* args, Py_ssize_t count) {
  if (MT_UNLIKELY(g_function_modes != 0)) return true;
  // Classes that are not made at run time, as those of numbers, handle no calls.
  constexpr unsigned long kLooksInto =
      Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (is_plain_tensor(args[i]) || (Py_TYPE(args[i])->tp_flags & kLooksInto) == 0) continue;
    if (has_handler(args[i])) return true;
  }
  return false;
}

// Lets modes, then the classes of the arguments, handle a call of `function`. False when nobody
// does. Otherwise `result` is what the first handler returned; null with the Python error set.
bool handle_call(PyObject* function,
                 PyObject* const* args,
                 Py_ssize_t nargs,
                 PyObject* kwnames,
                 PyObject*& result);
// The same for Tensor.<name>, and for Tensor.<name>.__get__ where `part` is "__get__".
bool handle_method(const char* name,
                   PyObject* const* args,
                   Py_ssize_t nargs,
                   PyObject* kwnames,
                   PyObject*& result,
                   const char* part = nullptr);
// The same for torch.<name>.
bool handle_function(const char* name,
                     PyObject* const* args,
                     Py_ssize_t nargs,
                     PyObject* kwnames,
                     PyObject*& result);

// A name as a template argument.
template <size_t kSize>
struct Name {
  char text[kSize];
  // NOLINTNEXTLINE(google-explicit-constructor): written as a literal
  constexpr Name(const char (&literal)[kSize]) { std::copy_n(literal, kSize, text); }
};

// Methods of class Tensor that may be overridden, for the tables of PyMethodDef.
template <Name kName, PyCFunction kFunction>
PyMethodDef no_args_method(const char* doc) {
  const PyCFunction call = [](PyObject* self, PyObject* none) -> PyObject* {
    PyObject* result = nullptr;
    if (may_be_handled(self) && handle_method(kName.text, &self, 1, nullptr, result)) return result;
    return kFunction(self, none);
  };
  return {kName.text, call, METH_NOARGS, doc};
}
template <Name kName, PyCFunction kFunction>
PyMethodDef one_arg_method(const char* doc) {
  const PyCFunction call = [](PyObject* self, PyObject* arg) -> PyObject* {
    PyObject* const args[] = {self, arg};
    PyObject* result = nullptr;
    if (may_be_handled(args, 2) && handle_method(kName.text, args, 2, nullptr, result)) {
      return result;
    }
    return kFunction(self, arg);
  };
  return {kName.text, call, METH_O, doc};
}

// A call of a method whose arguments do not include `self`.
bool handle_bound_method(const char* name,
                         PyObject* self,
                         PyObject* const* args,
                         Py_ssize_t nargs,
                         PyObject* kwnames,
                         PyObject*& result);

// Methods that take no tensor but `self`, and those that do.
enum class Tensors { kSelf, kArguments };

template <Name kName, FastFunction kFunction, Tensors kTensors>
PyObject* overridable_method(PyObject* self,
                             PyObject* const* args,
                             Py_ssize_t nargs,
                             PyObject* kwnames) {
  bool may_handle = may_be_handled(self);
  if constexpr (kTensors == Tensors::kArguments) {
    const Py_ssize_t names = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
    may_handle = may_handle || may_be_handled(args, nargs + names);
  }
  PyObject* result = nullptr;
  if (MT_UNLIKELY(may_handle) &&
      handle_bound_method(kName.text, self, args, nargs, kwnames, result)) {
    return result;
  }
  return kFunction(self, args, nargs, kwnames);
}
template <Name kName, FastFunction kFunction, Tensors kTensors = Tensors::kSelf>
PyMethodDef method(const char* doc) {
  return fast_method<&overridable_method<kName, kFunction, kTensors>>(kName.text, doc);
}

// Functions of the module: torch.tensor and its like. Modes handle them, arguments do not.
template <Name kName, FastFunction kFunction>
PyObject* overridable_function(PyObject* self,
                               PyObject* const* args,
                               Py_ssize_t nargs,
                               PyObject* kwnames) {
  PyObject* result = nullptr;
  if (MT_UNLIKELY(g_function_modes != 0) &&
      handle_function(kName.text, args, nargs, kwnames, result)) {
    return result;
  }
  return kFunction(self, args, nargs, kwnames);
}
template <Name kName, FastFunction kFunction>
PyMethodDef function(const char* doc) {
  return fast_method<&overridable_function<kName, kFunction>>(kName.text, doc);
}

// Wraps the functions of an attribute so that reading and setting it may be overridden. The
// definition lives as long as the process.
PyGetSetDef overridable_attribute(const PyGetSetDef& definition);

}  // namespace mindtorch::python
