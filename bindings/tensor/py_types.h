#pragma once

#include <Python.h>

#include "mindtorch/tensor/device.h"
#include "mindtorch/tensor/dtype.h"
#include "mindtorch/tensor/shape.h"

namespace mindtorch::python {

// torch.dtype, torch.device, torch.memory_format, torch.layout and torch.Size.

bool is_dtype(PyObject* object);
DType to_dtype(PyObject* object);
// Borrowed; there is one object per dtype for the life of the process.
PyObject* dtype_object(DType dtype);

bool is_device(PyObject* object);
// From a torch.device; also from a string or an accelerator's index. Throws RuntimeError.
Device to_device(PyObject* object);
PyObject* wrap_device(Device device);

bool is_memory_format(PyObject* object);
MemoryFormat to_memory_format(PyObject* object);

bool is_layout(PyObject* object);
bool is_strided_layout(PyObject* object);

PyObject* wrap_size(IntList sizes);
// A plain tuple.
PyObject* wrap_tuple(IntList list);

int add_types(PyObject* module);

}  // namespace mindtorch::python
