#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

void flip_dims(Backward& b, const TensorMeta&, IntList dims) { b.set(0, flip(b.grad(), dims)); }
void tril_of(Backward& b, const TensorMeta&, int64_t diagonal) {
  b.set(0, tril(b.grad(), diagonal));
}
void triu_of(Backward& b, const TensorMeta&, int64_t diagonal) {
  b.set(0, triu(b.grad(), diagonal));
}

void cat_along(Backward& b, MetaList tensors, int64_t dim) {
  int64_t start = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorMeta& piece = tensors[i];
    // A 1-d tensor of nothing joins anything.
    if (piece.sizes.size() == 1 && piece.sizes[0] == 0) {
      if (b.needs(0, i)) b.set(0, i, zeros_of(piece));
      continue;
    }
    const int64_t size = piece.sizes[static_cast<size_t>(wrap_dim(dim, piece.dim()))];
    if (b.needs(0, i)) b.set(0, i, narrow(b.grad(), dim, start, size));
    start += size;
  }
}

void combinations_of(Backward& b, const TensorMeta& self, int64_t r, bool with_replacement) {
  const Tensor& grad = b.grad();
  const Tensor places =
      combinations(arange(self.numel(), DType::kInt64, grad.device()), r, with_replacement);
  const Tensor whole = zeros(self.sizes, grad.dtype(), grad.device());
  b.set(0, index_add(whole, 0, reshape(places, {-1}), reshape(grad, {-1})));
}

void repeat_interleave_by(Backward& b,
                          const TensorMeta& self,
                          int64_t repeats,
                          std::optional<int64_t> dim,
                          std::optional<int64_t>) {
  Shape sizes = self.sizes;
  size_t at = sizes.size();
  if (dim && self.dim() > 0) {
    at = static_cast<size_t>(wrap_dim(*dim, self.dim())) + 1;
  } else if (!dim) {
    sizes = {self.numel()};
    at = 1;
  }
  sizes.insert(sizes.begin() + at, repeats);
  const auto along = static_cast<int64_t>(at);
  b.set(0, reshape(sum(reshape(b.grad(), sizes), IntList(&along, 1), false), self.sizes));
}

void stack_along(Backward& b, MetaList tensors, int64_t dim) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (b.needs(0, i)) b.set(0, i, select(b.grad(), dim, static_cast<int64_t>(i)));
  }
}

// Every copy brings its gradient.
void repeat_by(Backward& b, const TensorMeta& self, IntList repeats) {
  const size_t extra = repeats.size() - self.sizes.size();
  Shape sizes;
  Shape dims;
  for (size_t i = 0; i < repeats.size(); ++i) {
    dims.push_back(static_cast<int64_t>(sizes.size()));
    sizes.push_back(repeats[i]);
    sizes.push_back(i < extra ? 1 : self.sizes[i - extra]);
  }
  const Tensor summed =
      dims.empty() ? b.grad() : sum(reshape(b.grad(), sizes), IntList(dims), false);
  b.set(0, reshape(summed, self.sizes));
}

void roll_by(Backward& b, const TensorMeta&, IntList shifts, IntList dims) {
  Shape back;
  for (const int64_t shift : shifts) back.push_back(-shift);
  b.set(0, roll(b.grad(), back, dims));
}
void rot90_by(Backward& b, const TensorMeta&, int64_t k, IntList dims) {
  b.set(0, rot90(b.grad(), -k, dims));
}

void pad_by(Backward& b, const TensorMeta&, IntList pad, const Scalar&) {
  Shape back;
  for (const int64_t amount : pad) back.push_back(-amount);
  b.set(0, constant_pad_nd(b.grad(), back, Scalar(0)));
}

void trace_of(Backward& b, const TensorMeta& self) {
  const Tensor whole = zeros_of(self);
  b.set(0, diagonal_scatter(whole, expand(b.grad(), {std::min(self.sizes[0], self.sizes[1])})));
}
void diag_embed_at(Backward& b, const TensorMeta&, int64_t offset, int64_t dim1, int64_t dim2) {
  b.set(0, diagonal(b.grad(), offset, dim1, dim2));
}
void narrow_copy_of(
    Backward& b, const TensorMeta& self, int64_t dim, int64_t start, int64_t length) {
  b.set(0, embed(b.grad(), self, [&](const Tensor& x) { return narrow(x, dim, start, length); }));
}

}  // namespace

void define_shape(Derivatives& derivatives) {
  derivatives.define<flip_dims>("flip");
  derivatives.define<tril_of>("tril");
  derivatives.define<triu_of>("triu");
  derivatives.define<tril_of>("tril_");
  derivatives.define<triu_of>("triu_");
  derivatives.define<cat_along>("cat");
  derivatives.define<stack_along>("stack");
  derivatives.define<repeat_by>("repeat");
  derivatives.define<roll_by>("roll");
  derivatives.define<rot90_by>("rot90");
  derivatives.define<pad_by>("constant_pad_nd");
  derivatives.define<trace_of>("trace");
  derivatives.define<diag_embed_at>("diag_embed");
  derivatives.define<narrow_copy_of>("narrow_copy");
  derivatives.define<combinations_of>("combinations").named("IndexBackward0");
  derivatives.define<repeat_interleave_by>("repeat_interleave.self_int");
}

}  // namespace mindtorch::autograd
