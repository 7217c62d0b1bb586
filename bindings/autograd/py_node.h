#pragma once

#include <Python.h>

#include "mindtorch/autograd/node.h"

namespace mindtorch::python {

// The Python object of a graph node: x.grad_fn. It owns the node; the node knows where it is.
struct PyNode {
  PyObject_HEAD autograd::NodePtr node;
  PyObject* dict;
  PyObject* weakrefs;
};

// A new reference; None for no node. The ctx of a custom Function stands for its own node.
PyObject* wrap_node(const autograd::NodePtr& node);
bool is_node(PyObject* object);
// Of an object for which is_node() holds; null when the node of a ctx is gone.
autograd::NodePtr unwrap_node(PyObject* object);

// ((node, input), ...) of a node.
PyObject* next_functions(const autograd::Node& node);
// The user's dict, made when it is asked for.
PyObject* metadata_of(autograd::Node& node);
// Adds a hook and returns its RemovableHandle.
PyObject* add_post_hook(autograd::Node& node, PyObject* hook);
PyObject* add_pre_hook(autograd::Node& node, PyObject* hook);

int add_node_type(PyObject* module);

}  // namespace mindtorch::python
