#include "bindings/ops/op_function.h"

#include <structmember.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bindings/args/argument_errors.h"
#include "bindings/args/arguments.h"
#include "bindings/args/torch_signatures.h"
#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/memory/pinning.h"
#include "bindings/overrides/torch_function.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/base/warning.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/dispatch/record/pipeline.h"

namespace mindtorch::python {
namespace {

// All signatures behind one Python name.
struct Overloads {
  std::string name;
  bool is_method = false;
  std::vector<Signature> plain;
  std::vector<Signature> with_out;
};

struct OpFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  const Overloads* overloads;
};

PyTypeObject* g_function_type = nullptr;

bool has_named_results(const ops::Op& op) {
  return op.schema.returns.size() > 1 && !op.schema.returns[0].name.empty();
}

// Each result on a line of its own.
PyObject* return_type_repr(PyObject* self, PyObject*) {
  PyTypeObject* type = Py_TYPE(self);
  std::string text = std::string(type->tp_name) + "(";
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    PyObject* entry = PyObject_Repr(PyTuple_GET_ITEM(self, i));
    const char* entry_text = entry == nullptr ? nullptr : PyUnicode_AsUTF8(entry);
    if (entry_text != nullptr) {
      text += std::string(i == 0 ? "\n" : ",\n") + type->tp_members[i].name + "=" + entry_text;
    }
    Py_XDECREF(entry);
    if (entry_text == nullptr) return nullptr;
  }
  return PyUnicode_FromString((text + ")").c_str());
}

// torch.return_types.max and its like: one struct sequence per op with named results.
PyTypeObject* return_type(const ops::Op& op) {
  static std::map<const ops::Op*, PyTypeObject*>& types =
      *new std::map<const ops::Op*, PyTypeObject*>;
  PyTypeObject*& type = types[&op];
  if (type != nullptr) return type;
  static std::vector<std::unique_ptr<std::string>>& texts =
      *new std::vector<std::unique_ptr<std::string>>;
  const auto keep = [](std::string text) {
    return texts.emplace_back(std::make_unique<std::string>(std::move(text)))->c_str();
  };
  auto* fields = new PyStructSequence_Field[op.schema.returns.size() + 1];
  size_t i = 0;
  for (const ops::Return& result : op.schema.returns) fields[i++] = {keep(result.name), ""};
  fields[i] = {nullptr, nullptr};
  PyStructSequence_Desc description{keep("torch.return_types." + op.schema.name), "", fields,
                                    static_cast<int>(i)};
  PyTypeObject* made = PyStructSequence_NewType(&description);
  delete[] fields;
  if (made == nullptr) throw PythonError();
  static PyMethodDef repr_method = {"__repr__", &return_type_repr, METH_NOARGS, nullptr};
  PyObject* method = PyDescr_NewMethod(made, &repr_method);
  if (method == nullptr ||
      PyObject_SetAttrString(reinterpret_cast<PyObject*>(made), "__repr__", method) < 0) {
    throw PythonError();
  }
  Py_DECREF(method);
  // Where pickle finds the type; its name for users stays torch's.
  const PyRef module(PyUnicode_FromString("mindtorch_v2.return_types"));
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(made), "__module__", module.get()) < 0) {
    throw PythonError();
  }
  type = made;
  return type;
}

PyObject* wrap_outputs(const ops::Op& op, ops::Outputs& outputs) {
  const auto& returns = op.schema.returns;
  if (returns.empty()) Py_RETURN_NONE;
  if (MT_LIKELY(returns.size() == 1)) {
    switch (returns[0].type) {
      case ops::ReturnType::kTensor:
        return wrap(std::move(outputs.tensors[0]));
      case ops::ReturnType::kTensorList:
        break;
      case ops::ReturnType::kInt:
        return PyLong_FromLongLong(outputs.scalar.to_int());
      case ops::ReturnType::kFloat:
        return PyFloat_FromDouble(outputs.scalar.to_double());
      case ops::ReturnType::kBool:
        return PyBool_FromLong(outputs.scalar.to_bool());
      case ops::ReturnType::kScalar:
        return wrap_scalar(outputs.scalar);
      case ops::ReturnType::kNothing:
        Py_RETURN_NONE;
    }
  }
  const bool named = has_named_results(op);
  PyObject* tuple = named ? PyStructSequence_New(return_type(op.base != nullptr ? *op.base : op))
                          : PyTuple_New(static_cast<Py_ssize_t>(outputs.tensors.size()));
  if (tuple == nullptr) return nullptr;
  for (size_t i = 0; i < outputs.tensors.size(); ++i) {
    PyObject* entry = wrap(std::move(outputs.tensors[i]));
    if (entry == nullptr) {
      Py_DECREF(tuple);
      return nullptr;
    }
    if (named) {
      PyStructSequence_SetItem(tuple, static_cast<Py_ssize_t>(i), entry);
    } else {
      PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), entry);
    }
  }
  return tuple;
}

