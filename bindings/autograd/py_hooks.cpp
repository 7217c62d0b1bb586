#include "bindings/autograd/py_hooks.h"

#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/gil.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_tensor.h"
#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/dispatch/eager/layers.h"

namespace mindtorch::python {
namespace {

using autograd::Gradients;

// A dict that may be dropped by any thread.
class HookDict {
 public:
  explicit HookDict(PyObject* dict) : dict_(Py_NewRef(dict)) {}
  ~HookDict() { release_python_reference(dict_); }
  HookDict(const HookDict&) = delete;
  HookDict& operator=(const HookDict&) = delete;

  PyObject* get() const { return dict_; }
  // The hooks as they are now: one may remove itself. Needs the GIL.
  PyRef hooks() const {
    const PyRef values(PyMapping_Values(dict_));
    return PyRef(PySequence_Tuple(values.get()));
  }

 private:
  PyObject* dict_;
};

// What a hook gave in place of a gradient.
Tensor replacement(PyObject* result, const char* what) {
  MT_CHECK(is_tensor(result), TypeError, "expected Variable, but hook returned '",
           Py_TYPE(result)->tp_name, "'", what);
  return unwrap(result);
}

void check_same_look(const Tensor& before, const Tensor& after, PyObject* hook) {
  if (!before.defined()) return;
  const PyRef name = PyRef::maybe(PyObject_GetAttrString(hook, "__name__"));
  const char* text = name ? PyUnicode_AsUTF8(name.get()) : "hook";
  MT_CHECK(before.sizes() == after.sizes(), RuntimeError, "hook '", text,
           "' has changed the size of value");
  constexpr uint8_t kSparse = dispatch::bit(dispatch::Layer::kSparse);
  const bool is_same_kind = ((before.impl()->layers ^ after.impl()->layers) & kSparse) == 0;
  MT_CHECK(before.device() == after.device() && before.dtype() == after.dtype() && is_same_kind,
           RuntimeError, "hook '", text, "' has changed the type of value (was ",
           autograd::tensor_type_name(before.dtype(), before.device()), " got ",
           autograd::tensor_type_name(after.dtype(), after.device()), ")");
}

template <typename Body>
void with_python(const Body& body) {
  const GilHold gil;
  try {
    body();
  } catch (const PythonError&) {
    // The engine may run without the GIL: the error travels as a C++ exception.
    throw CarriedError::take();
  }
}

class TensorHook final : public autograd::PreHook {
 public:
  TensorHook(PyObject* dict, uint32_t output) : dict_(dict), output_(output) {}
  void run(Gradients& grads) override {
    if (!grads[output_].defined()) return;
    with_python([&] {
      const PyRef hooks = dict_.hooks();
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(hooks.get()); ++i) {
        PyObject* const hook = PyTuple_GET_ITEM(hooks.get(), i);
        const PyRef grad(wrap(grads[output_]));
        const PyRef result(PyObject_CallOneArg(hook, grad.get()));
        if (result.get() == Py_None) continue;
        Tensor changed = replacement(result.get(), "");
        check_same_look(grads[output_], changed, hook);
        grads[output_] = std::move(changed);
      }
    });
  }
  PyObject* dict() const { return dict_.get(); }

 private:
  HookDict dict_;
  uint32_t output_;
};

// A tuple of gradients that a hook returned, put in place of those it got.
void replace_all(Gradients& gradients, PyObject* result, PyObject* hook) {
  PyRef single;
  PyObject* tuple = result;
  if (!PyTuple_Check(result)) {
    single = PyRef(PyTuple_Pack(1, result));
    tuple = single.get();
  }
  MT_CHECK(PyTuple_GET_SIZE(tuple) == static_cast<Py_ssize_t>(gradients.size()), RuntimeError,
           "hook has returned an incorrect number of values (got ", PyTuple_GET_SIZE(tuple),
           ", but expected ", gradients.size(), ")");
  for (size_t i = 0; i < gradients.size(); ++i) {
    PyObject* const entry = PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(i));
    if (entry == Py_None) {
      gradients[i] = Tensor();
      continue;
    }
    Tensor changed = replacement(entry, "");
    check_same_look(gradients[i], changed, hook);
    gradients[i] = std::move(changed);
  }
}

