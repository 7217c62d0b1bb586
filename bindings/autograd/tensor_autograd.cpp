// requires_grad, grad, grad_fn and their like.
#include "bindings/autograd/tensor_autograd.h"

#include "bindings/args/call_arguments.h"
#include "bindings/autograd/py_function.h"
#include "bindings/autograd/py_hooks.h"
#include "bindings/autograd/py_node.h"
#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/overrides/torch_function.h"
#include "bindings/tensor/py_tensor.h"
#include "mindtorch/autograd/accumulate_grad.h"
#include "mindtorch/autograd/autograd_meta.h"

namespace mindtorch::python {
namespace {

PyObject* get_requires_grad(PyObject* self, void*) {
  return PyBool_FromLong(autograd::requires_grad(unwrap(self)));
}
int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    MT_CHECK(value != nullptr && PyBool_Check(value), RuntimeError, "requires_grad must be a bool");
    MT_CHECK(value == Py_False || autograd::is_leaf(unwrap(self)), RuntimeError,
             "you can only change requires_grad flags of leaf variables.");
    autograd::set_requires_grad(unwrap(self), value == Py_True);
    return 0;
  });
}
PyObject* get_is_leaf(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(autograd::is_leaf(unwrap(self))); });
}
PyObject* get_grad_fn(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Tensor& tensor = unwrap(self);
    if (!autograd::requires_grad(tensor)) Py_RETURN_NONE;
    return wrap_node(autograd::grad_fn(tensor));
  });
}
PyObject* get_output_nr(PyObject* self, void*) {
  return PyLong_FromUnsignedLong(autograd::output_number(unwrap(self)));
}
PyObject* get_retains_grad(PyObject* self, void*) {
  const autograd::AutogradMeta* meta = autograd::find_meta(*unwrap(self).impl());
  return PyBool_FromLong(meta != nullptr && meta->retained != nullptr);
}
PyObject* get_base(PyObject* self, void*) {
  const TensorImpl& impl = *unwrap(self).impl();
  if (!impl.view_base) Py_RETURN_NONE;
  return wrap(Tensor(impl.view_base));
}

PyObject* get_grad(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Tensor& tensor = unwrap(self);
    const autograd::AutogradMeta* meta = autograd::find_meta(*tensor.impl());
    if (meta == nullptr) Py_RETURN_NONE;
    if (meta->grad_fn && meta->retained == nullptr && !meta->grad.defined()) {
      if (PyErr_WarnEx(PyExc_UserWarning,
                       "The .grad attribute of a Tensor that is not a leaf Tensor is being "
                       "accessed. Its .grad attribute won't be populated during "
                       "autograd.backward(). If you indeed want the .grad field to be populated "
                       "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
                       "access the non-leaf Tensor by mistake, make sure you access the leaf "
                       "Tensor instead.",
                       1) < 0) {
        throw PythonError();
      }
      Py_RETURN_NONE;
    }
    return wrap(meta->grad);
  });
}
int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    const Tensor& tensor = unwrap(self);
    if (value == nullptr || value == Py_None) {
      autograd::set_grad(tensor, Tensor());
      return 0;
    }
    MT_CHECK(is_tensor(value), TypeError,
             "assigned grad expected to be a Tensor or None but got grad of type ",
             Py_TYPE(value)->tp_name);
    autograd::set_grad(tensor, unwrap(value));
    return 0;
  });
}

// The dicts of hooks, which Python fills: None while there are none.
PyObject* get_hooks(PyObject* self, void*) {
  const autograd::AutogradMeta* meta = autograd::find_meta(*unwrap(self).impl());
  if (meta != nullptr) {
    for (const auto& hook : meta->hooks) {
      if (PyObject* const dict = dict_of(*hook)) return Py_NewRef(dict);
    }
  }
  Py_RETURN_NONE;
}
int set_hooks(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    autograd::AutogradMeta& meta = autograd::make_meta(unwrap(self));
    meta.hooks.clear();
    track(self);
    if (value != nullptr && value != Py_None) meta.hooks.push_back(make_tensor_hook(value, 0));
    return 0;
  });
}
PyObject* get_leaf_hooks(PyObject* self, void*) {
  const autograd::AutogradMeta* meta = autograd::find_meta(*unwrap(self).impl());
  if (meta != nullptr) {
    for (const auto& hook : meta->post_accumulate) {
      if (PyObject* const dict = dict_of(*hook)) return Py_NewRef(dict);
    }
  }
  Py_RETURN_NONE;
}
int set_leaf_hooks(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    autograd::AutogradMeta& meta = autograd::make_meta(unwrap(self));
    meta.post_accumulate.clear();
    track(self);
    if (value != nullptr && value != Py_None) meta.post_accumulate.push_back(make_leaf_hook(value));
    return 0;
  });
}

// _register_hook_dict(dict): hooks on the gradient of a tensor that is no leaf.
PyObject* register_hook_dict(PyObject* self, PyObject* dict) {
  return guarded([&]() -> PyObject* {
    const Tensor& tensor = unwrap(self);
    const autograd::NodePtr node = autograd::grad_fn(tensor);
    MT_CHECK(node, RuntimeError, "a tensor without grad_fn has no node to hook");
    node->make_hooks().tensor.push_back(make_tensor_hook(dict, autograd::output_number(tensor)));
    track(self);
    Py_RETURN_NONE;
  });
}

