#include "mindtorch/autograd/autograd_meta.h"

#include "mindtorch/autograd/accumulate_grad.h"
#include "mindtorch/autograd/copy_slices.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/ops/dtype_limits.h"
#include "mindtorch/runtime/host_allocator.h"

namespace mindtorch::autograd {
namespace {

// .grad of a result that is no leaf.
class RetainGradHook final : public PreHook {
 public:
  RetainGradHook(std::shared_ptr<AutogradMeta*> meta, uint32_t output)
      : meta_(std::move(meta)), output_(output) {}
  void run(Gradients& grads) override {
    AutogradMeta* const meta = *meta_;  // null: the tensor is gone, or was written since
    if (meta == nullptr || !grads[output_].defined()) return;
    meta->grad = meta->grad.defined() ? add(meta->grad, grads[output_]) : clone(grads[output_]);
  }

 private:
  std::shared_ptr<AutogradMeta*> meta_;
  uint32_t output_;
};

bool is_stale_view(const TensorImpl& impl) {
  return impl.view_base && impl.view_version != impl.storage->version();
}

// The tensor has another value now, made by `node`. Hooks stay with the value they were registered
// on; retain_grad() goes with the tensor.
void replace_history(const Tensor& tensor, NodePtr node, uint32_t output) {
  AutogradMeta& meta = make_meta(tensor);
  const std::shared_ptr<AutogradMeta*> retained = std::exchange(meta.retained, nullptr);
  meta.hooks.clear();
  set_grad_fn(tensor, std::move(node), output);
  if (retained) {
    *retained = nullptr;
    retain_grad(tensor);
  }
}

// Throws why a view may not be written while autograd records. `indirectly`: its base, or another
// view of that, was.
[[noreturn]] void refuse_view(const Tensor& view, bool indirectly) {
  const ViewOrigin origin = view.impl()->view_origin;
  const AutogradMeta* const meta = find_meta(*view.impl());
  std::string text = origin == ViewOrigin::kInference ? "A view was created in inference mode and "
                                                      : "A view was created in no_grad mode and ";
  if (meta != nullptr && meta->grad_fn) {
    text = mindtorch::detail::concat("Output ", meta->output, " of ", short_name(*meta->grad_fn),
                                     " is a view and ");
  }
  text += indirectly ? "its base or another view of its base has been modified inplace"
                     : "is being modified inplace";
  switch (origin) {
    case ViewOrigin::kMultiOutput:
      text +=
          ". This view is the output of a function that returns multiple views. Such functions do "
          "not allow the output views to be modified inplace. You should replace the inplace "
          "operation by an out-of-place one.";
      break;
    case ViewOrigin::kFunction:
      text +=
          ". This view was created inside a custom Function (or because an input was returned "
          "as-is) and the autograd logic to handle view+inplace would override the custom backward "
          "associated with the custom Function, leading to incorrect gradients. This behavior is "
          "forbidden. You can fix this by cloning the output of the custom Function.";
      break;
    case ViewOrigin::kInference:
      text +=
          " with grad mode enabled. Given that this use case is ambiguous and error-prone, it is "
          "forbidden. You can clarify your code by moving both the view and the inplace either "
          "both inside the inference_mode block (if you don't want the inplace to be tracked) or "
          "both outside (if you want the inplace to be tracked).";
      break;
    default:
      text +=
          " with grad mode enabled. Given that this use case is ambiguous and error-prone, it is "
          "forbidden. You can clarify your code by moving both the view and the inplace either "
          "both inside the no_grad block (if you don't want the inplace to be tracked) or both "
          "outside (if you want the inplace to be tracked).";
  }
  throw RuntimeError(text);
}

void refresh_view(const Tensor& tensor) {
  TensorImpl& impl = *tensor.impl();
  const Tensor base(impl.view_base);
  const AutogradMeta* const meta = find_meta(impl);
  if ((meta == nullptr || !meta->grad_fn) && !requires_grad(base)) return;
  if (impl.view_origin != ViewOrigin::kRecorded) refuse_view(tensor, true);
  auto node =
      NodePtr::adopt(new AsStridedBackward(ViewGeometry(*base.impl()), gradient_edge(base), impl));
  node->add_output(tensor);
  impl.view_version = impl.storage->version();
  replace_history(tensor, std::move(node), 0);
}

}  // namespace

AutogradMeta::~AutogradMeta() {
  if (retained) *retained = nullptr;
}

void* AutogradMeta::operator new(size_t bytes) { return runtime::allocate_small(bytes); }
void AutogradMeta::operator delete(void* data, size_t bytes) noexcept {
  runtime::release_small(data, bytes);
}

AutogradMeta& make_meta(const Tensor& tensor) {
  TensorImpl& impl = *tensor.impl();
  if (!impl.autograd) impl.autograd = std::make_unique<AutogradMeta>();
  return *find_meta(impl);
}

namespace detail {

bool view_requires_grad(const TensorImpl& impl) { return requires_grad(Tensor(impl.view_base)); }

}  // namespace detail

void mark_view(const Tensor& self, TensorImpl& view, bool is_differentiable) noexcept {
  const TensorImpl& of = *self.impl();
  view.is_inference = of.is_inference;
  if (!is_differentiable) return;
  view.layers |= kLayerBit;
  if (of.is_inference) return;
  const dispatch::ThreadLayers& thread = dispatch::thread_layers();
  view.view_base = of.view_base ? of.view_base : IntrusivePtr<TensorImpl>::retain(self.impl());
  view.view_version = view.storage->version();
  view.view_origin = thread.inference_mode ? ViewOrigin::kInference
                     : thread.grad_mode    ? of.view_origin
                                           : ViewOrigin::kNoGrad;
}

NodePtr grad_fn(const Tensor& tensor) {
  TensorImpl& impl = *tensor.impl();
  if (MT_UNLIKELY(is_stale_view(impl))) refresh_view(tensor);
  const AutogradMeta* meta = find_meta(impl);
  return meta == nullptr ? NodePtr() : meta->grad_fn;
}

uint32_t output_number(const Tensor& tensor) {
  const AutogradMeta* meta = find_meta(*tensor.impl());
  return meta == nullptr ? 0 : meta->output;
}

Edge gradient_edge(const Tensor& tensor) {
  if (!requires_grad(tensor)) return {};
  if (NodePtr node = grad_fn(tensor)) return {std::move(node), output_number(tensor)};
  return {AccumulateGrad::of(tensor), 0};
}

void set_requires_grad(const Tensor& tensor, bool value) {
  MT_CHECK(
      (tensor.impl()->layers & dispatch::bit(dispatch::Layer::kBatching)) == 0, RuntimeError,
      "You are attempting to call Tensor.requires_grad_() (or perhaps using "
      "torch.autograd.functional.* APIs) inside of a function being transformed by a functorch "
      "transform. This is unsupported, please attempt to use the functorch transforms (e.g. "
      "grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function "
      "being transformed instead.");
  MT_CHECK(!value || is_differentiable(tensor.dtype()), RuntimeError,
           "only Tensors of floating point and complex dtype can require gradients");
  if (!value && requires_grad(tensor)) {
    MT_CHECK(!grad_fn(tensor), RuntimeError,
             "you can only change requires_grad flags of leaf variables. If you want to use a "
             "computed variable in a subgraph that doesn't require differentiation use var_no_grad "
             "= var.detach().");
  }
  MT_CHECK(!value || !tensor.impl()->is_inference || is_inference_mode(), RuntimeError,
           "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  if (value && grad_fn(tensor)) return;
  make_meta(tensor).requires_grad = value;
  TensorImpl& impl = *tensor.impl();
  if (value) {
    impl.layers |= kLayerBit;
  } else if (!impl.view_base) {
    impl.layers &= static_cast<uint8_t>(~kLayerBit);
  }
}

void set_grad_fn(const Tensor& tensor, NodePtr node, uint32_t output) {
  AutogradMeta& meta = make_meta(tensor);
  meta.grad_fn = std::move(node);
  meta.output = output;
  meta.requires_grad = false;
  tensor.impl()->layers |= kLayerBit;
}

void add_output(const Tensor& result, const NodePtr& node) {
  const auto output = static_cast<uint32_t>(node->outputs.size());
  node->add_output(result);
  set_grad_fn(result, node, output);
  result.impl()->view_version = result.impl()->storage->version();
}

Tensor detached(const Tensor& tensor) {
  Tensor result = tensor.alias(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  result.impl()->dtype = tensor.dtype();
  return result;
}

void detach_(const Tensor& tensor) {
  TensorImpl& impl = *tensor.impl();
  MT_CHECK(!impl.view_base || !requires_grad(tensor), RuntimeError,
           "Can't detach views in-place. Use detach() instead. If you are using "
           "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
           "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
           "these gradients. To fix this error, please refer to the "
           "Optimizer.zero_grad() function in torch/optim/optimizer.py as a solution.");
  impl.view_base = nullptr;
  if (AutogradMeta* meta = find_meta(impl)) {
    meta->grad_fn = nullptr;
    meta->output = 0;
    meta->requires_grad = false;
  }
  impl.layers &= static_cast<uint8_t>(~kLayerBit);
}

void retain_grad(const Tensor& tensor) {
  MT_CHECK(requires_grad(tensor), RuntimeError,
           "can't retain_grad on Tensor that has requires_grad=False");
  const NodePtr node = grad_fn(tensor);
  if (!node) return;
  AutogradMeta& meta = make_meta(tensor);
  if (meta.retained) return;
  meta.retained = std::make_shared<AutogradMeta*>(&meta);
  node->make_hooks().retain_grad.push_back(
      std::make_unique<RetainGradHook>(meta.retained, meta.output));
}

Tensor grad_of(const Tensor& tensor) {
  const AutogradMeta* meta = find_meta(*tensor.impl());
  return meta == nullptr ? Tensor() : meta->grad;
}

void set_grad(const Tensor& tensor, Tensor grad) {
  if (!grad.defined()) {
    if (AutogradMeta* const meta = find_meta(*tensor.impl())) meta->grad = Tensor();
    return;
  }
  MT_CHECK(!grad.is_same(tensor), RuntimeError, "can't assign Variable as its own grad");
  MT_CHECK(grad.dtype() == tensor.dtype(), RuntimeError, "attempting to assign a gradient with ",
           "dtype '", ops::limits(grad.dtype()).type_name, "' to a tensor with grad_dtype '",
           legacy_name(tensor.dtype()),
           "'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). "
           "You can set the tensor's grad_dtype attribute with a specific dtype, or None to "
           "allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and "
           "its gradient may break downstream systems that assume they match.");
  MT_CHECK(grad.device().type == tensor.device().type, RuntimeError,
           "attempting to assign a gradient with device type '", name(grad.device().type),
           "' to a tensor with device type '", name(tensor.device().type),
           "'. Please ensure that the gradient and the tensor are on the same device");
  MT_CHECK(grad.device() == tensor.device(), RuntimeError,
           "attempting to assign a gradient located on device with index '",
           int{grad.device().index}, "' to a tensor located on device with index '",
           int{tensor.device().index},
           "'. Please ensure that the gradient and the tensor are on the same device");
  MT_CHECK(grad.sizes() == tensor.sizes(), RuntimeError,
           "attempting to assign a gradient of size '", to_string(grad.sizes()),
           "' to a tensor of size '", to_string(tensor.sizes()),
           "'. Please ensure that the gradient and the tensor are the same size");
  make_meta(tensor).grad = std::move(grad);
}

void share_accumulator(const Tensor& shown, const Tensor& leaf) {
  AutogradMeta& meta = make_meta(shown);
  meta.grad_fn = AccumulateGrad::of(leaf);
  meta.output = 0;
}

void check_inplace(const Tensor& self, bool records) {
  const TensorImpl& impl = *self.impl();
  MT_CHECK(!impl.is_inference || is_inference_mode(), RuntimeError,
           "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a "
           "clone to get a normal tensor before doing inplace update.See "
           "https://github.com/pytorch/rfcs/pull/17 for more details.");
  if (!records) return;
  const bool own = requires_grad(self);
  if (impl.view_base) {
    const Tensor base(impl.view_base);
    if (impl.view_origin != ViewOrigin::kRecorded) refuse_view(self, false);
    MT_CHECK(!requires_grad(base) || grad_fn(base), RuntimeError,
             "a view of a leaf Variable that requires grad is being used in an in-place "
             "operation.");
  }
  MT_CHECK(!own || grad_fn(self), RuntimeError,
           "a leaf Variable that requires grad is being used in an in-place operation.");
}

void rebase_history(const Tensor& self, NodePtr node, size_t self_input) {
  TensorImpl& impl = *self.impl();
  const auto output = static_cast<uint32_t>(node->outputs.size());
  node->add_output(self);
  if (!impl.view_base) return replace_history(self, std::move(node), output);
  const Tensor base(impl.view_base);
  auto slices = NodePtr::adopt(
      new CopySlices(*base.impl(), gradient_edge(base), impl, std::move(node), self_input));
  slices->add_output(base);
  replace_history(base, std::move(slices), 0);
  // The view's own history is made anew when somebody asks for it.
  impl.view_version = impl.storage->version() - 1;
}

void reshape_history(const Tensor& self, ViewGeometry before, Edge edge) {
  TensorImpl& impl = *self.impl();
  if (impl.view_base) {
    impl.view_version = impl.storage->version() - 1;
    return;
  }
  auto node = NodePtr::adopt(new AsStridedBackward(std::move(before), std::move(edge), impl));
  node->add_output(self);
  replace_history(self, std::move(node), 0);
}

std::string tensor_type_name(DType dtype, Device device) {
  std::string name = "torch.";
  if (!device.is_cpu()) name += mindtorch::detail::concat(mindtorch::name(device.type), ".");
  return name + std::string(legacy_name(dtype)) + "Tensor";
}

}  // namespace mindtorch::autograd