// What torch would show for this name.
TorchSignatures signatures_of(const Overloads& overloads) {
  std::vector<ops::Schema> schemas;
  for (const Signature& signature : overloads.plain) {
    ops::Schema& schema = schemas.emplace_back(signature.op().schema);
    const auto out = std::ranges::find_if(overloads.with_out, [&](const Signature& candidate) {
      return candidate.op().base == &signature.op();
    });
    if (out == overloads.with_out.end() || overloads.is_method) continue;
    const bool several = schema.returns.size() > 1;
    schema.params.push_back({.name = "out",
                             .type = several ? ops::ArgType::kTensorList : ops::ArgType::kTensor,
                             .optional = true,
                             .keyword_only = true,
                             .list_size = several ? std::ssize(schema.returns) : 0,
                             .has_default = true,
                             .default_text = "None"});
  }
  return torch_signatures(overloads.name, overloads.is_method, std::move(schemas));
}

// pin_memory=True and requires_grad=True of a factory.
PyObject* with_options(PyObject* result, const ParsedArgs& parsed) {
  const PyRef made(result);
  Tensor tensor = unwrap(made.get());
  if (parsed.pin_memory) tensor = pinned(tensor);
  if (parsed.requires_grad) {
    MT_CHECK(is_differentiable(tensor.dtype()), RuntimeError,
             "Only Tensors of floating point and complex dtype can require gradients");
    autograd::set_requires_grad(tensor, true);
  }
  return wrap(std::move(tensor));
}

// Null when no candidate takes the arguments.
PyObject* call_first_match(const std::vector<Signature>& candidates,
                           PyObject* const* args,
                           Py_ssize_t nargs,
                           PyObject* kwnames,
                           size_t returns = 0) {
  ParsedArgs parsed;
  do {
    parsed.may_read_tensors = parsed.left_unread;
    for (const Signature& candidate : candidates) {
      if (returns != 0 && candidate.op().schema.returns.size() != returns) continue;
      if (MT_LIKELY(candidate.parse(args, nargs, kwnames, parsed))) {
        PyObject* const result = call_op(candidate.op(), parsed.args(), parsed.is_large());
        if (result == nullptr) throw PythonError();
        if (result == Py_None && nargs > 0) {  // it wrote lists: as torch, gives the first back
          Py_DECREF(result);
          return Py_NewRef(args[0]);
        }
        if (MT_UNLIKELY(parsed.pin_memory || parsed.requires_grad)) {
          return with_options(result, parsed);
        }
        return result;
      }
    }
  } while (parsed.left_unread && !parsed.may_read_tensors);
  return nullptr;
}

PyRef tuple_of(const std::vector<PyObject*>& entries) {
  PyRef tuple(PyTuple_New(static_cast<Py_ssize_t>(entries.size())));
  for (size_t i = 0; i < entries.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(entries[i]));
  }
  return tuple;
}

// Interned names live for good, so the borrowed pointer stays valid.
PyObject* interned(const std::string& name) {
  PyObject* const text = PyUnicode_InternFromString(name.c_str());
  if (text == nullptr) throw PythonError();
  Py_DECREF(text);
  return text;
}