class NodePreHook final : public autograd::PreHook {
 public:
  explicit NodePreHook(PyObject* dict) : dict_(dict) {}
  void run(Gradients& grads) override {
    with_python([&] {
      const PyRef hooks = dict_.hooks();
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(hooks.get()); ++i) {
        PyObject* const hook = PyTuple_GET_ITEM(hooks.get(), i);
        const PyRef given(wrap_gradients(grads));
        const PyRef result(PyObject_CallOneArg(hook, given.get()));
        if (result.get() != Py_None) replace_all(grads, result.get(), hook);
      }
    });
  }
  PyObject* dict() const { return dict_.get(); }

 private:
  HookDict dict_;
};

class NodePostHook final : public autograd::PostHook {
 public:
  explicit NodePostHook(PyObject* dict) : dict_(dict) {}
  void run(Gradients& results, const Gradients& grads) override {
    with_python([&] {
      const PyRef hooks = dict_.hooks();
      const PyRef given(wrap_gradients(grads));
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(hooks.get()); ++i) {
        PyObject* const hook = PyTuple_GET_ITEM(hooks.get(), i);
        const PyRef made(wrap_gradients(results));
        const PyRef result(PyObject_CallFunctionObjArgs(hook, made.get(), given.get(), nullptr));
        if (result.get() != Py_None) replace_all(results, result.get(), hook);
      }
    });
  }
  PyObject* dict() const { return dict_.get(); }

 private:
  HookDict dict_;
};

class PyLeafHook final : public autograd::LeafHook {
 public:
  explicit PyLeafHook(PyObject* dict) : dict_(dict) {}
  void run(const Tensor& leaf) override {
    with_python([&] {
      const PyRef hooks = dict_.hooks();
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(hooks.get()); ++i) {
        const PyRef given(wrap(leaf));
        const PyRef result(PyObject_CallOneArg(PyTuple_GET_ITEM(hooks.get(), i), given.get()));
        MT_CHECK(result.get() == Py_None, RuntimeError,
                 "Tensor post accumulate grad hooks should return None.");
      }
    });
  }
  PyObject* dict() const { return dict_.get(); }

 private:
  HookDict dict_;
};

}  // namespace

std::unique_ptr<autograd::PreHook> make_tensor_hook(PyObject* dict, uint32_t output) {
  return std::make_unique<TensorHook>(dict, output);
}
std::unique_ptr<autograd::PreHook> make_node_pre_hook(PyObject* dict) {
  return std::make_unique<NodePreHook>(dict);
}
std::unique_ptr<autograd::PostHook> make_node_post_hook(PyObject* dict) {
  return std::make_unique<NodePostHook>(dict);
}
std::unique_ptr<autograd::LeafHook> make_leaf_hook(PyObject* dict) {
  return std::make_unique<PyLeafHook>(dict);
}

PyObject* dict_of(const autograd::PreHook& hook) {
  if (const auto* own = dynamic_cast<const TensorHook*>(&hook)) return own->dict();
  if (const auto* own = dynamic_cast<const NodePreHook*>(&hook)) return own->dict();
  return nullptr;
}
PyObject* dict_of(const autograd::PostHook& hook) {
  const auto* own = dynamic_cast<const NodePostHook*>(&hook);
  return own == nullptr ? nullptr : own->dict();
}
PyObject* dict_of(const autograd::LeafHook& hook) {
  const auto* own = dynamic_cast<const PyLeafHook*>(&hook);
  return own == nullptr ? nullptr : own->dict();
}

PyObject* put_hook(PyObject* dict, PyObject* hook) {
  static PyObject* handle_type = nullptr;
  imported(handle_type, "mindtorch_v2.utils.hooks", "RemovableHandle");
  PyRef handle(PyObject_CallOneArg(handle_type, dict));
  const PyRef id(PyObject_GetAttrString(handle.get(), "id"));
  if (PyObject_SetItem(dict, id.get(), hook) < 0) throw PythonError();
  return handle.release();
}

PyObject* wrap_gradients(const Gradients& gradients) {
  PyRef tuple(PyTuple_New(static_cast<Py_ssize_t>(gradients.size())));
  for (size_t i = 0; i < gradients.size(); ++i) {
    PyObject* const entry = wrap(gradients[i]);
    if (entry == nullptr) throw PythonError();
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), entry);
  }
  return tuple.release();
}

}  // namespace mindtorch::python
