#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

void real_view(Backward& b, const TensorMeta&) {
  b.set(0, view_as_complex(contiguous(b.grad(), MemoryFormat::kContiguous)));
}
void complex_view(Backward& b, const TensorMeta&) { b.set(0, view_as_real(b.grad())); }

void view_sizes(Backward& b, const TensorMeta& self, IntList) {
  b.set(0, reshape(b.grad(), self.sizes));
}
void unflatten_sizes(Backward& b, const TensorMeta& self, int64_t, IntList) {
  b.set(0, reshape(b.grad(), self.sizes));
}
void transpose_dims(Backward& b, const TensorMeta&, int64_t dim0, int64_t dim1) {
  b.set(0, transpose(b.grad(), dim0, dim1));
}
void t_dims(Backward& b, const TensorMeta&) { b.set(0, t(b.grad())); }
void same(Backward& b, const TensorMeta&) { b.set(0, b.grad()); }

void permute_dims(Backward& b, const TensorMeta& self, IntList dims) {
  Shape inverse(dims.size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    inverse[static_cast<size_t>(wrap_dim(dims[i], self.dim()))] = static_cast<int64_t>(i);
  }
  b.set(0, permute(b.grad(), inverse));
}

void unsqueeze_dim(Backward& b, const TensorMeta& self, int64_t) {
  b.set(0, view(b.grad(), self.sizes));
}
void squeeze_all(Backward& b, const TensorMeta& self) { b.set(0, view(b.grad(), self.sizes)); }
void squeeze_one(Backward& b, const TensorMeta& self, int64_t) {
  b.set(0, view(b.grad(), self.sizes));
}
void squeeze_some(Backward& b, const TensorMeta& self, IntList) {
  b.set(0, view(b.grad(), self.sizes));
}

// The engine sums what was repeated.
void expand_sizes(Backward& b, const TensorMeta&, IntList, bool) { b.set(0, b.grad()); }

void select_one(Backward& b, const TensorMeta& self, int64_t dim, int64_t index) {
  b.set(0, embed(b.grad(), self, [&](const Tensor& x) { return select(x, dim, index); }));
}
void narrow_part(Backward& b, const TensorMeta& self, int64_t dim, int64_t start, int64_t length) {
  b.set(0, embed(b.grad(), self, [&](const Tensor& x) { return narrow(x, dim, start, length); }));
}
void slice_part(Backward& b,
                const TensorMeta& self,
                int64_t dim,
                std::optional<int64_t> start,
                std::optional<int64_t> end,
                int64_t step) {
  b.set(0, embed(b.grad(), self, [&](const Tensor& x) { return slice(x, dim, start, end, step); }));
}
void diagonal_of(Backward& b, const TensorMeta& self, int64_t offset, int64_t dim1, int64_t dim2) {
  b.set(0, embed(b.grad(), self, [&](const Tensor& x) { return diagonal(x, offset, dim1, dim2); }));
}

// Windows overlap: each element gets the sum of its places.
void unfold_windows(
    Backward& b, const TensorMeta& self, int64_t dimension, int64_t size, int64_t step) {
  const Tensor& grad = b.grad();
  const Tensor places = unfold(view(arange(self.numel(), DType::kInt64, grad.device()), self.sizes),
                               dimension, size, step);
  const Tensor flat = index_add(zeros({self.numel()}, grad.dtype(), grad.device()), 0,
                                reshape(places, {-1}), reshape(grad, {-1}));
  b.set(0, view(flat, self.sizes));
}

// Of the pieces of a split: zeros where no gradient came.
Tensor join(const Backward& b, const TensorMeta& self, size_t count, int64_t dim) {
  std::vector<Tensor> pieces;
  for (size_t i = 0; i < count; ++i) {
    pieces.push_back(b.grad(i).defined() ? b.grad(i) : zeros_of(b.output(i)));
  }
  return self.dim() == 0 ? pieces[0] : cat(pieces, dim);
}
size_t pieces_of(const TensorMeta& self, int64_t size, int64_t dim) {
  const int64_t whole = self.sizes[static_cast<size_t>(wrap_dim(dim, self.dim()))];
  return static_cast<size_t>(whole == 0 || size == 0 ? 1 : (whole - 1) / size + 1);
}

void split_size(Backward& b, const TensorMeta& self, int64_t size, int64_t dim) {
  b.set(0, join(b, self, pieces_of(self, size, dim), dim));
}
void split_sizes(Backward& b, const TensorMeta& self, IntList sizes, int64_t dim) {
  b.set(0, join(b, self, sizes.size(), dim));
}
void unbind_dim(Backward& b, const TensorMeta& self, int64_t dim) {
  const auto count =
      static_cast<size_t>(self.sizes[static_cast<size_t>(wrap_dim(dim, self.dim()))]);
  std::vector<Tensor> pieces;
  for (size_t i = 0; i < count; ++i) {
    pieces.push_back(b.grad(i).defined() ? b.grad(i) : zeros_of(b.output(i)));
  }
  b.set(0, stack(pieces, dim));
}

}  // namespace

void define_views(Derivatives& derivatives) {
  derivatives.define<real_view>("view_as_real").knows_complex();
  derivatives.define<complex_view>("view_as_complex").knows_complex();
  derivatives.define<view_sizes>("view");
  derivatives.define<transpose_dims>("transpose.int");
  derivatives.define<t_dims>("t");
  derivatives.define<select_one>("select.int");
  derivatives.define<unsqueeze_dim>("unsqueeze");
  derivatives.define<permute_dims>("permute");
  derivatives.define<squeeze_all>("squeeze");
  derivatives.define<squeeze_one>("squeeze.dim").named("SqueezeBackward1");
  derivatives.define<squeeze_some>("squeeze.dims").named("SqueezeBackward2");
  derivatives.define<narrow_part>("narrow").named("SliceBackward0");
  derivatives.define<diagonal_of>("diagonal");
  derivatives.define<unfold_windows>("unfold");
  derivatives.define<unflatten_sizes>("unflatten").named("ViewBackward0");
  derivatives.define<same>("alias");
  derivatives.define<slice_part>("slice.Tensor");
  derivatives.define<expand_sizes>("expand");
  derivatives.define<split_size>("split.Tensor");
  derivatives.define<split_sizes>("split.sizes").named("SplitWithSizesBackward0");
  derivatives.define<unbind_dim>("unbind");
}

}  // namespace mindtorch::autograd
