#include "mindtorch/autograd/accumulate_grad.h"

#include <mutex>

#include "mindtorch/dispatch/eager/layers.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/runtime/spin_lock.h"

namespace mindtorch::autograd {
namespace {

// Note [Accumulators]
// A leaf and its accumulator must not own each other. The accumulator owns the leaf; the leaf only
// knows where it is. Whoever takes a new reference from that pointer, and the last owner on its way
// to free the node, hold this lock.
runtime::SpinLock g_accumulators;

// Without bytes of its own: what is made of it is an op's business.
bool is_sparse(const Tensor& tensor) {
  return (tensor.impl()->layers & dispatch::bit(dispatch::Layer::kSparse)) != 0;
}

// Strides that .grad shall have: the leaf's where it is dense, else contiguous.
bool has_layout_of(const Tensor& grad, const Tensor& variable) {
  return is_dense(variable.sizes(), variable.strides()) ? grad.strides() == variable.strides()
                                                        : grad.is_contiguous();
}

// Nothing else can see its memory: not another tensor, but for the base of a view that only the
// view holds, and not the user. A recorder holds the storages it writes once.
bool has_one_owner(const Tensor& grad) {
  const TensorImpl& impl = *grad.impl();
  if (impl.use_count() != 1 || requires_grad(grad)) return false;
  if (impl.view_base && impl.view_base->use_count() != 1) return false;
  const uint32_t holders = 1 + (impl.view_base ? 1 : 0) + (impl.storage->pending() ? 1 : 0);
  return impl.storage->use_count() == holders;
}

Tensor clone_like(const Tensor& grad, const Tensor& variable) {
  if (!is_dense(variable.sizes(), variable.strides())) {
    return clone(grad, MemoryFormat::kContiguous);
  }
  if (grad.strides() == variable.strides()) return clone(grad);
  Tensor made = empty_strided(variable.sizes(), variable.strides(), grad.dtype(), grad.device());
  return copy_(made, grad);
}

}  // namespace

AccumulateGrad::AccumulateGrad(Tensor variable) : Node(kRunFirst), variable_(std::move(variable)) {
  add_output(variable_);
}

NodePtr AccumulateGrad::of(const Tensor& leaf) {
  AutogradMeta& meta = make_meta(leaf);
  const std::lock_guard lock(g_accumulators);
  if (meta.accumulator != nullptr && meta.accumulator->use_count() > 0) {
    return NodePtr::retain(meta.accumulator);
  }
  auto* made = new AccumulateGrad(leaf);
  meta.accumulator = made;
  return NodePtr::adopt(made);
}

void AccumulateGrad::forget(const Tensor& leaf) noexcept {
  AutogradMeta* const meta = find_meta(*leaf.impl());
  if (meta == nullptr) return;
  const std::lock_guard lock(g_accumulators);
  meta->accumulator = nullptr;
}

bool AccumulateGrad::revived() noexcept {
  const std::lock_guard lock(g_accumulators);
  // Another thread may have taken a reference, and may give it back while this one does.
  if (use_count() > 1 && !drop()) return true;
  AutogradMeta* meta = find_meta(*variable_.impl());
  if (meta != nullptr && meta->accumulator == this) meta->accumulator = nullptr;
  return false;
}

void AccumulateGrad::accumulate(const Tensor& variable, Tensor grad) {
  AutogradMeta& meta = make_meta(variable);
  if (!meta.grad.defined()) {
    if (is_sparse(grad)) {
      // What others see must not change when more is added.
      meta.grad = grad.impl()->use_count() == 1 ? detach(grad) : detach(clone(grad));
    } else if (!is_grad_enabled() && has_one_owner(grad) && has_layout_of(grad, variable)) {
      detach_(grad);
      meta.grad = std::move(grad);
    } else {
      meta.grad = clone_like(grad, variable);
    }
  } else if (is_sparse(meta.grad) && !is_sparse(grad)) {
    meta.grad = add(grad, meta.grad);  // only a dense tensor can hold the sum
  } else if (!is_grad_enabled()) {
    add_(meta.grad, grad);
  } else {
    meta.grad = add(meta.grad, grad);
  }
}

Tensor AccumulateGrad::gradient() const {
  const std::lock_guard lock(mutex_);
  return grad_of(variable_);
}

void AccumulateGrad::apply(Gradients& grads, Gradients& results) {
  results.clear();
  if (!grads[0].defined() || !requires_grad(variable_)) return;
  AutogradMeta& meta = make_meta(variable_);
  // Dropped without the lock: what its history holds may wait for other locks.
  Tensor replaced;
  {
    const std::lock_guard lock(mutex_);
    if (is_grad_enabled()) replaced = meta.grad;
    accumulate(variable_, std::move(grads[0]));
  }
  run_hooks(meta.post_accumulate, variable_);
}

}  // namespace mindtorch::autograd