// out= is taken apart here: None means absent, a tuple fills the outputs one by one. Null when no
// candidate takes the arguments.
PyObject* call_with_out(const Overloads& overloads,
                        PyObject* const* args,
                        Py_ssize_t nargs,
                        PyObject* kwnames,
                        Py_ssize_t out_at) {
  PyObject* out = args[nargs + out_at];
  const Py_ssize_t keywords = PyTuple_GET_SIZE(kwnames);
  std::vector<PyObject*> all(args, args + nargs);
  std::vector<PyObject*> names;
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    if (k == out_at) continue;
    names.push_back(PyTuple_GET_ITEM(kwnames, k));
    all.push_back(args[nargs + k]);
  }
  if (overloads.with_out.empty() || overloads.is_method) return nullptr;
  const bool absent = out == Py_None;
  size_t count = 0;
  PyRef held;  // what the other arguments, or another thread, take out of a list of outputs
  if (!absent) {
    // max(x, out=a) and max(x, 0, out=(a, b)) are different ops.
    const bool several = PyTuple_Check(out) || PyList_Check(out);
    if (several) held = frozen(out);
    count = several ? static_cast<size_t>(PyTuple_GET_SIZE(held.get())) : 1;
    const auto found = std::ranges::find_if(overloads.with_out, [&](const Signature& signature) {
      const size_t returns = signature.op().schema.returns.size();
      return several ? returns == count && returns > 1 : returns == 1;
    });
    if (found == overloads.with_out.end()) return nullptr;
    const auto& returns = found->op().schema.returns;
    for (size_t i = 0; i < count; ++i) {
      names.push_back(interned(count == 1 ? "out" : returns[i].name));
      all.push_back(several ? PyTuple_GET_ITEM(held.get(), static_cast<Py_ssize_t>(i)) : out);
    }
  }
  const PyRef new_names = tuple_of(names);
  return call_first_match(absent ? overloads.plain : overloads.with_out, all.data(), nargs,
                          new_names.get(), count);
}

PyObject* call_matching(const Overloads& overloads,
                        PyObject* const* args,
                        Py_ssize_t nargs,
                        PyObject* kwnames) {
  if (kwnames != nullptr) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) {
      if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, k), "out") == 0) {
        return call_with_out(overloads, args, nargs, kwnames, k);
      }
    }
  }
  return call_first_match(overloads.plain, args, nargs, kwnames);
}

// add(x, 2, y), where 2 is alpha: each argument gets the name that its old place had.
PyObject* call_deprecated(const Overloads& overloads,
                          const ops::Schema& old,
                          PyObject* const* args,
                          Py_ssize_t nargs,
                          PyObject* kwnames) {
  const Py_ssize_t skip = overloads.is_method ? 1 : 0;
  const auto positional = std::ranges::count(old.params, false, &ops::Param::keyword_only);
  if (nargs - skip != positional) return nullptr;
  std::vector<PyObject*> names;
  for (Py_ssize_t i = 0; i < positional; ++i) {
    names.push_back(interned(keyword_of(old.params[static_cast<size_t>(i)])));
  }
  const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; k < keywords; ++k) names.push_back(PyTuple_GET_ITEM(kwnames, k));
  const PyRef new_names = tuple_of(names);
  PyObject* const result = call_matching(overloads, args, skip, new_names.get());
  static std::set<std::string>& warned = *new std::set<std::string>;
  if (result != nullptr && warned.insert(overloads.name).second) {
    const PyRef made(result);
    warn("This overload of " + overloads.name + " is deprecated:\n\t" + overloads.name +
         describe(old.params) + "\nConsider using one of the following signatures instead:\n\t" +
         overloads.name + describe(signatures_of(overloads).shown[0].params));
    return Py_NewRef(made.get());
  }
  return result;
}

// zeros(2, layout=torch.sparse_coo) and its like. False where no such layout is wanted.
bool call_for_layout(const Overloads& overloads,
                     PyObject* const* args,
                     Py_ssize_t nargs,
                     PyObject* kwnames,
                     PyRef& result) {
  const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  bool is_wanted = false;
  const PyRef named(PyDict_New());
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    PyObject* const name = PyTuple_GET_ITEM(kwnames, k);
    PyObject* const value = args[nargs + k];
    is_wanted |= is_layout(value) && !is_strided_layout(value) &&
                 PyUnicode_CompareWithASCIIString(name, "layout") == 0;
    if (PyDict_SetItem(named.get(), name, value) < 0) throw PythonError();
  }
  if (!is_wanted) return false;
  // create(function, is_method, args, kwargs): a sparse tensor.
  static PyObject* create = nullptr;
  imported(create, "mindtorch_v2.sparse._factories", "create");
  const PyRef positional = tuple_of({args, args + nargs});
  const PyRef name(PyUnicode_FromString(overloads.name.c_str()));
  result = PyRef(PyObject_CallFunctionObjArgs(create, name.get(),
                                              overloads.is_method ? Py_True : Py_False,
                                              positional.get(), named.get(), nullptr));
  return true;
}

