#include "bindings/autograd/py_function.h"

#include <structmember.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "bindings/args/call_arguments.h"
#include "bindings/autograd/py_hooks.h"
#include "bindings/autograd/py_node.h"
#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/gil.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_tensor.h"
#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/autograd/saved_tensor.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::python {
namespace {

using autograd::Gradients;
using autograd::Node;
using autograd::NodePtr;
using autograd::SavedTensor;

class PythonNode;

// Fields that only C++ sees.
struct FunctionState {
  PythonNode* node = nullptr;  // null before apply() and after the graph is gone
  // Shared with who unpacks them: a hook of that may free the graph.
  std::shared_ptr<std::vector<SavedTensor>> saved = std::make_shared<std::vector<SavedTensor>>();
  bool freed = false;
  std::vector<bool> is_tensor;  // by argument of forward
};

struct PyFunction {
  PyObject_HEAD PyObject* dict;
  PyObject* weakrefs;
  PyObject* needs_input_grad;
  PyObject* to_save;
  PyObject* non_differentiable;
  PyObject* dirty_tensors;
  char materialize_grads;
  FunctionState* state;
};

PyTypeObject* g_function_base = nullptr;

PyFunction* self_of(PyObject* object) { return reinterpret_cast<PyFunction*>(object); }

// The node of a custom Function. It owns the ctx.
class PythonNode final : public Node {
 public:
  explicit PythonNode(PyObject* ctx) : ctx_(Py_NewRef(ctx)) {}
  std::string name() const override { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  void apply(Gradients& grads, Gradients& results) override;
  void release_saved(runtime::Stream reader) override {
    FunctionState& state = *self_of(ctx_)->state;
    state.freed = true;
    if (reader) {
      for (const SavedTensor& saved : *state.saved) saved.keep_for(reader);
    }
    state.saved = std::make_shared<std::vector<SavedTensor>>();
  }
  PyObject* ctx() const { return ctx_; }

 private:
  ~PythonNode() override { release_python_reference(ctx_); }
  // From now on the ctx has no node; whoever got hold of it just before keeps it.
  bool revived() noexcept override {
    if (Py_IsInitialized() == 0) return false;
    const GilHold gil;
    if (use_count() > 1 && !drop()) return true;
    self_of(ctx_)->state->node = nullptr;
    return false;
  }
  void run(Gradients& grads, Gradients& results);

  PyObject* ctx_;
  std::string name_;
};

void PythonNode::apply(Gradients& grads, Gradients& results) {
  const GilHold gil;
  try {
    run(grads, results);
  } catch (const PythonError&) {
    throw CarriedError::take();
  }
}

void PythonNode::run(Gradients& grads, Gradients& results) {
  PyFunction* const self = self_of(ctx_);
  const FunctionState& state = *self->state;
  PyRef given(PyTuple_New(static_cast<Py_ssize_t>(grads.size())));
  for (size_t i = 0; i < grads.size(); ++i) {
    Tensor grad = grads[i];
    if (!grad.defined() && self->materialize_grads != 0) {
      const autograd::TensorMeta& meta = outputs[i];
      grad = zeros(meta.sizes, meta.dtype, meta.device);
    }
    PyObject* const entry = wrap(std::move(grad));
    if (entry == nullptr) throw PythonError();
    PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i), entry);
  }
  const PyRef method(PyObject_GetAttrString(ctx_, "apply"));
  PyRef made(PyObject_Call(method.get(), given.get(), nullptr));
  if (PyTuple_Check(made.get()) == 0) made = PyRef(PyTuple_Pack(1, made.get()));
  const auto expected = static_cast<Py_ssize_t>(state.is_tensor.size());
  const Py_ssize_t count = PyTuple_GET_SIZE(made.get());
  bool fits = count == expected;
  if (count > expected) {  // None for arguments that forward did not get
    fits = true;
    for (Py_ssize_t i = expected; i < count; ++i) {
      fits &= PyTuple_GET_ITEM(made.get(), i) == Py_None;
    }
  }
  MT_CHECK(fits, RuntimeError, "function ", name_,
           " returned an incorrect number of gradients (expected ", expected, ", got ", count, ")");
  results.clear();
  for (Py_ssize_t i = 0; i < expected; ++i) {
    PyObject* const entry = PyTuple_GET_ITEM(made.get(), i);
    if (!state.is_tensor[static_cast<size_t>(i)]) {
      MT_CHECK(entry == Py_None, RuntimeError, "function ", name_,
               " returned a gradient different from None at position ", i + 1,
               ", but the corresponding forward input was not a Variable");
      continue;
    }
    MT_CHECK(entry == Py_None || is_tensor(entry), RuntimeError, "function ", name_,
             " returned a gradient that is no Tensor at position ", i + 1, ": ",
             Py_TYPE(entry)->tp_name);
    results.push_back(entry == Py_None ? Tensor() : unwrap(entry));
  }
}

