// Ops that take tensors of indices.
#include "mindtorch/batching/rule.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

using ops::Outputs;

// 0, 1, ... for the samples, shaped to broadcast with tensors of `rank` dims behind the batch dim.
Tensor sample_numbers(const Call& call, int64_t rank, Device device) {
  Shape sizes(static_cast<size_t>(rank) + 1, 1);
  sizes[0] = call.size();
  return view(arange(Scalar(call.size()), DType::kInt64, device), sizes);
}

// A 1-dim index, or one number, for each sample in the shape of `like`, along `dim`.
Tensor spread_index(const Call& call, const Tensor& index, int64_t dim, IntList like) {
  Tensor value = call.value(index);
  if (index.dim() == 0) value = unsqueeze(value, call.is_batched(index) ? 1 : 0);
  Shape sizes(like.size(), 1);
  sizes[0] = call.is_batched(index) ? call.size() : 1;
  sizes[static_cast<size_t>(dim)] = value.size(-1);
  Shape wanted(like.begin(), like.end());
  wanted[static_cast<size_t>(dim)] = value.size(-1);
  return expand(reshape(value, sizes), wanted);
}

// A tensor of at least one dim.
Tensor at_least_vector(const Call& call, size_t i) {
  const Tensor value = call.expanded(i);
  return call.tensor(i).dim() == 0 ? unsqueeze(value, 1) : value;
}

void index_select(Call& call) {
  const int64_t dim = wrap_dim(call.args[1].to_int(), call.tensor(0).dim()) + 1;
  const Tensor self = at_least_vector(call, 0);
  Tensor result = call.is_batched(2)
                      ? gather(self, dim, spread_index(call, call.tensor(2), dim, self.sizes()))
                      : mindtorch::index_select(self, dim, call.tensor(2));
  call.give(call.tensor(0).dim() == 0 ? squeeze(result, 1) : result);
}

// index_add_, index_copy_ and index_fill_. Where indices differ between samples they scatter.
void write_index(Call& call) {
  check_written(call);
  const int64_t dim = wrap_dim(call.args[1].to_int(), call.tensor(0).dim()) + 1;
  const Tensor self = at_least_vector(call, 0);
  const std::string& name = call.op.schema.name;
  const bool fills = name == "index_fill_";
  if (!call.is_batched(2)) {
    if (fills && call.is_batched(3)) return run_samples(call);
    NewArguments args(call.args);
    args.set(0, self);
    args.set(1, dim);
    if (!fills) args.set(3, at_least_vector(call, 3));
    Outputs made;
    dispatch::call(call.op, args.get(), made);
    return call.give_same(call.tensor(0));
  }
  if (fills) {
    const Tensor index = spread_index(call, call.tensor(2), dim, self.sizes());
    Tensor value = call.value(3);
    if (call.is_batched(3)) {
      Shape sizes(self.sizes().size(), 1);
      sizes[0] = call.size();
      value = view(value, sizes);
    }
    scatter_(self, dim, index, expand(_to_copy(value, self.dtype()), index.sizes()));
  } else {
    const Tensor source = at_least_vector(call, 3);
    const Tensor index = spread_index(call, call.tensor(2), dim, source.sizes());
    if (name == "index_add_") {
      const Scalar alpha = call.args[4].scalar();
      scatter_add_(self, dim, index, alpha.to_complex() == 1.0 ? source : mul(source, alpha));
    } else {
      scatter_(self, dim, index, source);
    }
  }
  call.give_same(call.tensor(0));
}

void take(Call& call) {
  const Tensor self = reshape(call.expanded(0), {call.size(), -1});
  const Tensor index = call.expanded(1);
  const Tensor places = remainder(reshape(index, {call.size(), -1}), Scalar(self.size(1)));
  call.give(view(gather(self, 1, places), index.sizes()));
}

// masked_fill takes one number for the whole tensor.
void masked_fill(Call& call) {
  if (!call.is_batched(2)) return align_operands(call);
  check_written(call);
  const Tensor& self = call.tensor(0);
  call.give_same(copy_(self, where(call.tensor(1), _to_copy(call.tensor(2), self.dtype()), self)));
}

// Note [Indices of samples]
// _index takes one index tensor per dim, all of one shape, which follow each other or do not: where
// they do, the dims of the indices stand in their place, otherwise in front of all others. The
// batch dim gets an index of its own where indices differ between samples, so that the dims of the
// indices, the batch dim first, stand in front, unless the indexed dims are the first anyway.
struct Indices {
  std::vector<Tensor> values;
  int64_t rank = 0;    // dims of an index of one sample
  int64_t first = -1;  // indexed dim
  bool adjacent = true;
  bool batched = false;
};

Indices read_indices(const Call& call, TensorList list) {
  Indices indices;
  int64_t last = -1;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].defined()) continue;
    const auto dim = static_cast<int64_t>(i);
    if (indices.first < 0) indices.first = dim;
    if (last >= 0 && last != dim - 1) indices.adjacent = false;
    last = dim;
    indices.rank = std::max(indices.rank, list[i].dim());
    indices.batched |= call.is_batched(list[i]);
  }
  indices.values.emplace_back();
  for (const Tensor& index : list) {
    const bool expands = indices.batched && index.defined();
    indices.values.push_back(expands ? contiguous(call.expanded(index)) : index);
  }
  return indices;
}

