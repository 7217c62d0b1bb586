#include "mindtorch/autograd/saved_tensor.h"

#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/runtime/accelerator.h"

namespace mindtorch::autograd {
SavedTensorHooksStack& saved_tensor_hooks() {
  thread_local SavedTensorHooksStack stack;
  return stack;
}

SavedTensor::SavedTensor(const Tensor& tensor, bool is_output) {
  if (!tensor.defined()) return;
  MT_CHECK(!tensor.impl()->is_inference, RuntimeError,
           "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
           "inference mode in computation tracked by autograd. To work around this, you can make a "
           "clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead "
           "of `torch.inference_mode()`.");
  version_ = tensor.version();
  is_output_ = is_output;
  if (is_output) output_ = output_number(tensor);
  SavedTensorHooksStack& stack = saved_tensor_hooks();
  if (MT_UNLIKELY(!stack.hooks.empty() && stack.hidden == 0)) {
    output_ = output_number(tensor);
    requires_grad_ = requires_grad(tensor);
    was_leaf_ = !is_output && is_leaf(tensor);
    if (!is_output) grad_fn_ = grad_fn(tensor);
    struct Hidden {
      int& count;
      explicit Hidden(int& count) : count(count) { ++count; }
      ~Hidden() { --count; }
    } hidden(stack.hidden);
    const std::shared_ptr<SavedTensorHooks> hooks = stack.hooks.back();
    const GradModeGuard mode(false);  // what the hook makes of it is no part of the graph
    // A leaf is also kept itself: its gradient accumulates there.
    if (was_leaf_ && requires_grad_) data_ = tensor;
    packed_ = hooks->pack(is_output ? detached(tensor) : tensor);
    return;
  }
  data_ = is_output ? detached(tensor) : tensor;
}

void SavedTensor::keep_for(runtime::Stream reader) const {
  if (!data_.defined() || name(data_.device().type) != reader.runtime().accelerator().kind() ||
      data_.device().index != reader.device()) {
    return;
  }
  data_.storage()->record_stream(reader);
}

void SavedTensor::reset(runtime::Stream reader) {
  if (MT_UNLIKELY(static_cast<bool>(reader))) keep_for(reader);
  data_ = Tensor();
  grad_fn_ = nullptr;
  packed_.reset();
}

Tensor SavedTensor::unpack(Node& owner) const {
  if (packed_ != nullptr) {
    const Tensor stored = packed_->unpack();
    if (was_leaf_ && requires_grad_) {
      // The leaf's accumulator, whatever tensor holds the values now.
      Tensor shown = detached(stored);
      set_requires_grad(shown, true);
      share_accumulator(shown, data_);
      return shown;
    }
    if (!requires_grad_ && !is_output_) return stored;
    Tensor shown = detached(stored);
    if (NodePtr node = is_output_ ? NodePtr::retain(&owner) : grad_fn_) {
      set_grad_fn(shown, std::move(node), output_);
    }
    return shown;
  }
  if (!data_.defined()) return {};
  if (const uint32_t version = data_.version(); MT_UNLIKELY(version != version_)) {
    refuse_version(owner, version);
  }
  if (!is_output_) return data_;
  // Only a gradient of the gradient asks for the history.
  if (!is_grad_enabled()) return data_;
  Tensor shown = detached(data_);
  set_grad_fn(shown, NodePtr::retain(&owner), output_);
  return shown;
}

void SavedTensor::refuse_version(Node& owner, uint32_t version) const {
  std::string made_by;
  const NodePtr node = is_output_ ? NodePtr::retain(&owner) : grad_fn(data_);
  if (node) {
    made_by =
        mindtorch::detail::concat(", which is output ", is_output_ ? output_ : output_number(data_),
                                  " of ", short_name(*node), ",");
  }
  MT_THROW(RuntimeError,
           "one of the variables needed for gradient computation has been modified by an inplace "
           "operation: [",
           tensor_type_name(data_.dtype(), data_.device()), " ", to_string(data_.sizes()), "]",
           made_by, " is at version ", version, "; expected version ", version_, " instead. Hint: ",
           AnomalyMode::enabled()
               ? "the backtrace further above shows the operation that failed to compute its "
                 "gradient. The variable in question was changed in there or anywhere later. Good "
                 "luck!"
               : "enable anomaly detection to find the operation that failed to compute its "
                 "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).");
}

void refuse_second_backward() {
  MT_THROW(RuntimeError,
           "Trying to backward through the graph a second time (or directly access saved tensors "
           "after they have already been freed). Saved intermediate values of the graph are freed "
           "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
           "backward through the graph a second time or if you need to access saved tensors after "
           "calling backward.");
}

}  // namespace mindtorch::autograd