// --- apply ---

bool holds(PyObject* tuple, PyObject* object) {
  if (tuple == nullptr || PyTuple_Check(tuple) == 0) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (PyTuple_GET_ITEM(tuple, i) == object) return true;
  }
  return false;
}

// Where `object` stands among the first `end` entries, if it is a tensor; else -1.
Py_ssize_t position_of(PyObject* tuple, PyObject* object, Py_ssize_t end) {
  for (Py_ssize_t i = 0; i < end && is_tensor(object); ++i) {
    if (PyTuple_GET_ITEM(tuple, i) == object) return i;
  }
  return -1;
}

void check_dirty(const PyFunction* self, PyObject* outputs) {
  if (self->dirty_tensors == nullptr || PyTuple_Check(self->dirty_tensors) == 0) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->dirty_tensors); ++i) {
    PyObject* const entry = PyTuple_GET_ITEM(self->dirty_tensors, i);
    MT_CHECK(holds(outputs, entry), RuntimeError,
             "Some elements marked as dirty during the forward method were not returned as output. "
             "The inputs that are modified inplace must all be outputs of the Function.");
    MT_CHECK(
        PyTuple_GET_SIZE(outputs) == 1 || !is_tensor(entry) || !unwrap(entry).impl()->view_base ||
            !autograd::requires_grad(unwrap(entry)),
        RuntimeError,
        "If your Function modifies inputs that are views and has several outputs, those inputs "
        "must be cloned before they are modified.");
  }
}

// The position of an object among the tensors that forward got; -1 for none.
Py_ssize_t input_position(PyObject* args, PyObject* object) {
  Py_ssize_t position = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    PyObject* const entry = PyTuple_GET_ITEM(args, i);
    if (entry == object) return position;
    if (is_tensor(entry)) ++position;
  }
  return -1;
}

// One result of forward, with its history. A new reference.
PyObject* finish_output(PyFunction* self, const NodePtr& node, PyObject* args, PyObject* output) {
  const Tensor& tensor = unwrap(output);
  const Py_ssize_t input = input_position(args, output);
  const bool dirty = holds(self->dirty_tensors, output);
  const bool differentiable =
      node && is_differentiable(tensor.dtype()) && !holds(self->non_differentiable, output);
  if (dirty) {
    tensor.bump_version();
    if (!node) return Py_NewRef(output);
    MT_CHECK(!autograd::requires_grad(tensor) || !autograd::is_leaf(tensor), RuntimeError,
             "a leaf Variable that requires grad has been used in an in-place operation.");
    autograd::check_inplace(tensor, true);
    autograd::rebase_history(tensor, node, static_cast<size_t>(std::max<Py_ssize_t>(input, 0)));
    track(output);
    return Py_NewRef(output);
  }
  if (!differentiable) {
    if (node) node->add_output(tensor);
    if (input >= 0) return wrap(autograd::detached(tensor));
    return Py_NewRef(output);
  }
  if (input >= 0 || autograd::requires_grad(tensor)) {
    // An argument as it is, or a tensor with a history of its own: another view of it.
    const autograd::GradModeGuard off(false);
    const Tensor shown = alias(tensor);
    autograd::add_output(shown, node);
    shown.impl()->view_origin = ViewOrigin::kFunction;
    PyObject* const made = wrap(shown);
    if (made != nullptr) track(made);
    return made;
  }
  autograd::add_output(tensor, node);
  track(output);
  if (tensor.impl()->view_base) tensor.impl()->view_origin = ViewOrigin::kFunction;
  return Py_NewRef(output);
}

void save_tensors(PyFunction* self, const NodePtr& node, PyObject* outputs) {
  FunctionState& state = *self->state;
  state.saved->clear();
  if (self->to_save == nullptr || self->to_save == Py_None) return;
  MT_CHECK(PyTuple_Check(self->to_save) != 0, TypeError, "save_for_backward takes tensors, got ",
           Py_TYPE(self->to_save)->tp_name);
  for (Py_ssize_t i = 0; node && i < PyTuple_GET_SIZE(self->to_save); ++i) {
    PyObject* const entry = PyTuple_GET_ITEM(self->to_save, i);
    if (entry == Py_None) {
      state.saved->emplace_back();
      continue;
    }
    MT_CHECK(is_tensor(entry), TypeError,
             "save_for_backward can only save variables, but argument ", i, " is of type ",
             Py_TYPE(entry)->tp_name);
    state.saved->emplace_back(unwrap(entry), holds(outputs, entry));
  }
  Py_CLEAR(self->to_save);
}