void index(Call& call) {
  Indices indices = read_indices(call, call.args[1].tensor_list());
  const Tensor self = call.expanded(0);
  if (indices.batched) {
    indices.values[0] = contiguous(expand(
        sample_numbers(call, indices.rank, self.device()),
        call.expanded(call.args[1].tensor_list()[static_cast<size_t>(indices.first)]).sizes()));
  }
  Tensor result = _index(self, indices.values);
  const int64_t before = indices.adjacent ? indices.first : 0;
  if (indices.batched) {
    // [samples, index dims, dims before, dims behind]
    for (int64_t i = 0; i < indices.rank && before > 0; ++i) {
      result = movedim(result, 1, indices.rank + before);
    }
  } else if (!indices.adjacent) {
    result = movedim(result, indices.rank, 0);  // [index dims, samples, ...]
  }
  call.give(result);
}

// The values to put, in the order of dims that they are put in.
Tensor spread_values(const Call& call, const Indices& indices, const Tensor& values, int64_t rank) {
  Tensor spread = call.value(values);
  if (!call.is_batched(values)) return spread;
  while (spread.dim() < rank + 1) spread = unsqueeze(spread, 1);
  if (indices.batched) {
    const int64_t before = indices.adjacent ? indices.first : 0;
    for (int64_t i = 0; i < before; ++i) spread = movedim(spread, 1, indices.rank + before);
  } else if (!indices.adjacent) {
    spread = movedim(spread, 0, indices.rank);
  }
  return spread;
}

void index_put(Call& call) {
  check_written(call);
  const TensorList list = call.args[1].tensor_list();
  Indices indices = read_indices(call, list);
  const Tensor self = call.value(0);
  int64_t count = 0;
  for (const Tensor& entry : list) count += entry.defined() ? 1 : 0;
  const int64_t rank = call.tensor(0).dim() - count + indices.rank;
  Tensor values = call.tensor(2);
  if (indices.batched) {
    indices.values[0] =
        contiguous(expand(sample_numbers(call, indices.rank, self.device()),
                          call.expanded(list[static_cast<size_t>(indices.first)]).sizes()));
  }
  if (indices.batched || !indices.adjacent) {
    // Their place depends on the batch dim: they have all dims.
    Tensor whole = call.expanded(values);
    while (whole.dim() < rank + 1) whole = unsqueeze(whole, 1);
    values = call.shown(whole);
  }
  _index_put_(self, indices.values, spread_values(call, indices, values, rank),
              call.args[3].to_bool());
  call.give_same(call.tensor(0));
}

void embedding(Call& call) {
  if (!call.is_batched(0)) {
    NewArguments args(call.args);
    args.set(1, call.value(1));
    Outputs made;
    dispatch::call(call.op, args.get(), made);
    return call.give(made.tensors[0]);
  }
  if (call.args[3].to_bool()) return run_samples(call);  // frequencies are those of a sample
  const Tensor weight = call.value(0);
  const Tensor indices = call.expanded(1);
  const int64_t rows = weight.size(1);
  const Tensor places =
      add(indices, mul(sample_numbers(call, indices.dim() - 1, indices.device()), Scalar(rows)));
  Tensor result = mindtorch::embedding(flatten(weight, 0, 1), places);
  if (const int64_t padding = call.args[2].to_int(); padding >= 0) {  // no gradient goes there
    result = where(unsqueeze(eq(indices, Scalar(padding)), -1), detach(result), result);
  }
  call.give(result);
}

void rows_of_bags(Call& call) {
  // Each sample has bounds of its own for its indices.
  if (call.is_batched(0)) return run_samples(call);
  const Tensor places = call.expanded(1);
  const Tensor made = _rows_of_bags(call.value(0), flatten(places, 0, 1), call.args[2].to_bool());
  call.give(unflatten(made, 0, {call.size(), places.size(1)}));
}

void embedding_dense_backward(Call& call) {
  if (call.args[4].to_bool()) return run_samples(call);
  const Tensor indices = call.expanded(1);
  const int64_t rows = call.args[2].to_int();
  Tensor grad = call.expanded(0);
  if (const int64_t padding = call.args[3].to_int(); padding >= 0) {
    grad = mindtorch::masked_fill(grad, unsqueeze(eq(indices, Scalar(padding)), -1), Scalar(0));
  }
  const Tensor places =
      add(indices, mul(sample_numbers(call, indices.dim() - 1, indices.device()), Scalar(rows)));
  const Tensor made =
      mindtorch::embedding_dense_backward(grad, places, rows * call.size(), -1, false);
  call.give(unflatten(made, 0, {call.size(), rows}));
}

}  // namespace

void define_indexing(Rules& rules) {
  rules.define("index_select", &index_select);
  rules.define({"index_add_", "index_copy_", "index_fill_"}, &write_index);
  rules.define("_masked_fill_", &masked_fill);
  rules.define("take", &take);
  rules.define("_index", &index);
  rules.define("_index_put_", &index_put);
  rules.define("embedding", &embedding);
  rules.define("_rows_of_bags", &rows_of_bags);
  rules.define("embedding_dense_backward", &embedding_dense_backward);
  rules.define({"masked_fill", "index_put", "masked_scatter", "put", "select_scatter",
                "slice_scatter", "diagonal_scatter", "block_diag"},
               &batch_first);
}

}  // namespace mindtorch::batching
