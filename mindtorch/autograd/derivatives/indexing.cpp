#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"
#include "mindtorch/functional/sparse.h"

namespace mindtorch::autograd {
namespace {

void index_at(Backward& b, const TensorMeta& self, TensorList indices) {
  const Tensor whole = zeros(self.sizes, b.grad().dtype(), b.grad().device());
  b.set(0, index_put(whole, indices, b.grad(), true));
}
void index_put_at(
    Backward& b, const TensorMeta&, TensorList indices, const TensorMeta& values, bool accumulate) {
  const Tensor& grad = b.grad();
  if (b.needs(0)) {
    const Tensor zero = zeros({}, grad.dtype(), grad.device());
    b.set(0, accumulate ? grad : index_put(grad, indices, zero, false));
  }
  if (b.needs(2)) b.set(2, _to_copy(index(grad, indices), values.dtype));
}

void index_select_at(Backward& b, const TensorMeta& self, int64_t dim, const Tensor& index) {
  if (self.dim() == 0) return b.set(0, reshape(b.grad(), self.sizes));
  b.set(0, index_add(zeros(self.sizes, b.grad().dtype(), b.grad().device()), dim, index, b.grad()));
}
void index_add_at(Backward& b,
                  const TensorMeta&,
                  int64_t dim,
                  const Tensor& index,
                  const TensorMeta& source,
                  const Scalar& alpha) {
  if (b.needs(0)) b.set(0, b.grad());
  if (!b.needs(3)) return;
  const Tensor picked = index_select(b.grad(), dim, index);
  b.set(3, mul(source.dim() == 0 ? reshape(picked, {}) : picked, alpha));
}
void index_copy_at(
    Backward& b, const TensorMeta&, int64_t dim, const Tensor& index, const TensorMeta& source) {
  if (b.needs(0)) b.set(0, index_fill(b.grad(), dim, index, Scalar(0)));
  if (!b.needs(3)) return;
  const Tensor picked = index_select(b.grad(), dim, index);
  b.set(3, source.dim() == 0 ? reshape(picked, {}) : picked);
}
void index_fill_at(
    Backward& b, const TensorMeta&, int64_t dim, const Tensor& index, const TensorMeta&) {
  if (b.needs(0)) b.set(0, index_fill(b.grad(), dim, index, Scalar(0)));
  if (b.needs(3)) b.set(3, sum(index_select(b.grad(), dim, index)));
}

// The coordinates of the elements that gather() takes, one column for each.
Tensor gathered_places(int64_t dim, const Tensor& index) {
  const int64_t rank = index.dim();
  if (rank == 0) return reshape(index, {1, 1});
  const int64_t along = dim < 0 ? dim + rank : dim;
  std::vector<Tensor> rows;
  for (int64_t d = 0; d < rank; ++d) {
    Tensor row = index;
    if (d != along) {
      Shape sizes(static_cast<size_t>(rank), 1);
      sizes[static_cast<size_t>(d)] = index.size(d);
      row = view(arange(Scalar(index.size(d)), DType::kInt64, index.device()), IntList(sizes));
      row = expand(row, index.sizes());
    }
    rows.push_back(reshape(row, {-1}));
  }
  return stack(rows);
}
void gather_at(
    Backward& b, const TensorMeta& self, int64_t dim, const Tensor& index, bool sparse_grad) {
  if (sparse_grad) {
    const Tensor places = _to_copy(gathered_places(dim, index), DType::kInt64);
    // A number has no coordinates, and gather() takes it as if it had one.
    const int64_t used = self.sizes.empty() ? 0 : places.size(0);
    return b.set(
        0, sparse_coo_tensor(narrow(places, 0, 0, used), reshape(b.grad(), {-1}), self.sizes));
  }
  const Tensor whole = zeros(self.sizes, b.grad().dtype(), b.grad().device());
  b.set(0, scatter_add(whole, dim, index, b.grad()));
}
void scatter_src(
    Backward& b, const TensorMeta&, int64_t dim, const Tensor& index, const TensorMeta& src) {
  if (b.needs(0)) b.set(0, scatter(b.grad(), dim, index, Scalar(0)));
  if (b.needs(3)) b.set(3, put_back(gather(b.grad(), dim, index), src));
}
void scatter_value(
    Backward& b, const TensorMeta&, int64_t dim, const Tensor& index, const Scalar&) {
  b.set(0, scatter(b.grad(), dim, index, Scalar(0)));
}
void scatter_add_at(
    Backward& b, const TensorMeta&, int64_t dim, const Tensor& index, const TensorMeta& src) {
  if (b.needs(0)) b.set(0, b.grad());
  if (b.needs(3)) b.set(3, put_back(gather(b.grad(), dim, index), src));
}

// Sums, means, products and extremes of what falls on each element.
void scatter_reduce_at(Backward& b,
                       const Tensor& self,
                       int64_t dim,
                       const Tensor& index,
                       const Tensor& src,
                       std::string_view reduce,
                       bool include_self,
                       const Tensor& result) {
  const Tensor& grad = b.grad();
  Tensor of_self;
  Tensor of_src;
  if (reduce == "sum") {
    of_self = grad;
    of_src = gather(grad, dim, index);
  } else if (reduce == "mean") {
    Tensor count = include_self ? ones_like(grad) : zeros_like(grad);
    count = scatter_add(count, dim, index, ones_like(src));
    count = masked_fill(count, eq(count, Scalar(0)), Scalar(1));
    of_self = div(grad, count);
    of_src = gather(div(grad, count), dim, index);
  } else if (reduce == "prod") {
    // Where one factor is 0, only that one has a gradient: the product of the others.
    const Tensor zero_src = eq(src, Scalar(0));
    const Tensor zero_self = eq(self, Scalar(0));
    Tensor zeros_there = include_self ? _to_copy(zero_self, grad.dtype()) : zeros_like(grad);
    zeros_there = scatter_add(zeros_there, dim, index, _to_copy(zero_src, grad.dtype()));
    const Tensor others =
        scatter_reduce(masked_fill(self, zero_self, Scalar(1)), dim, index,
                       masked_fill(src, zero_src, Scalar(1)), reduce, include_self);
    const Tensor single = eq(zeros_there, Scalar(1));
    const Tensor none = eq(zeros_there, Scalar(0));
    const Tensor nothing = zeros_like(grad);
    of_self = mul(grad, where(zero_self, where(single, others, nothing),
                              where(none, div(result, self), nothing)));
    const auto at = [&](const Tensor& x) { return gather(x, dim, index); };
    const Tensor src_nothing = zeros_like(src);
    of_src = mul(at(grad), where(zero_src, where(at(single), at(others), src_nothing),
                                 where(at(none), div(at(result), src), src_nothing)));
  } else {  // amax, amin: those equal to the result share
    const Tensor self_is = _to_copy(eq(self, result), grad.dtype());
    const Tensor src_is = _to_copy(eq(src, gather(result, dim, index)), grad.dtype());
    const Tensor count = scatter_add(self_is, dim, index, src_is);
    const Tensor share = div(grad, count);
    of_self = mul(self_is, share);
    of_src = mul(src_is, gather(share, dim, index));
  }
  if (b.needs(0)) {
    b.set(0, include_self ? of_self : scatter(of_self, dim, index, Scalar(0)));
  }
  if (b.needs(3)) b.set(3, put_back(of_src, TensorMeta(src)));
}

void take_at(Backward& b, const TensorMeta& self, const Tensor& index) {
  const Tensor whole = zeros(self.sizes, b.grad().dtype(), b.grad().device());
  b.set(0, put(whole, index, b.grad(), true));
}
void masked_select_at(Backward& b, const TensorMeta& self, const Tensor& mask) {
  const Tensor whole = zeros(self.sizes, b.grad().dtype(), b.grad().device());
  b.set(0, masked_scatter(whole, mask, b.grad()));
}

// A sparse gradient: the rows that were looked up, each as often as it was.
Tensor looked_up_rows(const Tensor& grad,
                      const TensorMeta& weight,
                      const Tensor& indices,
                      int64_t padding_idx) {
  Tensor places = reshape(indices, {-1});
  Tensor rows = reshape(grad, {places.numel(), weight.sizes[1]});
  if (padding_idx >= 0) {
    const Tensor kept = squeeze(nonzero(ne(places, Scalar(padding_idx))), 1);
    places = index_select(places, 0, kept);
    rows = index_select(rows, 0, kept);
  }
  if (places.dtype() != DType::kInt64) places = _to_copy(places, DType::kInt64);
  return sparse_coo_tensor(unsqueeze(places, 0), rows, weight.sizes);
}
// Every row of a bag gets the bag's gradient, or its share of it.
void embedding_bag_rows(Backward& b,
                        const TensorMeta& weight,
                        const Tensor& indices,
                        bool is_mean) {
  const int64_t bags = indices.size(0);
  const int64_t length = indices.size(1);
  const Tensor own = is_mean && length > 1 ? div(b.grad(), Scalar(length)) : b.grad();
  const Tensor rows = expand(unsqueeze(own, 1), {bags, length, weight.sizes[1]});
  if (!is_grad_enabled()) {
    return b.set(0, embedding_dense_backward(rows, indices, weight.sizes[0], -1, false));
  }
  const Tensor whole = zeros(weight.sizes, rows.dtype(), rows.device());
  b.set(0, index_add(whole, 0, _to_copy(reshape(indices, {-1}), DType::kInt64),
                     reshape(rows, {bags * length, weight.sizes[1]})));
}
// Rows that several indices name get the sum; padding_idx gets nothing.
void embedding_rows(Backward& b,
                    const TensorMeta& weight,
                    const Tensor& indices,
                    int64_t padding_idx,
                    bool scale_grad_by_freq,
                    bool sparse) {
  if (sparse) {
    MT_CHECK(!scale_grad_by_freq, RuntimeError,
             "embedding_backward: scale_grad_by_freq not supported with sparse gradients");
    return b.set(0, looked_up_rows(b.grad(), weight, indices, padding_idx));
  }
  if (!is_grad_enabled()) {
    return b.set(0, embedding_dense_backward(b.grad(), indices, weight.sizes[0], padding_idx,
                                             scale_grad_by_freq));
  }
  const Tensor flat = reshape(indices, {-1});
  Tensor rows = reshape(b.grad(), {flat.numel(), weight.sizes[1]});
  const Tensor places = _to_copy(flat, DType::kInt64);
  if (padding_idx >= 0) {
    rows = masked_fill(rows, unsqueeze(eq(flat, Scalar(padding_idx)), 1), Scalar(0));
  }
  if (scale_grad_by_freq) {
    const Tensor one = ones({flat.numel()}, rows.dtype(), rows.device());
    const Tensor counts =
        index_add(zeros({weight.sizes[0]}, rows.dtype(), rows.device()), 0, places, one);
    rows = div(rows, unsqueeze(index_select(counts, 0, places), 1));
  }
  const Tensor whole = zeros(weight.sizes, rows.dtype(), rows.device());
  b.set(0, index_add(whole, 0, places, rows));
}

}  // namespace

void define_indexing(Derivatives& derivatives) {
  derivatives.define<index_at>("_index").named("IndexBackward0");
  derivatives.define<index_put_at>("_index_put_").named("IndexPutBackward0");
  derivatives.define<index_select_at>("index_select");
  derivatives.define<index_add_at>("index_add_");
  derivatives.define<index_copy_at>("index_copy_");
  derivatives.define<index_fill_at>("index_fill_");
  derivatives.define<gather_at>("gather");
  derivatives.define<scatter_src>("scatter_.src");
  derivatives.define<scatter_value>("scatter_.value").named("ScatterBackward1");
  derivatives.define<scatter_add_at>("scatter_add_");
  derivatives.define<scatter_reduce_at>("scatter_reduce_.two");
  derivatives.define<take_at>("take");
  derivatives.define<masked_select_at>("_masked_select").named("MaskedSelectBackward0");
  derivatives.define<embedding_rows>("embedding");
  derivatives.define<embedding_bag_rows>("_rows_of_bags").named("EmbeddingBagBackward0");
}

}  // namespace mindtorch::autograd
