#include "bindings/tensor/py_tensor.h"

#include <structmember.h>

#include <cstring>
#include <new>
#include <vector>

#include "bindings/autograd/tensor_autograd.h"
#include "bindings/interop/interop.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/overrides/torch_function.h"

namespace mindtorch::python {

PyTypeObject* g_tensor_type = nullptr;

void track(PyObject* tensor) {
  if (PyObject_GC_IsTracked(tensor) == 0) PyObject_GC_Track(tensor);
}

namespace {

PyTypeObject* g_tensor_meta = nullptr;

// Note [Tensor identity]
// A TensorImpl and its PyTensor live as one. Normally the PyTensor owns a reference to the impl.
// When Python drops the PyTensor while C++ still holds the impl, ownership turns round: the impl
// owns the PyTensor, whose `tensor` then holds no reference of its own. The next wrap() turns it
// back. So attributes, subclass and `is` survive a trip through C++.

// Exact Tensors are recycled; they leave with dict and weakrefs cleared. Guarded by the GIL.
constexpr int kFreeListLimit = 128;
PyTensor* g_free_list[kFreeListLimit];
int g_free_count = 0;

PyTensor* allocate(PyTypeObject* type) {
  if (MT_LIKELY(type == g_tensor_type && g_free_count > 0)) {
    PyTensor* self = g_free_list[--g_free_count];
    PyObject_Init(reinterpret_cast<PyObject*>(self), type);
    return self;
  }
  auto* self = PyObject_GC_New(PyTensor, type);
  if (self == nullptr) return nullptr;
  new (&self->tensor) Tensor();
  self->dict = nullptr;
  self->weakrefs = nullptr;
  if (type != g_tensor_type) {
    // Subclasses may have __slots__ behind our own fields.
    const auto extra = static_cast<size_t>(type->tp_basicsize) - sizeof(PyTensor);
    if (extra > 0) std::memset(reinterpret_cast<char*>(self) + sizeof(PyTensor), 0, extra);
    PyObject_GC_Track(self);
  }
  return self;
}

// A plain tensor refers to no other Python object until it has a dict, hooks or a custom Function's
// history, so the collector need not know of it before.
void track_if_dict(PyObject* object) {
  if (reinterpret_cast<PyTensor*>(object)->dict != nullptr) track(object);
}

// True when C++ took the object over instead of letting it die.
bool hand_over_to_impl(PyTensor* self) {
  TensorImpl* impl = self->tensor.impl();
  if (impl == nullptr || impl->python_object != self || impl->owns_python_object) return false;
  if (MT_LIKELY(impl->use_count() <= 1)) return false;
  impl->owns_python_object = true;
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(self), 1);
  if (impl->drop()) {  // the other owner let go in the meantime
    impl->revive();
    impl->owns_python_object = false;
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(self), 0);
    return false;
  }
  return true;
}

void destroy_tensor(PyTensor* self) {
  TensorImpl* impl = self->tensor.impl();
  if (impl != nullptr && impl->python_object == self) impl->python_object = nullptr;
  self->tensor = Tensor();
}

void tensor_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<PyTensor*>(object);
  if (hand_over_to_impl(self)) return;
  PyTypeObject* type = Py_TYPE(object);
  if (PyObject_GC_IsTracked(object) != 0) PyObject_GC_UnTrack(object);
  if (self->weakrefs != nullptr) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->dict);
  destroy_tensor(self);
  if (type == g_tensor_type && g_free_count < kFreeListLimit) {
    g_free_list[g_free_count++] = self;
  } else {
    self->tensor.~Tensor();
    PyObject_GC_Del(object);
  }
  Py_DECREF(type);
}

void clear_slots(PyTypeObject* type, PyObject* object) {
  auto* members =
      reinterpret_cast<PyMemberDef*>(reinterpret_cast<char*>(type) + Py_TYPE(type)->tp_basicsize);
  for (Py_ssize_t i = 0; i < Py_SIZE(type); ++i) {
    if (members[i].type != T_OBJECT_EX) continue;
    auto** slot = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + members[i].offset);
    Py_CLEAR(*slot);
  }
}

