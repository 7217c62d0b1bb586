#include "mindtorch/autograd/copy_slices.h"

#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::autograd {
namespace {

// A tensor with the base's layout, from offset 0 on, that has room for all of its elements.
Tensor shaped_like(const Tensor& grad, const ViewGeometry& base) {
  const bool plain = !may_overlap_itself(base.sizes, base.strides);
  return plain ? new_empty_strided(grad, base.sizes, base.strides) : new_empty(grad, base.sizes);
}

Tensor parts(const Tensor& tensor) {
  return is_complex(tensor.dtype()) ? view_as_real(tensor) : tensor;
}

}  // namespace

ViewGeometry ViewGeometry::of_parts() const {
  ViewGeometry parts = *this;
  if (!is_complex(dtype)) return parts;
  for (int64_t& stride : parts.strides) stride *= 2;
  parts.sizes.push_back(2);
  parts.strides.push_back(1);
  parts.offset *= 2;
  parts.dtype = real_dtype(dtype);
  return parts;
}

Tensor scatter_to_base(const Tensor& grad, const ViewGeometry& base, const ViewGeometry& view) {
  if (MT_UNLIKELY(base.dtype != view.dtype)) {
    const Tensor made = scatter_to_base(parts(grad), base.of_parts(), view.of_parts());
    return is_complex(base.dtype) ? view_as_complex(made) : made;
  }
  const Tensor whole = new_zeros(grad, {extent(base.sizes, base.strides)});
  const int64_t offset = view.offset - base.offset;
  if (!may_overlap_itself(view.sizes, view.strides)) {
    copy_(as_strided(whole, view.sizes, view.strides, offset), grad);
  } else {
    // Elements that the view shows several times get the sum.
    const Tensor places = as_strided(arange(whole.numel(), DType::kInt64, grad.device()),
                                     view.sizes, view.strides, offset);
    index_add_(whole, 0, reshape(places, {-1}), reshape(grad, {-1}));
  }
  if (!may_overlap_itself(base.sizes, base.strides)) {
    return as_strided(whole, base.sizes, base.strides, 0);
  }
  // Each element of an expanded base gets an equal share of its memory's gradient.
  const Tensor shown =
      as_strided(arange(whole.numel(), DType::kInt64, grad.device()), base.sizes, base.strides, 0);
  const Tensor flat = reshape(shown, {-1});
  const Tensor counts = index_add(zeros_like(whole), 0, flat, ones_like(flat, grad.dtype()));
  return reshape(index_select(div(whole, counts), 0, flat), base.sizes);
}

CopySlices::CopySlices(
    const TensorImpl& base, Edge base_edge, const TensorImpl& view, NodePtr node, size_t self_input)
    : base_(base), view_(view), node_(std::move(node)), self_input_(self_input) {
  next.push_back(std::move(base_edge));
  for (size_t i = 0; i < node_->next.size(); ++i) {
    if (i != self_input_) next.push_back(node_->next[i]);
  }
}

Tensor CopySlices::slice_of(const Tensor& whole) const {
  if (MT_LIKELY(base_.dtype == view_.dtype)) {
    return as_strided(whole, view_.sizes, view_.strides, view_.offset - base_.offset);
  }
  const ViewGeometry view = view_.of_parts();
  const int64_t offset = view.offset - base_.of_parts().offset;
  const Tensor slice = as_strided(parts(whole), view.sizes, view.strides, offset);
  return is_complex(view_.dtype) ? view_as_complex(slice) : slice;
}

void CopySlices::apply(Gradients& grads, Gradients& results) {
  results.clear();
  results.resize(next.size());
  if (!grads[0].defined()) return;
  const Tensor whole = copy_(shaped_like(grads[0], base_), grads[0]);
  const Tensor slice = slice_of(whole);
  Gradients slice_grads;
  slice_grads.push_back(clone(slice));
  Gradients made;
  node_->apply(slice_grads, made);
  size_t at = 1;
  for (size_t i = 0; i < made.size(); ++i) {
    if (i != self_input_) {
      results[at++] = std::move(made[i]);
    } else if (made[i].defined()) {
      copy_(slice, made[i]);
    } else {
      zero_(slice);
    }
  }
  results[0] = whole;
}

void CopySlices::release_saved(runtime::Stream reader) { node_->release_saved(reader); }

AsStridedBackward::AsStridedBackward(ViewGeometry base, Edge base_edge, const TensorImpl& view)
    : base_(std::move(base)), view_(view) {
  next.push_back(std::move(base_edge));
}

void AsStridedBackward::apply(Gradients& grads, Gradients& results) {
  results.clear();
  results.resize(1);
  if (grads[0].defined()) results[0] = scatter_to_base(grads[0], base_, view_);
}

}  // namespace mindtorch::autograd
