#pragma once

#include <Python.h>

namespace mindtorch::python {

// A function written in Python, as one that classes and modes can handle. A new reference; throws
// where `function` is none.
PyObject* make_overridable(PyObject* function);
bool is_overridable(PyObject* object);

}  // namespace mindtorch::python