// What CPython's own dealloc of Python-made classes does, with the hand-over in front.
void subclass_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<PyTensor*>(object);
  if (hand_over_to_impl(self)) return;
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_finalize != nullptr && PyObject_CallFinalizerFromDealloc(object) < 0) return;
  PyObject_GC_UnTrack(object);
  // A long chain of tensors in each other's slots must not take a stack frame for each.
  Py_TRASHCAN_BEGIN(object, subclass_dealloc);
  if (self->weakrefs != nullptr) PyObject_ClearWeakRefs(object);
  for (PyTypeObject* base = type; base != g_tensor_type && base != nullptr; base = base->tp_base) {
    if ((base->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && Py_SIZE(base) > 0) clear_slots(base, object);
  }
  Py_CLEAR(self->dict);
  destroy_tensor(self);
  self->tensor.~Tensor();
  PyObject_GC_Del(object);
  Py_DECREF(type);
  Py_TRASHCAN_END;
}

// The last C++ reference to a tensor that owns its Python object goes away.
bool release_python_object(TensorImpl* impl) {
  if (Py_IsInitialized() == 0) return true;  // the interpreter took all objects with it
  const GilHold gil;
  auto* self = static_cast<PyTensor*>(impl->python_object);
  auto* object = reinterpret_cast<PyObject*>(self);
  impl->owns_python_object = false;
  const bool used = Py_REFCNT(object) > 1;  // through a weak reference
  if (used) {
    impl->revive();  // and `tensor` owns this one reference from now on
  } else {
    impl->python_object = nullptr;
    // `tensor` has no reference to give back.
    (void)new (&self->tensor) Tensor();
  }
  Py_DECREF(object);
  return !used;
}

int tensor_traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<PyTensor*>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->dict);
  const TensorImpl* const impl = self->tensor.impl();
  return impl == nullptr || impl->owns_python_object ? 0 : visit_history(*impl, visit, arg);
}

int tensor_clear(PyObject* object) {
  auto* self = reinterpret_cast<PyTensor*>(object);
  Py_CLEAR(self->dict);
  TensorImpl* const impl = self->tensor.impl();
  if (impl != nullptr && !impl->owns_python_object) clear_history(*impl);
  return 0;
}

PyObject* get_dict(PyObject* object, void* context) {
  PyObject* dict = PyObject_GenericGetDict(object, context);
  track_if_dict(object);
  return dict;
}
int set_dict(PyObject* object, PyObject* value, void* context) {
  const int result = PyObject_GenericSetDict(object, value, context);
  track_if_dict(object);
  return result;
}
int tensor_setattr(PyObject* object, PyObject* name, PyObject* value) {
  const int result = PyObject_GenericSetAttr(object, name, value);
  track_if_dict(object);
  return result;
}

PyMemberDef g_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

