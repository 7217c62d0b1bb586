#pragma once

#include "mindtorch/autograd/node.h"

namespace mindtorch::autograd {

// Where a view lies in the memory of its base.
struct ViewGeometry {
  Shape sizes;
  Shape strides;
  int64_t offset;  // elements, from the start of the storage
  DType dtype;     // another than the base's where one is complex and the other shows its parts

  explicit ViewGeometry(const TensorImpl& impl)
      : sizes(impl.sizes), strides(impl.strides), offset(impl.offset), dtype(impl.dtype) {}
  // Of the parts of complex numbers, the last dim; of others the same.
  ViewGeometry of_parts() const;
};

// An in-place op on a view, seen from the view's base: the gradient of the base goes on, except
// where the view lies, where the op's own node decides.
class CopySlices final : public Node {
 public:
  // `node` is the op's; the gradient of the view's old value is its result `self_input`.
  CopySlices(const TensorImpl& base,
             Edge base_edge,
             const TensorImpl& view,
             NodePtr node,
             size_t self_input);

  std::string name() const override { return "torch::autograd::CopySlices"; }
  void apply(Gradients& grads, Gradients& results) override;
  void release_saved(runtime::Stream reader) override;

 private:
  Tensor slice_of(const Tensor& whole) const;  // where the view lies

  ViewGeometry base_;
  ViewGeometry view_;
  NodePtr node_;
  size_t self_input_;
};

// The gradient of a view's base, from that of the view.
class AsStridedBackward final : public Node {
 public:
  AsStridedBackward(ViewGeometry base, Edge base_edge, const TensorImpl& view);

  std::string name() const override { return "AsStridedBackward0"; }
  void apply(Gradients& grads, Gradients& results) override;

 private:
  ViewGeometry base_;
  ViewGeometry view_;
};

// The gradient of `base` where only its elements in `view` were used: those of `grad`.
Tensor scatter_to_base(const Tensor& grad, const ViewGeometry& base, const ViewGeometry& view);

}  // namespace mindtorch::autograd
