#pragma once

#include <Python.h>

#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/autograd/node.h"

namespace mindtorch::python {

// Hooks are kept in a dict by the number of their handle, so that a handle can take its own out.
// All of these run without the GIL held by the caller, and hold the dict.

// hook(grad) -> grad or None, on the gradient of output `output`.
std::unique_ptr<autograd::PreHook> make_tensor_hook(PyObject* dict, uint32_t output);
// hook(grads) -> grads or None.
std::unique_ptr<autograd::PreHook> make_node_pre_hook(PyObject* dict);
// hook(grad_inputs, grad_outputs) -> grad_inputs or None.
std::unique_ptr<autograd::PostHook> make_node_post_hook(PyObject* dict);
// hook(leaf).
std::unique_ptr<autograd::LeafHook> make_leaf_hook(PyObject* dict);

// The dict of the hook's, or null where it is not one of ours.
PyObject* dict_of(const autograd::PreHook& hook);
PyObject* dict_of(const autograd::PostHook& hook);
PyObject* dict_of(const autograd::LeafHook& hook);

// RemovableHandle(dict), with `hook` put into the dict under its number. A new reference.
PyObject* put_hook(PyObject* dict, PyObject* hook);

// A tuple of gradients; None for undefined ones. A new reference.
PyObject* wrap_gradients(const autograd::Gradients& gradients);

}  // namespace mindtorch::python
