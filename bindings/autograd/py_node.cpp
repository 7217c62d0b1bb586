#include "bindings/autograd/py_node.h"

#include <structmember.h>

#include <map>
#include <string>

#include "bindings/autograd/py_function.h"
#include "bindings/autograd/py_hooks.h"
#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_tensor.h"
#include "mindtorch/autograd/accumulate_grad.h"

namespace mindtorch::python {
namespace {

using autograd::Node;
using autograd::NodePtr;

PyTypeObject* g_node_type = nullptr;

PyNode* self_of(PyObject* object) { return reinterpret_cast<PyNode*>(object); }

void dealloc(PyObject* object) {
  PyNode* const self = self_of(object);
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->weakrefs != nullptr) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->dict);
  if (self->node && self->node->python_object == object) self->node->python_object = nullptr;
  self->node.~NodePtr();
  type->tp_free(object);
  Py_DECREF(type);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self_of(object)->dict);
  return 0;
}
int clear(PyObject* object) {
  Py_CLEAR(self_of(object)->dict);
  return 0;
}

PyObject* name(PyObject* self, PyObject*) {
  return guarded([&] { return PyUnicode_FromString(self_of(self)->node->name().c_str()); });
}
PyObject* get_next_functions(PyObject* self, void*) {
  return guarded([&] { return next_functions(*self_of(self)->node); });
}
PyObject* get_metadata(PyObject* self, void*) {
  return guarded([&] { return metadata_of(*self_of(self)->node); });
}
PyObject* sequence_nr(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(self_of(self)->node->sequence);
}
PyObject* register_hook(PyObject* self, PyObject* hook) {
  return guarded([&] { return add_post_hook(*self_of(self)->node, hook); });
}
PyObject* register_prehook(PyObject* self, PyObject* hook) {
  return guarded([&] { return add_pre_hook(*self_of(self)->node, hook); });
}

// node.variable of a leaf's end, node._saved_self.
PyObject* getattro(PyObject* object, PyObject* attribute) {
  PyObject* const found = PyObject_GenericGetAttr(object, attribute);
  if (found != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return found;
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* const result = guarded([&]() -> PyObject* {
    const char* const text = PyUnicode_AsUTF8(attribute);
    if (text == nullptr) throw PythonError();
    const std::string_view wanted = text;
    Node& node = *self_of(object)->node;
    if (wanted == "variable") {
      if (const auto* leaf = dynamic_cast<autograd::AccumulateGrad*>(&node)) {
        return wrap(leaf->variable());
      }
    } else if (wanted.starts_with("_saved_")) {
      for (auto& [saved, tensor] : node.saved_tensors()) {
        if (wanted.substr(7) == saved) return wrap(std::move(tensor));
      }
    }
    return nullptr;
  });
  if (result != nullptr || PyErr_Occurred() != nullptr) {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return result;
  }
  PyErr_Restore(type, value, trace);
  return nullptr;
}

// node(grad, ...): the gradients it makes of these.
PyObject* call(PyObject* object, PyObject* args, PyObject*) {
  return guarded([&] {
    Node& node = *self_of(object)->node;
    autograd::Gradients grads;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
      PyObject* const entry = PyTuple_GET_ITEM(args, i);
      grads.push_back(entry == Py_None ? Tensor() : tensor_argument(entry, "apply", "grad"));
    }
    MT_CHECK(grads.size() == node.outputs.size(), TypeError, node.name(), " takes ",
             node.outputs.size(), " gradients, got ", grads.size());
    autograd::Gradients results;
    node.apply(grads, results);
    if (results.size() == 1) return wrap(results[0]);
    return wrap_gradients(results);
  });
}

PyObject* repr(PyObject* object) {
  return PyUnicode_FromFormat("<%s object at %p>", Py_TYPE(object)->tp_name, object);
}