PyObject* requires_grad_(PyObject* self,
                         PyObject* const* args,
                         Py_ssize_t nargs,
                         PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names("requires_grad_", {"requires_grad"}, 1);
    PyObject* value = Py_None;
    names.read(args, nargs, kwnames, &value);
    const bool is_given = nargs > 0 || kwnames != nullptr;
    MT_CHECK(!is_given || PyBool_Check(value), TypeError,
             "requires_grad_(): argument 'requires_grad' ", nargs > 0 ? "(position 1) " : "",
             "must be bool, not ", Py_TYPE(value)->tp_name);
    const bool wanted = !is_given || value == Py_True;
    MT_CHECK(!wanted || is_differentiable(unwrap(self).dtype()), RuntimeError,
             "only Tensors of floating point dtype can require gradients");
    autograd::set_requires_grad(unwrap(self), wanted);
    return Py_NewRef(self);
  });
}
PyObject* retain_grad(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    autograd::retain_grad(unwrap(self));
    Py_RETURN_NONE;
  });
}
PyObject* detach_(PyObject* self, PyObject*) {
  return guarded([&] {
    autograd::detach_(unwrap(self));
    return Py_NewRef(self);
  });
}
PyObject* is_view(PyObject* self, PyObject*) {
  return PyBool_FromLong(static_cast<bool>(unwrap(self).impl()->view_base));
}
PyObject* is_inference(PyObject* self, PyObject*) {
  return PyBool_FromLong(unwrap(self).impl()->is_inference);
}

// Null where somebody else holds the tensor, and with it what it owns.
autograd::AutogradMeta* own_meta(const TensorImpl& impl) {
  return impl.use_count() == 1 ? autograd::find_meta(impl) : nullptr;
}

template <typename Hooks>
int visit_hooks(const Hooks& hooks, visitproc visit, void* arg) {
  for (const auto& hook : hooks) Py_VISIT(dict_of(*hook));
  return 0;
}

int visit_node(const autograd::Node& node, visitproc visit, void* arg) {
  Py_VISIT(ctx_of(node));
  if (!node.hooks) return 0;
  if (const int stop = visit_hooks(node.hooks->tensor, visit, arg)) return stop;
  if (const int stop = visit_hooks(node.hooks->pre, visit, arg)) return stop;
  return visit_hooks(node.hooks->post, visit, arg);
}

}  // namespace

int visit_history(const TensorImpl& impl, visitproc visit, void* arg) {
  const autograd::AutogradMeta* const meta = own_meta(impl);
  if (meta == nullptr) return 0;
  if (const int stop = visit_hooks(meta->hooks, visit, arg)) return stop;
  if (const int stop = visit_hooks(meta->post_accumulate, visit, arg)) return stop;
  return meta->grad_fn && meta->grad_fn->use_count() == 1 ? visit_node(*meta->grad_fn, visit, arg)
                                                          : 0;
}

void clear_history(TensorImpl& impl) {
  autograd::AutogradMeta* const meta = own_meta(impl);
  if (meta == nullptr) return;
  // Moved out first: what they free may ask for the tensor.
  const auto hooks = std::move(meta->hooks);
  const auto leaf_hooks = std::move(meta->post_accumulate);
  const autograd::NodePtr node = std::move(meta->grad_fn);
}

PyGetSetDef g_autograd_attributes[] = {
    {"requires_grad", &get_requires_grad, &set_requires_grad,
     "Whether gradients are computed for it.", nullptr},
    {"is_leaf", &get_is_leaf, nullptr, "Not the result of an op that autograd recorded.", nullptr},
    {"grad", &get_grad, &set_grad, "The gradient that backward has accumulated, or None.", nullptr},
    {"_grad", &get_grad, &set_grad, nullptr, nullptr},
    {"grad_fn", &get_grad_fn, nullptr, "The graph node of the op that made it, or None.", nullptr},
    {"_grad_fn", &get_grad_fn, nullptr, nullptr, nullptr},
    {"output_nr", &get_output_nr, nullptr, "Which result of grad_fn it is.", nullptr},
    {"retains_grad", &get_retains_grad, nullptr, "Whether retain_grad() was called on a result.",
     nullptr},
    {"_base", &get_base, nullptr, "What a view is a view of, or None.", nullptr},
    {"_backward_hooks", &get_hooks, &set_hooks, nullptr, nullptr},
    {"_post_accumulate_grad_hooks", &get_leaf_hooks, &set_leaf_hooks, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef g_autograd_methods[] = {
    method<"requires_grad_", &requires_grad_>("Sets requires_grad and returns the tensor."),
    no_args_method<"retain_grad", &retain_grad>("Keeps .grad of a tensor that is no leaf."),
    no_args_method<"detach_", &detach_>("Cuts the tensor off from the graph that made it."),
    no_args_method<"_is_view", &is_view>("Whether it is a view of another tensor."),
    no_args_method<"is_inference", &is_inference>("Whether it was made in inference mode."),
    {"_register_hook_dict", &register_hook_dict, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mindtorch::python