// No signature takes the arguments as they are.
[[gnu::noinline]] PyObject* call_otherwise(PyObject* callable,
                                           PyObject* const* args,
                                           Py_ssize_t nargs,
                                           PyObject* kwnames) {
  if (PyObject* result = nullptr; handle_call(callable, args, nargs, kwnames, result)) {
    return result;  // null where the handler raised
  }
  const Overloads& overloads = *reinterpret_cast<OpFunction*>(callable)->overloads;
  if (PyRef made; call_for_layout(overloads, args, nargs, kwnames, made)) {
    return Py_NewRef(made.get());
  }
  const TorchSignatures signatures = signatures_of(overloads);
  for (const ops::Schema& old : signatures.deprecated) {
    PyObject* const result = call_deprecated(overloads, old, args, nargs, kwnames);
    if (result != nullptr) return result;
  }
  const Py_ssize_t skip = overloads.is_method ? 1 : 0;
  throw TypeError(
      explain_arguments(overloads.name, signatures, {args + skip, nargs - skip, kwnames}));
}

// Some thread has a mode that handles calls: it may be this one.
[[gnu::noinline]] PyObject* call_with_modes(PyObject* callable,
                                            PyObject* const* args,
                                            Py_ssize_t nargs,
                                            PyObject* kwnames) {
  if (PyObject* result = nullptr; handle_call(callable, args, nargs, kwnames, result)) {
    if (result == nullptr) throw PythonError();
    return result;
  }
  return call_matching(*reinterpret_cast<OpFunction*>(callable)->overloads, args, nargs, kwnames);
}

PyObject* function_call(PyObject* callable,
                        PyObject* const* args,
                        size_t flags,
                        PyObject* kwnames) {
  const Overloads& overloads = *reinterpret_cast<OpFunction*>(callable)->overloads;
  const Py_ssize_t nargs = PyVectorcall_NARGS(flags);
  return guarded([&]() -> PyObject* {
    PyObject* const result = MT_LIKELY(g_function_modes == 0)
                                 ? call_matching(overloads, args, nargs, kwnames)
                                 : call_with_modes(callable, args, nargs, kwnames);
    if (MT_LIKELY(result != nullptr)) return result;
    return call_otherwise(callable, args, nargs, kwnames);
  });
}

PyObject* function_bind(PyObject* function, PyObject* object, PyObject*) {
  const bool is_method = reinterpret_cast<OpFunction*>(function)->overloads->is_method;
  if (!is_method || object == nullptr || object == Py_None) return Py_NewRef(function);
  return PyMethod_New(function, object);
}

PyObject* function_repr(PyObject* self) {
  const Overloads& overloads = *reinterpret_cast<OpFunction*>(self)->overloads;
  return PyUnicode_FromFormat("<%s %s of mindtorch_v2>",
                              overloads.is_method ? "method" : "function", overloads.name.c_str());
}

PyObject* function_name(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<OpFunction*>(self)->overloads->name.c_str());
}

PyObject* function_qualname(PyObject* self, void*) {
  const Overloads& overloads = *reinterpret_cast<OpFunction*>(self)->overloads;
  return PyUnicode_FromString(
      (overloads.is_method ? "Tensor." + overloads.name : overloads.name).c_str());
}

PyObject* function_module(PyObject*, void*) { return PyUnicode_FromString("mindtorch_v2"); }

