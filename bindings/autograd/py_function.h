#pragma once

#include <Python.h>

#include "mindtorch/autograd/node.h"

namespace mindtorch::python {

// The ctx of custom autograd Functions, which also stands for their node in Python.
bool is_ctx(PyObject* object);
// Null when the graph that the ctx belongs to is gone.
autograd::NodePtr node_of_ctx(PyObject* ctx);
// Borrowed; null for nodes of other kinds.
PyObject* ctx_of(const autograd::Node& node);

int add_function_type(PyObject* module);

}  // namespace mindtorch::python