// Tensor(...) and subclasses: the arguments of torch's legacy constructor, in python/_legacy_new.
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static PyObject* legacy_new = nullptr;
  const auto find = [] { return imported(legacy_new, "mindtorch_v2._tensor", "_new_tensor"); };
  if (guarded(find) == nullptr) return nullptr;
  PyObject* all = PyTuple_New(PyTuple_GET_SIZE(args) + 1);
  if (all == nullptr) return nullptr;
  PyTuple_SET_ITEM(all, 0, Py_NewRef(reinterpret_cast<PyObject*>(type)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    PyTuple_SET_ITEM(all, i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
  }
  PyObject* result = PyObject_Call(legacy_new, all, kwargs);
  Py_DECREF(all);
  return result;
}

// hash(x) == id(x), as in torch.
Py_hash_t tensor_hash(PyObject* self) { return reinterpret_cast<Py_hash_t>(self); }

int tensor_init(PyObject*, PyObject*, PyObject*) { return 0; }

int meta_init(PyObject* type, PyObject* args, PyObject* kwargs) {
  if (PyType_Type.tp_init(type, args, kwargs) < 0) return -1;
  auto* made = reinterpret_cast<PyTypeObject*>(type);
  // Any class may have this metaclass; only those of tensors hold one.
  if (PyType_IsSubtype(made, g_tensor_type) != 0) made->tp_dealloc = &subclass_dealloc;
  return 0;
}

PyType_Slot g_meta_slots[] = {
    {Py_tp_base, &PyType_Type},
    {Py_tp_init, reinterpret_cast<void*>(&meta_init)},
    {0, nullptr},
};
PyType_Spec g_meta_spec = {"mindtorch_v2._C._TensorMeta", 0, 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, g_meta_slots};

// Written out rather than made by PyType_FromMetaclass, which only Python 3.12 has.
PyTypeObject* make_tensor_type() {
  static PyGetSetDef attributes[128];
  int count = 0;
  attributes[count++] = {"__dict__", &get_dict, &set_dict, nullptr, nullptr};
  for (const PyGetSetDef* list : {g_tensor_attributes, g_autograd_attributes}) {
    for (; list->name != nullptr; ++list) {
      MT_ASSERT(count < 127);
      attributes[count++] = overridable_attribute(*list);
    }
  }
  static std::vector<PyMethodDef> methods;
  for (const PyMethodDef* list :
       {g_tensor_methods, g_autograd_methods, g_conversion_methods, g_interop_methods}) {
    for (; list->ml_name != nullptr; ++list) methods.push_back(*list);
  }
  methods.push_back({nullptr, nullptr, 0, nullptr});
  auto fn = [](auto* function) { return reinterpret_cast<void*>(function); };
  PyType_Slot slots[128];
  int used = 0;
  const auto slot = [&](int id, void* value) {
    if (value != nullptr) slots[used++] = {id, value};
  };
  slot(Py_tp_dealloc, fn(&tensor_dealloc));
  slot(Py_tp_traverse, fn(&tensor_traverse));
  slot(Py_tp_clear, fn(&tensor_clear));
  slot(Py_tp_setattro, fn(&tensor_setattr));
  slot(Py_tp_members, g_members);
  slot(Py_tp_getset, attributes);
  slot(Py_tp_methods, methods.data());
  slot(Py_tp_new, fn(&tensor_new));
  slot(Py_tp_init, fn(&tensor_init));
  slot(Py_tp_richcompare, fn(&tensor_compare));
  slot(Py_tp_hash, fn(&tensor_hash));
  slot(Py_tp_iter, fn(&tensor_iterate));
  slot(Py_bf_getbuffer, fn(&tensor_get_buffer));
  slot(Py_bf_releasebuffer, fn(&tensor_release_buffer));
  slot(Py_mp_length, fn(g_tensor_mapping.mp_length));
  slot(Py_mp_subscript, fn(g_tensor_mapping.mp_subscript));
  slot(Py_mp_ass_subscript, fn(g_tensor_mapping.mp_ass_subscript));
  const PyNumberMethods& n = g_tensor_number;
  slot(Py_nb_add, fn(n.nb_add));
  slot(Py_nb_subtract, fn(n.nb_subtract));
  slot(Py_nb_multiply, fn(n.nb_multiply));
  slot(Py_nb_true_divide, fn(n.nb_true_divide));
  slot(Py_nb_floor_divide, fn(n.nb_floor_divide));
  slot(Py_nb_remainder, fn(n.nb_remainder));
  slot(Py_nb_power, fn(n.nb_power));
  slot(Py_nb_matrix_multiply, fn(n.nb_matrix_multiply));
  slot(Py_nb_and, fn(n.nb_and));
  slot(Py_nb_or, fn(n.nb_or));
  slot(Py_nb_xor, fn(n.nb_xor));
  slot(Py_nb_lshift, fn(n.nb_lshift));
  slot(Py_nb_rshift, fn(n.nb_rshift));
  slot(Py_nb_inplace_add, fn(n.nb_inplace_add));
  slot(Py_nb_inplace_subtract, fn(n.nb_inplace_subtract));
  slot(Py_nb_inplace_multiply, fn(n.nb_inplace_multiply));
  slot(Py_nb_inplace_true_divide, fn(n.nb_inplace_true_divide));
  slot(Py_nb_inplace_floor_divide, fn(n.nb_inplace_floor_divide));
  slot(Py_nb_inplace_remainder, fn(n.nb_inplace_remainder));
  slot(Py_nb_inplace_power, fn(n.nb_inplace_power));
  slot(Py_nb_inplace_and, fn(n.nb_inplace_and));
  slot(Py_nb_inplace_or, fn(n.nb_inplace_or));
  slot(Py_nb_inplace_xor, fn(n.nb_inplace_xor));
  slot(Py_nb_inplace_lshift, fn(n.nb_inplace_lshift));
  slot(Py_nb_inplace_rshift, fn(n.nb_inplace_rshift));
  slot(Py_nb_negative, fn(n.nb_negative));
  slot(Py_nb_positive, fn(n.nb_positive));
  slot(Py_nb_absolute, fn(n.nb_absolute));
  slot(Py_nb_invert, fn(n.nb_invert));
  slot(Py_nb_bool, fn(n.nb_bool));
  slot(Py_nb_int, fn(n.nb_int));
  slot(Py_nb_float, fn(n.nb_float));
  slot(Py_nb_index, fn(n.nb_index));
  slots[used] = {0, nullptr};
  PyType_Spec spec = {"mindtorch_v2.Tensor", sizeof(PyTensor), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr) return nullptr;
  type->tp_name = "Tensor";  // as messages name it; __module__ has the rest
  // Our metaclass adds no fields to `type`, so the class may simply be moved under it.
  Py_SET_TYPE(reinterpret_cast<PyObject*>(type), g_tensor_meta);
  Py_INCREF(g_tensor_meta);
  return type;
}

}  // namespace

