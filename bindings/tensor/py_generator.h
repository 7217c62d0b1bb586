#pragma once

#include <Python.h>

#include "mindtorch/tensor/generator.h"

namespace mindtorch::python {

// The generator behind a torch.Generator; null for any other object.
Generator* to_generator(PyObject* object);

}  // namespace mindtorch::python