PyMethodDef g_methods[] = {
    {"name", &name, METH_NOARGS, "The name of the node."},
    {"_sequence_nr", &sequence_nr, METH_NOARGS, "Nodes made later have larger numbers."},
    {"register_hook", &register_hook, METH_O,
     "Calls hook(grad_inputs, grad_outputs) after the node ran."},
    {"register_prehook", &register_prehook, METH_O,
     "Calls hook(grad_outputs) before the node runs."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef g_attributes[] = {
    {"next_functions", &get_next_functions, nullptr, "Where its gradients go.", nullptr},
    {"metadata", &get_metadata, nullptr, "A dict for the user.", nullptr},
    {"__dict__", &PyObject_GenericGetDict, &PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMemberDef g_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(PyNode, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyNode, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot g_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(&clear)},
    {Py_tp_methods, g_methods},
    {Py_tp_getset, g_attributes},
    {Py_tp_members, g_members},
    {Py_tp_getattro, reinterpret_cast<void*>(&getattro)},
    {Py_tp_call, reinterpret_cast<void*>(&call)},
    {Py_tp_repr, reinterpret_cast<void*>(&repr)},
    {0, nullptr},
};

// One class for each kind of node, as in torch: type(x.grad_fn).__name__ is "MulBackward0".
PyTypeObject* type_of(const std::string& name) {
  static std::map<std::string, PyTypeObject*>& types = *new std::map<std::string, PyTypeObject*>;
  PyTypeObject*& type = types[name];
  if (type != nullptr) return type;
  const auto* full = new std::string("mindtorch_v2.autograd.graph." + name);
  PyType_Slot slots[] = {{0, nullptr}};
  PyType_Spec spec = {full->c_str(), sizeof(PyNode), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  const PyRef bases(PyTuple_Pack(1, g_node_type));
  PyRef made(PyType_FromSpecWithBases(&spec, bases.get()));
  type = reinterpret_cast<PyTypeObject*>(made.release());
  type->tp_name = full->c_str() + full->size() - name.size();  // as torch shows it
  return type;
}

}  // namespace

PyObject* wrap_node(const NodePtr& node) {
  if (!node) Py_RETURN_NONE;
  if (PyObject* const ctx = ctx_of(*node)) return Py_NewRef(ctx);
  if (node->python_object != nullptr) {
    return Py_NewRef(static_cast<PyObject*>(node->python_object));
  }
  const std::string name = node->name();  // perhaps with a namespace in front
  const size_t colon = name.rfind(':');
  PyTypeObject* const type = type_of(colon == std::string::npos ? name : name.substr(colon + 1));
  PyNode* const made = PyObject_GC_New(PyNode, type);
  if (made == nullptr) throw PythonError();
  new (&made->node) NodePtr(node);
  made->dict = nullptr;
  made->weakrefs = nullptr;
  node->python_object = made;
  PyObject_GC_Track(made);
  return reinterpret_cast<PyObject*>(made);
}

bool is_node(PyObject* object) {
  return PyObject_TypeCheck(object, g_node_type) != 0 || is_ctx(object);
}

NodePtr unwrap_node(PyObject* object) {
  return is_ctx(object) ? node_of_ctx(object) : self_of(object)->node;
}

PyObject* next_functions(const Node& node) {
  PyRef tuple(PyTuple_New(static_cast<Py_ssize_t>(node.next.size())));
  for (size_t i = 0; i < node.next.size(); ++i) {
    const autograd::Edge& edge = node.next[i];
    const PyRef target(wrap_node(edge.node));
    PyObject* const entry = Py_BuildValue("(OI)", target.get(), edge.input);
    if (entry == nullptr) throw PythonError();
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), entry);
  }
  return tuple.release();
}

namespace {

PyRef new_dict() {
  static PyObject* type = nullptr;
  imported(type, "collections", "OrderedDict");
  return PyRef(PyObject_CallNoArgs(type));
}

}  // namespace

PyObject* metadata_of(Node& node) {
  if (node.metadata == nullptr) {
    node.metadata = {PyRef(PyDict_New()).release(),
                     [](void* object) { release_python_reference(object); }};
  }
  return Py_NewRef(static_cast<PyObject*>(node.metadata.get()));
}

PyObject* add_post_hook(Node& node, PyObject* hook) {
  auto& hooks = node.make_hooks().post;
  for (const auto& own : hooks) {
    if (PyObject* const dict = dict_of(*own)) return put_hook(dict, hook);
  }
  const PyRef dict = new_dict();
  hooks.push_back(make_node_post_hook(dict.get()));
  return put_hook(dict.get(), hook);
}

PyObject* add_pre_hook(Node& node, PyObject* hook) {
  auto& hooks = node.make_hooks().pre;
  for (const auto& own : hooks) {
    if (PyObject* const dict = dict_of(*own)) return put_hook(dict, hook);
  }
  const PyRef dict = new_dict();
  hooks.push_back(make_node_pre_hook(dict.get()));
  return put_hook(dict.get(), hook);
}

int add_node_type(PyObject* module) {
  PyType_Spec spec = {"mindtorch_v2._C._Node", sizeof(PyNode), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                          Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      g_slots};
  g_node_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (g_node_type == nullptr) return -1;
  return PyModule_AddObjectRef(module, "_Node", reinterpret_cast<PyObject*>(g_node_type));
}

}  // namespace mindtorch::python