const Tensor& tensor_argument(PyObject* object, const char* function, const char* name) {
  MT_CHECK(is_tensor(object), TypeError, function, "(): argument '", name, "' must be Tensor, not ",
           Py_TYPE(object)->tp_name);
  return unwrap(object);
}

PyObject* wrap_as(PyTypeObject* type, Tensor tensor) {
  PyTensor* self = allocate(type);
  if (self == nullptr) return nullptr;
  tensor.impl()->python_object = self;
  self->tensor = std::move(tensor);
  return reinterpret_cast<PyObject*>(self);
}

PyObject* wrap(Tensor tensor) {
  TensorImpl* impl = tensor.impl();
  if (impl == nullptr) Py_RETURN_NONE;
  if (impl->python_object == nullptr) return wrap_as(g_tensor_type, std::move(tensor));
  auto* object = static_cast<PyObject*>(impl->python_object);
  if (impl->owns_python_object) {
    // The impl's reference to the object becomes the caller's, the caller's to the impl the
    // object's.
    impl->owns_python_object = false;
    impl->retain();
    return object;
  }
  return Py_NewRef(object);
}

int add_tensor_type(PyObject* module) {
  g_tensor_meta = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&g_meta_spec));
  if (g_tensor_meta == nullptr) return -1;
  g_tensor_type = make_tensor_type();
  if (g_tensor_type == nullptr) return -1;
  TensorImpl::release_python_object = &release_python_object;
  if (PyModule_AddObjectRef(module, "_TensorMeta", reinterpret_cast<PyObject*>(g_tensor_meta)) <
      0) {
    return -1;
  }
  return PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(g_tensor_type));
}

}  // namespace mindtorch::python
