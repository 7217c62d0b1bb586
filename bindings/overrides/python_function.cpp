// Functions written in Python that classes and modes can handle. To everybody who looks at one it
// is the function it holds; only its call looks at the arguments first.
#include "bindings/overrides/python_function.h"

#include <structmember.h>

#include <cstring>

#include "bindings/interpreter/errors.h"
#include "bindings/overrides/torch_function.h"

namespace mindtorch::python {
namespace {

struct OverridableFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* weakrefs;
};

PyTypeObject* g_type = nullptr;

PyObject* held(PyObject* self) { return reinterpret_cast<OverridableFunction*>(self)->function; }

PyObject* call(PyObject* self, PyObject* const* args, size_t flags, PyObject* kwnames) {
  const Py_ssize_t nargs = PyVectorcall_NARGS(flags);
  const Py_ssize_t count = nargs + (kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames));
  PyObject* result = nullptr;
  if (MT_UNLIKELY(may_be_handled(args, count)) && handle_call(self, args, nargs, kwnames, result)) {
    return result;
  }
  return PyObject_Vectorcall(held(self), args, flags, kwnames);
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

// Its own are __wrapped__, __get__ and what pickle asks for.
PyObject* attribute_of_function(PyObject* self, PyObject* name) {
  const char* const text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  for (const char* own : {"__wrapped__", "__get__", "__reduce__", "__reduce_ex__", "__call__"}) {
    if (std::strcmp(text, own) == 0) return PyObject_GenericGetAttr(self, name);
  }
  return PyObject_GetAttr(held(self), name);
}
int set_attribute_of_function(PyObject* self, PyObject* name, PyObject* value) {
  return PyObject_SetAttr(held(self), name, value);
}
PyObject* represent(PyObject* self) { return PyObject_Repr(held(self)); }

PyObject* get_wrapped(PyObject* self, void*) { return Py_NewRef(held(self)); }

// By name, like any function.
PyObject* reduce(PyObject* self, PyObject*) {
  return PyObject_GetAttrString(held(self), "__qualname__");
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(held(self));
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<OverridableFunction*>(self)->function);
  return 0;
}
void dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (reinterpret_cast<OverridableFunction*>(self)->weakrefs != nullptr) {
    PyObject_ClearWeakRefs(self);
  }
  clear(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

PyMemberDef g_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OverridableFunction, vectorcall), READONLY,
     nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(OverridableFunction, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyGetSetDef g_attributes[] = {
    {"__wrapped__", &get_wrapped, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef g_methods[] = {
    {"__reduce__", &reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot g_slots[] = {
    {Py_tp_members, g_members},
    {Py_tp_getset, g_attributes},
    {Py_tp_methods, g_methods},
    {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(&bind)},
    {Py_tp_getattro, reinterpret_cast<void*>(&attribute_of_function)},
    {Py_tp_setattro, reinterpret_cast<void*>(&set_attribute_of_function)},
    {Py_tp_repr, reinterpret_cast<void*>(&represent)},
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(&clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
    {0, nullptr},
};
PyType_Spec g_spec = {"mindtorch_v2.overridable_function", sizeof(OverridableFunction), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                          Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      g_slots};

}  // namespace

PyObject* make_overridable(PyObject* function) {
  MT_CHECK(PyFunction_Check(function) != 0, TypeError, "expected a Python function, not ",
           Py_TYPE(function)->tp_name);
  if (g_type == nullptr) {
    g_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&g_spec));
    if (g_type == nullptr) throw PythonError();
  }
  auto* const made = PyObject_GC_New(OverridableFunction, g_type);
  if (made == nullptr) throw PythonError();
  made->vectorcall = &call;
  made->function = Py_NewRef(function);
  made->weakrefs = nullptr;
  PyObject_GC_Track(made);
  return reinterpret_cast<PyObject*>(made);
}

bool is_overridable(PyObject* object) { return Py_TYPE(object) == g_type; }

}  // namespace mindtorch::python
