// Losses that read classes: the rows of all samples as the rows of one.
#include "mindtorch/batching/rule.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

enum Reduction : int64_t { kNone, kMean, kSum };

// [rows, classes, ...] of a sample that may be one row.
struct Rows {
  Tensor self;
  Tensor target;
};
Rows read_rows(const Call& call, size_t self, int64_t row_rank) {
  const bool is_one = call.tensor(self).dim() < row_rank;
  Rows rows = {call.expanded(self), call.expanded(self + 1)};
  if (is_one) {
    rows.self = unsqueeze(rows.self, 1);
    rows.target = unsqueeze(rows.target, 1);
  }
  return rows;
}

// The weight of each row's class, 0 for rows that are ignored.
Tensor row_weights(const Rows& rows, const Tensor& weight, int64_t ignore_index, int64_t level) {
  const Tensor counts = ne(rows.target, Scalar(ignore_index));
  if (!weight.defined()) return _to_copy(counts, rows.self.dtype());
  const Tensor classes = mul(rows.target, counts);
  Tensor picked;
  if (level_of(weight) == level) {
    const Tensor flat = reshape(classes, {classes.size(0), -1});
    picked = view(gather(with_batch_dim(weight, level), 1, flat), classes.sizes());
  } else {
    picked = view(index_select(weight, 0, flatten(classes)), classes.sizes());
  }
  return mul(picked, counts);
}

// nll_loss of rows of numbers, and of images of rows: the classes are dim 1 of a sample.
template <int64_t kRowRank>
void nll_loss_forward(Call& call) {
  const Rows rows = read_rows(call, 0, kRowRank);
  const bool is_one = call.tensor(0).dim() < kRowRank;
  const int64_t reduction = call.args[3].to_int();
  const Tensor weights = row_weights(rows, call.tensor(2), call.args[4].to_int(), call.level);
  const Tensor classes = mul(rows.target, ne(rows.target, Scalar(call.args[4].to_int())));
  const Tensor picked = squeeze(gather(rows.self, 2, unsqueeze(classes, 2)), 2);
  // What is ignored may hold anything.
  const Tensor losses =
      neg(where(eq(weights, Scalar(0)), zeros_like(picked), mul(picked, weights)));
  Tensor loss = losses;
  Tensor total = zeros({call.size()}, weights.dtype(), weights.device());
  if (reduction == kNone) {
    if (is_one) loss = squeeze(loss, 1);
  } else {
    loss = sum(reshape(losses, {call.size(), -1}), IntList({1}));
    total = sum(reshape(weights, {call.size(), -1}), IntList({1}));
    if (reduction == kMean) loss = div(loss, total);
  }
  call.give(loss);
  call.give(detach(total));
}

template <int64_t kRowRank>
void nll_loss_backward(Call& call) {
  const Rows rows = read_rows(call, 1, kRowRank);
  const bool is_one = call.tensor(1).dim() < kRowRank;
  const int64_t reduction = call.args[4].to_int();
  const Tensor weights = row_weights(rows, call.tensor(3), call.args[5].to_int(), call.level);
  Tensor grad = call.expanded(0);
  if (reduction == kMean) grad = div(grad, call.expanded(6));
  if (is_one && reduction == kNone) grad = unsqueeze(grad, 1);
  while (grad.dim() < weights.dim()) grad = unsqueeze(grad, -1);
  const Tensor classes = mul(rows.target, ne(rows.target, Scalar(call.args[5].to_int())));
  const Tensor values = neg(mul(grad, weights));
  const Tensor whole = zeros(rows.self.sizes(), values.dtype(), values.device());
  const Tensor result = scatter_add(whole, 2, unsqueeze(classes, 2), unsqueeze(values, 2));
  call.give(is_one ? squeeze(result, 1) : result);
}

}  // namespace

void define_losses(Rules& rules) {
  rules.define("nll_loss_forward", &nll_loss_forward<2>);
  rules.define("nll_loss_backward", &nll_loss_backward<2>);
  rules.define("nll_loss2d_forward", &nll_loss_forward<4>);
  rules.define("nll_loss2d_backward", &nll_loss_backward<4>);
}

}  // namespace mindtorch::batching