PyObject* function_doc(PyObject* self, void*) {
  const Overloads& overloads = *reinterpret_cast<OpFunction*>(self)->overloads;
  std::string text;
  const int skip = overloads.is_method ? 1 : 0;
  const ops::Op* documented = nullptr;
  for (const auto* list : {&overloads.plain, &overloads.with_out}) {
    for (const Signature& signature : *list) {
      const ops::Op& op = signature.op();
      const std::vector<ops::Param>& params = op.schema.params;
      text += overloads.name + describe({params.begin() + skip, params.end()}) + "\n";
      const ops::Op* source = op.base != nullptr ? op.base : &op;
      if (documented == nullptr && !source->doc.empty()) documented = source;
    }
  }
  if (documented != nullptr) {
    text += "\n" + documented->doc + "\n";
    if (overloads.plain.front().op().form == ops::OpForm::kInplace) {
      text += "\nWorks in place and returns the tensor itself.\n";
    } else if (!documented->example.empty()) {
      text += "\nExample:\n\n" + documented->example + "\n";
    }
  }
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

// Pickled and copied by name, like any function of a module.
PyObject* function_reduce(PyObject* self, PyObject*) {
  const Overloads& overloads = *reinterpret_cast<OpFunction*>(self)->overloads;
  if (!overloads.is_method) return PyUnicode_FromString(overloads.name.c_str());
  PyObject* builtins = PyImport_ImportModule("builtins");
  if (builtins == nullptr) return nullptr;
  PyObject* function = PyObject_GetAttrString(builtins, "getattr");
  Py_DECREF(builtins);
  return function == nullptr
             ? nullptr
             : Py_BuildValue("N(Os)", function, g_tensor_type, overloads.name.c_str());
}

PyMethodDef g_function_methods[] = {
    {"__reduce__", &function_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef g_function_attributes[] = {
    {"__name__", &function_name, nullptr, nullptr, nullptr},
    {"__qualname__", &function_qualname, nullptr, nullptr, nullptr},
    {"__module__", &function_module, nullptr, nullptr, nullptr},
    {"__doc__", &function_doc, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

int make_function_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpFunction, vectorcall), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr},
  };
  PyType_Slot slots[] = {
      {Py_tp_members, members},
      {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
      {Py_tp_descr_get, reinterpret_cast<void*>(&function_bind)},
      {Py_tp_repr, reinterpret_cast<void*>(&function_repr)},
      {Py_tp_getset, g_function_attributes},
      {Py_tp_methods, g_function_methods},
      {0, nullptr},
  };
  PyType_Spec spec = {"mindtorch_v2.op_function", sizeof(OpFunction), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                          Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  g_function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return g_function_type == nullptr ? -1 : 0;
}

using OverloadsByName = std::map<std::string, std::unique_ptr<Overloads>>;

void add_overload(OverloadsByName& names, const ops::Op& op, bool is_method) {
  const auto add = [&](const std::string& name) {
    auto& overloads = names[name];
    if (overloads == nullptr) {
      overloads = std::make_unique<Overloads>();
      overloads->name = name;
      overloads->is_method = is_method;
    }
    (op.form == ops::OpForm::kOut ? overloads->with_out : overloads->plain)
        .emplace_back(op, is_method);
  };
  add(op.schema.name);
  for (const std::string& alias : op.aliases) add(alias);
}

int add_functions(PyObject* dict, OverloadsByName& names) {
  for (auto& [name, overloads] : names) {
    auto* function = PyObject_New(OpFunction, g_function_type);
    if (function == nullptr) return -1;
    function->vectorcall = &function_call;
    function->overloads = overloads.release();  // lives as long as the process
    const int result =
        PyDict_SetItemString(dict, name.c_str(), reinterpret_cast<PyObject*>(function));
    Py_DECREF(function);
    if (result < 0) return -1;
  }
  return 0;
}

}  // namespace

PyObject* call_op(const ops::Op& op, ops::Args args, bool release_gil) {
  ops::Outputs outputs;
  {
    // Recording takes no time, and wants to know the Python line.
    const GilRelease release(release_gil && dispatch::Pipeline::current() == nullptr);
    dispatch::call(op, args, outputs);
  }
  return wrap_outputs(op, outputs);
}

PyObject* return_type_of(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const char* wanted = PyUnicode_AsUTF8(name);
    if (wanted == nullptr) return nullptr;
    for (const ops::Op& op : ops::registry().ops()) {
      if (op.base == nullptr && op.schema.name == wanted && has_named_results(op)) {
        return Py_NewRef(reinterpret_cast<PyObject*>(return_type(op)));
      }
    }
    Py_RETURN_NONE;
  });
}

int add_op_functions(PyObject* functions, PyObject* nn_functions, PyObject* internal) {
  if (make_function_type() < 0) return -1;
  constexpr int kInternal = 128;  // for our own Python code only
  struct Place {
    int flag;
    PyObject* dict;
    OverloadsByName names;
  };
  Place places[] = {{ops::kFunction, functions, {}},
                    {ops::kMethod, g_tensor_type->tp_dict, {}},
                    {ops::kNnFunction, nn_functions, {}},
                    {kInternal, internal, {}}};
  for (const ops::Op& op : ops::registry().ops()) {
    const int flags = op.python_place == 0 ? kInternal : op.python_place;
    for (Place& place : places) {
      if ((flags & place.flag) != 0) add_overload(place.names, op, place.flag == ops::kMethod);
    }
  }
  for (Place& place : places) {
    if (add_functions(place.dict, place.names) < 0) return -1;
  }
  PyType_Modified(g_tensor_type);
  return 0;
}

int add_library_functions(PyObject* dict, const ops::Registry& ops) {
  OverloadsByName names;
  for (const ops::Op& op : ops.ops()) {
    if (op.python_place != 0) add_overload(names, op, false);
  }
  return add_functions(dict, names);
}

}  // namespace mindtorch::python
