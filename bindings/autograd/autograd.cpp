// The functions behind torch.autograd.
#include <nanobind/nanobind.h>

#include "bindings/autograd/py_function.h"
#include "bindings/autograd/py_node.h"
#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/gil.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_tensor.h"
#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/autograd/engine.h"
#include "mindtorch/autograd/saved_tensor.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

using autograd::Edge;

// A tensor, or (node, output) as get_gradient_edge() gives it.
Edge to_edge(PyObject* object) {
  if (is_tensor(object)) return autograd::gradient_edge(unwrap(object));
  const PyRef entries(PySequence_Tuple(object));
  MT_CHECK(PyTuple_GET_SIZE(entries.get()) >= 2 && is_node(PyTuple_GET_ITEM(entries.get(), 0)),
           TypeError, "expected a Tensor or a GradientEdge, got ", Py_TYPE(object)->tp_name);
  const long output = PyLong_AsLong(PyTuple_GET_ITEM(entries.get(), 1));
  if (output == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  const autograd::NodePtr node = unwrap_node(PyTuple_GET_ITEM(entries.get(), 0));
  const auto count = node ? static_cast<long>(node->outputs.size()) : 0;
  MT_CHECK(output >= 0 && output < count, IndexError, "a GradientEdge names output ", output,
           " of a node that has ", count);
  return {node, static_cast<uint32_t>(output)};
}

nb::object run_backward(nb::tuple tensors,
                        nb::tuple grad_tensors,
                        bool retain_graph,
                        bool create_graph,
                        nb::tuple inputs,
                        bool allow_unreachable,
                        bool accumulate_grad) {
  std::vector<Edge> roots;
  std::vector<Tensor> grads;
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* const entry = tensors[i].ptr();
    Edge edge = to_edge(entry);
    MT_CHECK(edge, RuntimeError, "element ", i,
             " of tensors does not require grad and does not have a grad_fn");
    roots.push_back(std::move(edge));
    PyObject* const grad = grad_tensors[i].ptr();
    MT_CHECK(is_tensor(grad), TypeError, "element ", i, " of gradients is no Tensor");
    const autograd::TensorMeta& meta = roots.back().node->outputs[roots.back().input];
    MT_CHECK(unwrap(grad).sizes() == meta.sizes, RuntimeError, "Mismatch in shape: grad_output[", i,
             "] has a shape of torch.Size(", to_string(unwrap(grad).sizes()), ") and output[", i,
             "] has a shape of torch.Size(", to_string(meta.sizes), ").");
    grads.push_back(unwrap(grad));
  }
  autograd::BackwardOptions options;
  options.keep_graph = retain_graph;
  options.create_graph = create_graph;
  options.capture = !accumulate_grad;
  for (size_t i = 0; i < inputs.size(); ++i) {
    PyObject* const entry = inputs[i].ptr();
    if (is_tensor(entry)) {
      const Tensor& tensor = unwrap(entry);
      MT_CHECK(autograd::requires_grad(tensor), RuntimeError,
               "One of the differentiated Tensors does not require grad");
      if (accumulate_grad && autograd::grad_fn(tensor)) autograd::retain_grad(tensor);
    }
    options.inputs.push_back(to_edge(entry));
  }
  std::vector<Tensor> made;
  {
    const GilRelease release(true);
    made = autograd::run_backward(roots, std::move(grads), options);
  }
  if (accumulate_grad) return nb::tuple();
  nb::list results;
  for (size_t i = 0; i < made.size(); ++i) {
    MT_CHECK(made[i].defined() || allow_unreachable, RuntimeError,
             "The differentiated Tensor at index ", i,
             " appears to not have been used in the graph. Set allow_unused=True if this is the "
             "desired behavior.");
    results.append(nb::steal(wrap(made[i])));
  }
  return nb::tuple(results);
}

// --- saved tensor hooks ---

