#pragma once

#include <memory>
#include <vector>

#include "mindtorch/autograd/grad_mode.h"
#include "mindtorch/autograd/node.h"

namespace mindtorch::autograd {

class AccumulateGrad;
struct ViewGeometry;

// Runs after a leaf's gradient has been accumulated.
class LeafHook {
 public:
  virtual ~LeafHook() = default;
  virtual void run(const Tensor& leaf) = 0;
};

struct AutogradMeta final : AutogradMetaInterface {
  ~AutogradMeta() override;

  Tensor grad;
  NodePtr grad_fn;      // null for a leaf
  uint32_t output = 0;  // of grad_fn
  bool requires_grad = false;
  // Points to this while the result's gradient is to be kept; the hook that does so looks here.
  std::shared_ptr<AutogradMeta*> retained;
  // The node that accumulates a leaf's gradient, while something points to it; see
  // Note [Accumulators].
  AccumulateGrad* accumulator = nullptr;
  std::vector<std::shared_ptr<PreHook>> hooks;  // of a leaf
  std::vector<std::shared_ptr<LeafHook>> post_accumulate;

  static void* operator new(size_t bytes);
  static void operator delete(void* data, size_t bytes) noexcept;
};

inline AutogradMeta* find_meta(const TensorImpl& impl) {
  return static_cast<AutogradMeta*>(impl.autograd.get());
}
MT_API AutogradMeta& make_meta(const Tensor& tensor);

// --- what a tensor is to autograd ---
namespace detail {
MT_API bool view_requires_grad(const TensorImpl& impl);
}
inline bool requires_grad(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  if ((impl.layers & kLayerBit) == 0) return false;
  const AutogradMeta* meta = find_meta(impl);
  if (meta != nullptr && (meta->requires_grad || meta->grad_fn)) return true;
  return impl.view_base && detail::view_requires_grad(impl);
}
// Null for a leaf. A view whose base was written since gets a new one.
MT_API NodePtr grad_fn(const Tensor& tensor);
inline bool is_leaf(const Tensor& tensor) { return !requires_grad(tensor) || !grad_fn(tensor); }
MT_API uint32_t output_number(const Tensor& tensor);
// Where the tensor's gradient goes.
MT_API Edge gradient_edge(const Tensor& tensor);

// --- views ---
// Notes what `view`, just made, is a view of: writing it writes that. Without `is_differentiable`,
// only whether it is of a tensor that was made in inference mode.
void mark_view(const Tensor& self, TensorImpl& view, bool is_differentiable) noexcept;

// --- changing it ---
// Of a leaf; throws torch's errors.
MT_API void set_requires_grad(const Tensor& tensor, bool value);
// A new result of `node`, whose outputs grow by it.
MT_API void set_grad_fn(const Tensor& tensor, NodePtr node, uint32_t output);
MT_API void add_output(const Tensor& result, const NodePtr& node);
// The same values without a history.
MT_API Tensor detached(const Tensor& tensor);
// Cuts the history off.
MT_API void detach_(const Tensor& tensor);
MT_API void retain_grad(const Tensor& tensor);
MT_API Tensor grad_of(const Tensor& tensor);
// Throws torch's errors where it does not fit the tensor; an undefined one always does.
MT_API void set_grad(const Tensor& tensor, Tensor grad);
// Gradients of `shown` go where those of the leaf go.
MT_API void share_accumulator(const Tensor& shown, const Tensor& leaf);

// --- in-place ops ---
// Throws where torch refuses one: leaves that require grad and their views, some views. `records`:
// it will have a node.
MT_API void check_inplace(const Tensor& self, bool records);
// The tensor was written by the op of `node`; the gradient of its old value is result `self_input`.
MT_API void rebase_history(const Tensor& self, NodePtr node, size_t self_input);

// The same for an op that shows the tensor's memory in another shape (t_): it had the geometry
// `before`, and its gradient went to `edge`.
void reshape_history(const Tensor& self, ViewGeometry before, Edge edge);

// "torch.FloatTensor", and with the device's name where it is no CPU.
MT_API std::string tensor_type_name(DType dtype, Device device);

}  // namespace mindtorch::autograd