// _FunctionBase._apply(function, ctx, args, has_setup_context)
PyObject* apply_function(PyObject*, PyObject* const* given, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    static const CallArguments names("_apply", {"function", "ctx", "args", "has_setup_context"}, 4,
                                     4);
    PyObject* values[4];
    names.read(given, nargs, kwnames, values);
    PyObject* const function = values[0];
    PyObject* const ctx = values[1];
    PyObject* const args = values[2];
    const bool has_setup = is_true(values[3]);
    MT_CHECK(is_ctx(ctx) && PyTuple_Check(args) != 0, TypeError,
             "_apply takes a Function, its ctx and a tuple of arguments");
    PyFunction* const self = self_of(ctx);
    FunctionState& state = *self->state;
    const auto count = PyTuple_GET_SIZE(args);
    bool records = false;
    state.is_tensor.assign(static_cast<size_t>(count), false);
    PyRef needs(PyTuple_New(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* const entry = PyTuple_GET_ITEM(args, i);
      const bool tensor = is_tensor(entry);
      const bool wants = tensor && autograd::requires_grad(unwrap(entry));
      state.is_tensor[static_cast<size_t>(i)] = tensor;
      records |= wants;
      PyTuple_SET_ITEM(needs.get(), i, PyBool_FromLong(wants));
    }
    records &= autograd::is_grad_enabled();
    Py_XSETREF(self->needs_input_grad, needs.release());
    NodePtr node;
    if (records) {
      auto* const made = new PythonNode(ctx);
      node = NodePtr::adopt(made);
      state.node = made;
      made->set_name(Py_TYPE(ctx)->tp_name);
      if (autograd::AnomalyMode::enabled() && autograd::AnomalyMode::capture != nullptr) {
        made->call_site = autograd::AnomalyMode::capture();
      }
      for (Py_ssize_t i = 0; i < count; ++i) {
        if (!state.is_tensor[static_cast<size_t>(i)]) continue;
        made->next.push_back(autograd::gradient_edge(unwrap(PyTuple_GET_ITEM(args, i))));
      }
    }
    PyRef outputs;
    {
      const autograd::GradModeGuard off(false);
      const PyRef forward(PyObject_GetAttrString(function, "forward"));
      if (has_setup) {
        outputs = PyRef(PyObject_Call(forward.get(), args, nullptr));
        const PyRef setup(PyObject_GetAttrString(function, "setup_context"));
        const PyRef done(
            PyObject_CallFunctionObjArgs(setup.get(), ctx, args, outputs.get(), nullptr));
      } else {
        PyRef all(PyTuple_New(count + 1));
        PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(ctx));
        for (Py_ssize_t i = 0; i < count; ++i) {
          PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
        }
        outputs = PyRef(PyObject_Call(forward.get(), all.get(), nullptr));
      }
    }
    const bool single = PyTuple_Check(outputs.get()) == 0;
    if (single) outputs = PyRef(PyTuple_Pack(1, outputs.get()));
    check_dirty(self, outputs.get());
    PyRef finished(PyTuple_New(PyTuple_GET_SIZE(outputs.get())));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs.get()); ++i) {
      PyObject* const entry = PyTuple_GET_ITEM(outputs.get(), i);
      PyObject* result = nullptr;
      if (const Py_ssize_t earlier = position_of(outputs.get(), entry, i); earlier >= 0) {
        // Returned twice: it has one history.
        if (node) node->outputs.emplace_back(autograd::TensorMeta(node->outputs[earlier]));
        result = Py_NewRef(PyTuple_GET_ITEM(finished.get(), earlier));
      } else if (is_tensor(entry)) {
        result = finish_output(self, node, args, entry);
      } else {
        if (node) node->outputs.emplace_back();
        result = Py_NewRef(entry);
      }
      if (result == nullptr) throw PythonError();
      PyTuple_SET_ITEM(finished.get(), i, result);
    }
    save_tensors(self, node, finished.get());
    Py_CLEAR(self->dirty_tensors);
    Py_CLEAR(self->non_differentiable);
    if (!single) return finished.release();
    return Py_NewRef(PyTuple_GET_ITEM(finished.get(), 0));
  });
}

// --- the type ---

