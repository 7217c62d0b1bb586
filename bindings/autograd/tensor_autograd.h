#pragma once

#include <Python.h>

#include "mindtorch/tensor/tensor.h"

namespace mindtorch::python {

// What autograd adds to the class Tensor.
extern PyGetSetDef g_autograd_attributes[];
extern PyMethodDef g_autograd_methods[];

// For the garbage collector: the Python objects that a tensor's history owns, and dropping them.
// Only where nothing but the tensor's Python object can reach them.
int visit_history(const TensorImpl& impl, visitproc visit, void* arg);
void clear_history(TensorImpl& impl);

}  // namespace mindtorch::python