class PyPackedTensor final : public autograd::PackedTensor {
 public:
  PyPackedTensor(PyObject* packed, PyObject* unpack)
      : packed_(packed), unpack_(Py_NewRef(unpack)) {}
  ~PyPackedTensor() override {
    release_python_reference(packed_);
    release_python_reference(unpack_);
  }
  Tensor unpack() override {
    const GilHold gil;
    try {
      const PyRef result(PyObject_CallOneArg(unpack_, packed_));
      MT_CHECK(is_tensor(result.get()), TypeError,
               "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
               Py_TYPE(result.get())->tp_name);
      return unwrap(result.get());
    } catch (const PythonError&) {
      throw CarriedError::take();
    }
  }

 private:
  PyObject* packed_;
  PyObject* unpack_;
};

class PySavedTensorHooks final : public autograd::SavedTensorHooks {
 public:
  PySavedTensorHooks(PyObject* pack, PyObject* unpack)
      : pack_(Py_NewRef(pack)), unpack_(Py_NewRef(unpack)) {}
  ~PySavedTensorHooks() override {
    release_python_reference(pack_);
    release_python_reference(unpack_);
  }
  std::unique_ptr<autograd::PackedTensor> pack(const Tensor& tensor) override {
    const GilHold gil;
    try {
      const PyRef given(wrap(tensor));
      const uint32_t version = tensor.version();
      PyRef packed(PyObject_CallOneArg(pack_, given.get()));
      MT_CHECK(tensor.version() == version, RuntimeError,
               "A saved tensor pack hook is modifying its input in place. Tensors provided as "
               "input to pack hook cannot be modified by in-place operations as this can lead to "
               "unexpected side-effects. Please open an issue if you need to perform in-place "
               "operations on the input to a pack hook.");
      return std::make_unique<PyPackedTensor>(packed.release(), unpack_);
    } catch (const PythonError&) {
      throw CarriedError::take();
    }
  }

 private:
  PyObject* pack_;
  PyObject* unpack_;
};

void push_hooks(nb::object pack, nb::object unpack) {
  autograd::SavedTensorHooksStack& stack = autograd::saved_tensor_hooks();
  MT_CHECK(stack.disabled_reason.empty(), RuntimeError, stack.disabled_reason);
  stack.hooks.push_back(std::make_shared<PySavedTensorHooks>(pack.ptr(), unpack.ptr()));
}
void pop_hooks() {
  autograd::SavedTensorHooksStack& stack = autograd::saved_tensor_hooks();
  MT_CHECK(!stack.hooks.empty(), RuntimeError, "there are no saved tensor hooks to leave");
  stack.hooks.pop_back();
}
void disable_hooks(const char* message) {
  autograd::SavedTensorHooksStack& stack = autograd::saved_tensor_hooks();
  MT_CHECK(stack.hooks.empty(), RuntimeError, message);
  stack.disabled_reason = message;
}
nb::object disabled_message() {
  const std::string& reason = autograd::saved_tensor_hooks().disabled_reason;
  return reason.empty() ? nb::none() : nb::object(nb::str(reason.c_str()));
}

// --- anomaly mode ---

// traceback.format_stack() where the op was called.
std::shared_ptr<void> capture_call_site() {
  const GilHold gil;
  static PyObject* format_stack = nullptr;
  imported(format_stack, "traceback", "format_stack");
  PyObject* const lines = PyObject_CallNoArgs(format_stack);
  if (lines == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  return {lines, [](void* object) { release_python_reference(object); }};
}
void report_call_site(const autograd::Node& node) {
  const GilHold gil;
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  std::string text = "Error detected in " + node.name() + ". ";
  if (node.call_site == nullptr) {
    text +=
        "No forward pass information available. Enable detect anomaly during forward pass for "
        "more information.";
  } else {
    text += "Traceback of forward call that caused the error:\n";
    const PyRef empty(PyUnicode_FromString(""));
    const PyRef joined =
        PyRef::maybe(PyUnicode_Join(empty.get(), static_cast<PyObject*>(node.call_site.get())));
    if (joined) text += PyUnicode_AsUTF8(joined.get());
  }
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) PyErr_Clear();
  PyErr_Restore(type, value, trace);
}

