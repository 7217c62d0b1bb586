#pragma once

#include <Python.h>

#include "mindtorch/tensor/tensor.h"

namespace mindtorch::python {

// The Python object of a tensor. Made with raw CPython slots rather than nanobind's instances: this
// is the one type whose cost shows in every call.
struct PyTensor {
  PyObject_HEAD Tensor tensor;
  PyObject* dict;
  PyObject* weakrefs;
};

extern PyTypeObject* g_tensor_type;

inline bool is_tensor(PyObject* object) {
  return Py_TYPE(object) == g_tensor_type || PyType_IsSubtype(Py_TYPE(object), g_tensor_type);
}
// Of an object that is known to be a tensor.
inline const Tensor& unwrap(PyObject* object) {
  return reinterpret_cast<PyTensor*>(object)->tensor;
}
// Of an argument that may be anything; throws TypeError.
const Tensor& tensor_argument(PyObject* object, const char* function, const char* name);

// A new reference to the tensor's Python object: the one it already has, else a new one.
PyObject* wrap(Tensor tensor);
// The same for a tensor that has none yet, as an instance of a subclass.
PyObject* wrap_as(PyTypeObject* type, Tensor tensor);

// From now on the tensor may own other Python objects: the garbage collector must know it.
void track(PyObject* tensor);

// Makes the types Tensor and _TensorMeta and puts them into the module. -1 with a Python error set.
int add_tensor_type(PyObject* module);

// Slot tables contributed by the other files.
extern PyNumberMethods g_tensor_number;
extern PyMappingMethods g_tensor_mapping;
extern PyGetSetDef g_tensor_attributes[];
extern PyMethodDef g_tensor_methods[];
extern PyMethodDef g_conversion_methods[];
extern PyMethodDef g_interop_methods[];
PyObject* tensor_compare(PyObject* a, PyObject* b, int operation);
PyObject* tensor_iterate(PyObject* self);

}  // namespace mindtorch::python