PyObject* function_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const object = type->tp_alloc(type, 0);
  if (object == nullptr) return nullptr;
  PyFunction* const self = self_of(object);
  self->materialize_grads = 1;
  self->state = new FunctionState;
  return object;
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  PyFunction* const self = self_of(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->dict);
  Py_VISIT(self->needs_input_grad);
  Py_VISIT(self->to_save);
  Py_VISIT(self->non_differentiable);
  Py_VISIT(self->dirty_tensors);
  return 0;
}
int clear(PyObject* object) {
  PyFunction* const self = self_of(object);
  Py_CLEAR(self->dict);
  Py_CLEAR(self->needs_input_grad);
  Py_CLEAR(self->to_save);
  Py_CLEAR(self->non_differentiable);
  Py_CLEAR(self->dirty_tensors);
  return 0;
}
void dealloc(PyObject* object) {
  PyFunction* const self = self_of(object);
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->weakrefs != nullptr) PyObject_ClearWeakRefs(object);
  clear(object);
  delete self->state;
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* get_saved_tensors(PyObject* object, void*) {
  return guarded([&] {
    FunctionState& state = *self_of(object)->state;
    if (state.freed) autograd::refuse_second_backward();
    if (state.node == nullptr) return PyTuple_New(0);
    const NodePtr node = NodePtr::retain(state.node);
    const std::shared_ptr<std::vector<SavedTensor>> saved = state.saved;
    PyRef tuple(PyTuple_New(static_cast<Py_ssize_t>(saved->size())));
    for (size_t i = 0; i < saved->size(); ++i) {
      const SavedTensor& each = (*saved)[i];
      PyObject* const entry = wrap(each.defined() ? each.unpack(*node) : Tensor());
      if (entry == nullptr) throw PythonError();
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), entry);
    }
    return tuple.release();
  });
}
PythonNode& live_node(PyObject* object) {
  PythonNode* const node = self_of(object)->state->node;
  MT_CHECK(node != nullptr, RuntimeError,
           "the graph that this ctx belongs to has already been freed, or forward has not ended");
  return *node;
}
PyObject* get_next_functions(PyObject* object, void*) {
  return guarded([&] { return next_functions(live_node(object)); });
}
PyObject* get_metadata(PyObject* object, void*) {
  return guarded([&] { return metadata_of(live_node(object)); });
}
PyObject* name(PyObject* object, PyObject*) {
  return PyUnicode_FromString(Py_TYPE(object)->tp_name);
}
PyObject* sequence_nr(PyObject* object, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(live_node(object).sequence); });
}
PyObject* register_hook(PyObject* object, PyObject* hook) {
  return guarded([&] { return add_post_hook(live_node(object), hook); });
}
PyObject* register_prehook(PyObject* object, PyObject* hook) {
  return guarded([&] { return add_pre_hook(live_node(object), hook); });
}

PyMemberDef g_members[] = {
    {"needs_input_grad", T_OBJECT, offsetof(PyFunction, needs_input_grad), 0, nullptr},
    {"to_save", T_OBJECT, offsetof(PyFunction, to_save), 0, nullptr},
    {"non_differentiable", T_OBJECT, offsetof(PyFunction, non_differentiable), 0, nullptr},
    {"dirty_tensors", T_OBJECT, offsetof(PyFunction, dirty_tensors), 0, nullptr},
    {"materialize_grads", T_BOOL, offsetof(PyFunction, materialize_grads), 0, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(PyFunction, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyFunction, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyGetSetDef g_attributes[] = {
    {"saved_tensors", &get_saved_tensors, nullptr, "What save_for_backward was given.", nullptr},
    {"saved_variables", &get_saved_tensors, nullptr, nullptr, nullptr},
    {"next_functions", &get_next_functions, nullptr, "Where its gradients go.", nullptr},
    {"metadata", &get_metadata, nullptr, "A dict for the user.", nullptr},
    {"__dict__", &PyObject_GenericGetDict, &PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

bool is_ctx(PyObject* object) { return PyObject_TypeCheck(object, g_function_base) != 0; }

NodePtr node_of_ctx(PyObject* ctx) {
  PythonNode* const node = self_of(ctx)->state->node;
  return node == nullptr || node->use_count() == 0 ? NodePtr() : NodePtr::retain(node);
}

PyObject* ctx_of(const Node& node) {
  const auto* const own = dynamic_cast<const PythonNode*>(&node);
  return own == nullptr ? nullptr : own->ctx();
}

int add_function_type(PyObject* module) {
  static PyMethodDef methods[] = {
      {"name", &name, METH_NOARGS, "The name of the node."},
      {"_sequence_nr", &sequence_nr, METH_NOARGS, "Nodes made later have larger numbers."},
      {"register_hook", &register_hook, METH_O,
       "Calls hook(grad_inputs, grad_outputs) after the node ran."},
      {"register_prehook", &register_prehook, METH_O,
       "Calls hook(grad_outputs) before the node runs."},
      fast_method<&apply_function>("_apply", "Runs forward and records it.", METH_STATIC),
      {nullptr, nullptr, 0, nullptr},
  };
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(&function_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(&clear)},
      {Py_tp_methods, methods},
      {Py_tp_getset, g_attributes},
      {Py_tp_members, g_members},
      {0, nullptr},
  };
  PyType_Spec spec = {"mindtorch_v2._C._FunctionBase", sizeof(PyFunction), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  g_function_base = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (g_function_base == nullptr) return -1;
  return PyModule_AddObjectRef(module, "_FunctionBase",
                               reinterpret_cast<PyObject*>(g_function_base));
}

}  // namespace mindtorch::python
