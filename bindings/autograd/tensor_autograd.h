#pragma once

#include <Python.h>

namespace mindtorch::python {

// What autograd adds to the class Tensor.
extern PyGetSetDef g_autograd_attributes[];
extern PyMethodDef g_autograd_methods[];

}  // namespace mindtorch::python