void queue_callback(nb::object function) {
  auto held = std::shared_ptr<void>(function.release().ptr(),
                                    [](void* object) { release_python_reference(object); });
  autograd::queue_callback([held] {
    const GilHold gil;
    PyObject* const result = PyObject_CallNoArgs(static_cast<PyObject*>(held.get()));
    if (result == nullptr) throw CarriedError::take();
    Py_DECREF(result);
  });
}

uint64_t grad_state() {
  const dispatch::ThreadLayers& layers = dispatch::thread_layers();
  return static_cast<uint64_t>(layers.enabled) | static_cast<uint64_t>(layers.skipped) << 8 |
         static_cast<uint64_t>(layers.grad_mode) << 16 |
         static_cast<uint64_t>(layers.inference_mode) << 17;
}
void restore_grad_state(uint64_t state) {
  dispatch::ThreadLayers& layers = dispatch::thread_layers();
  // Autocast and vmap are switched by themselves, sparse tensors bring their layer along.
  const auto others = static_cast<uint8_t>(dispatch::bit(dispatch::Layer::kSparse) |
                                           dispatch::bit(dispatch::Layer::kAutocast) |
                                           dispatch::bit(dispatch::Layer::kBatching));
  layers.enabled = static_cast<uint8_t>((layers.enabled & others) | (state & ~uint64_t{others}));
  layers.skipped = static_cast<uint8_t>(state >> 8);
  layers.grad_mode = (state >> 16 & 1) != 0;
  layers.inference_mode = (state >> 17 & 1) != 0;
}

}  // namespace

void bind_autograd(nb::module_& module) {
  if (add_node_type(module.ptr()) < 0 || add_function_type(module.ptr()) < 0) {
    throw nb::python_error();
  }
  autograd::AnomalyMode::capture = &capture_call_site;
  autograd::AnomalyMode::report = &report_call_site;
  module.def("_run_backward", &run_backward, nb::arg("tensors"), nb::arg("grad_tensors"),
             nb::arg("retain_graph"), nb::arg("create_graph"), nb::arg("inputs"),
             nb::arg("allow_unreachable"), nb::arg("accumulate_grad"),
             "Runs the graph behind the tensors.");
  module.def("_is_grad_enabled", &autograd::is_grad_enabled);
  module.def("_set_grad_enabled", &autograd::set_grad_enabled, nb::arg("enabled"));
  module.def("_is_inference_mode_enabled", &autograd::is_inference_mode);
  module.def("_set_inference_mode_enabled", &autograd::set_inference_mode, nb::arg("enabled"));
  module.def("_grad_state", &grad_state, "Gradient and inference mode of this thread.");
  module.def("_restore_grad_state", &restore_grad_state, nb::arg("state"));
  module.def("_push_saved_tensor_hooks", &push_hooks, nb::arg("pack"), nb::arg("unpack"));
  module.def("_pop_saved_tensor_hooks", &pop_hooks);
  module.def("_disable_saved_tensor_hooks", &disable_hooks, nb::arg("message"));
  module.def("_enable_saved_tensor_hooks",
             [] { autograd::saved_tensor_hooks().disabled_reason.clear(); });
  module.def("_saved_tensor_hooks_disabled_message", &disabled_message);
  module.def("_set_anomaly_enabled", &autograd::AnomalyMode::set, nb::arg("mode"),
             nb::arg("check_nan") = true);
  module.def("_is_anomaly_enabled", &autograd::AnomalyMode::enabled);
  module.def("_is_anomaly_check_nan_enabled", &autograd::AnomalyMode::checks_nan);
  module.def("_queue_callback", &queue_callback, nb::arg("function"));
  module.def("_is_running_backward", &autograd::is_running_backward);
}

}  // namespace mindtorch::python
