// Products with sparse matrices. The samples are the blocks on the diagonal of one large matrix.
#include "mindtorch/batching/rule.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

// The coordinates of each sample, moved to its block of `size` rows, in one list.
Tensor in_blocks(const Call& call, size_t i, int64_t size) {
  const Tensor samples = arange(Scalar(call.size()), DType::kInt64, call.tensor(i).device());
  const Tensor starts = unsqueeze(mul(samples, Scalar(size)), 1);
  return flatten(add(call.expanded(i), starts));
}
Tensor stacked(const Call& call, size_t i) { return flatten(call.expanded(i), 0, 1); }

void coo_mm(Call& call) {
  const Tensor& row = call.tensor(0);
  const Tensor& col = call.tensor(1);
  const Tensor& values = call.tensor(2);
  const Tensor& dense = call.tensor(3);
  const int64_t rows = call.args[4].to_int();
  if (dense.dim() != 2 || values.dim() != 1) return run_samples(call);
  if (!call.is_batched(0) && !call.is_batched(1) && !call.is_batched(2)) {
    // One matrix: the samples are columns beside each other.
    const Tensor beside = flatten(movedim(call.value(3), 0, 1), 1, 2);
    const Tensor made = _coo_mm(row, col, values, beside, rows);
    return call.give(movedim(unflatten(made, 1, {call.size(), dense.size(1)}), 1, 0));
  }
  const Tensor made = _coo_mm(in_blocks(call, 0, rows), in_blocks(call, 1, dense.size(0)),
                              stacked(call, 2), stacked(call, 3), rows * call.size());
  call.give(unflatten(made, 0, {call.size(), rows}));
}

void coo_dot(Call& call) {
  const Tensor& left = call.tensor(2);
  const Tensor& right = call.tensor(3);
  if (left.dim() != 2 || right.dim() != 2) return run_samples(call);
  const Tensor made = _coo_dot(in_blocks(call, 0, left.size(0)), in_blocks(call, 1, right.size(0)),
                               stacked(call, 2), stacked(call, 3));
  call.give(unflatten(made, 0, {call.size(), call.tensor(0).size(0)}));
}

}  // namespace

void define_sparse(Rules& rules) {
  rules.define("_coo_mm", &coo_mm);
  rules.define("_coo_dot", &coo_dot);
}

}  // namespace mindtorch::batching
