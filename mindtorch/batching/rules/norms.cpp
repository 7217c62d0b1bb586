// Normalisation of the last dims, or of groups of channels.
#include "mindtorch/batching/rule.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

using ops::Outputs;
using ops::ValueKind;

// layer_norm and rms_norm: `weight` and `bias` are arguments that may be None.
void normalise(Call& call, std::initializer_list<size_t> scales) {
  bool differ = false;
  for (const size_t i : scales) differ |= call.is_batched(i);
  NewArguments args(call.args);
  args.set(0, call.expanded(0));
  for (const size_t i : scales) {
    if (differ) args.set(i, Tensor());
  }
  Outputs made;
  dispatch::call(call.op, args.get(), made);
  Tensor result = made.tensors[0];
  if (differ) {
    // By ops on samples, which broadcast.
    Tensor shown = call.shown(result);
    size_t number = 0;
    for (const size_t i : scales) {
      const bool is_weight = number++ == 0;
      if (!call.tensor(i).defined()) continue;
      shown = is_weight ? mul(shown, call.tensor(i)) : add(shown, call.tensor(i));
    }
    call.give_same(shown);
  } else {
    call.give(result);
  }
  for (size_t i = 1; i < made.tensors.size(); ++i) call.give(made.tensors[i]);
}

void layer_norm(Call& call) { normalise(call, {2, 3}); }
void rms_norm(Call& call) { normalise(call, {2}); }

// Gradients of weights are sums over all but the normalised dims, of each sample by itself. Without
// them the weight is part of the gradient that comes in.
template <size_t kWeight, size_t kNeedsInput>
void normalise_backward(Call& call) {
  const bool needs_input = call.args[kNeedsInput].to_bool();
  const size_t outputs = call.op.schema.returns.size();
  const Tensor& weight = call.tensor(kWeight);
  const Tensor& grad = call.tensor(0);
  const auto normalized = static_cast<int64_t>(call.args[2].int_list().size());
  Tensor grad_input;
  if (needs_input) {
    NewArguments args(call.args);
    const Tensor scaled = weight.defined() ? mul(grad, weight) : grad;
    args.set(0, call.expanded(scaled));
    args.set(kWeight, Tensor());
    for (const size_t i : {size_t{1}, size_t{3}}) args.set(i, call.expanded(i));
    if (outputs == 3) args.set(4, call.expanded(4));
    for (size_t i = kNeedsInput + 1; i < call.args.size(); ++i) args.set_bool(i, false);
    Outputs made;
    dispatch::call(call.op, args.get(), made);
    grad_input = call.shown(made.tensors[0]);
  }
  call.give_same(grad_input);
  Shape summed;
  for (int64_t d = 0; d < grad.dim() - normalized; ++d) summed.push_back(d);
  const auto sum_rows = [&](const Tensor& rows) {
    return summed.empty() ? rows : sum(rows, IntList(summed));
  };
  const bool needs_weight = call.args[kNeedsInput + 1].to_bool();
  const Tensor& rstd = call.tensor(outputs == 3 ? 4 : 3);
  const Tensor centered =
      outputs == 3 && needs_weight ? sub(call.tensor(1), call.tensor(3)) : call.tensor(1);
  call.give_same(needs_weight ? sum_rows(mul(grad, mul(centered, rstd))) : Tensor());
  if (outputs == 3) {
    call.give_same(call.args[kNeedsInput + 2].to_bool() ? sum_rows(grad) : Tensor());
  }
}

// Samples are more images; weights are those of channels, dim 1.
void group_norm(Call& call) {
  const bool differ = call.is_batched(1) || call.is_batched(2);
  const Tensor input = call.expanded(0);
  NewArguments args(call.args);
  args.set(0, contiguous(flatten(input, 0, 1)));
  args.set(3, call.args[3].to_int() * call.size());
  if (differ) {
    args.set(1, Tensor());
    args.set(2, Tensor());
  }
  Outputs made;
  dispatch::call(call.op, args.get(), made);
  const auto unfold = [&](const Tensor& result) {
    return call.shown(unflatten(result, 0, {call.size(), call.args[3].to_int()}));
  };
  Tensor result = unfold(made.tensors[0]);
  const auto per_channel = [&](size_t i) {
    Tensor value = call.tensor(i);
    for (int64_t d = 2; d < call.tensor(0).dim(); ++d) value = unsqueeze(value, -1);
    return value;
  };
  if (differ && call.tensor(1).defined()) result = mul(result, per_channel(1));
  if (differ && call.tensor(2).defined()) result = add(result, per_channel(2));
  call.give_same(result);
  for (size_t i = 1; i < made.tensors.size(); ++i) call.give_same(unfold(made.tensors[i]));
}

// Gradients of weights are sums over the images of each sample by itself.
void group_norm_backward(Call& call) {
  const Tensor& weight = call.tensor(4);
  const int64_t images = call.args[5].to_int();
  const int64_t groups = call.args[8].to_int();
  const Tensor& grad = call.tensor(0);
  const auto per_channel = [&](const Tensor& values) {
    Tensor shown = values;
    for (int64_t d = 2; d < grad.dim(); ++d) shown = unsqueeze(shown, -1);
    return shown;
  };
  Tensor grad_input;
  if (call.args[9].to_bool()) {
    NewArguments args(call.args);
    const Tensor scaled = weight.defined() ? mul(grad, per_channel(weight)) : grad;
    args.set(0, contiguous(flatten(call.expanded(scaled), 0, 1)));
    for (const size_t i : {size_t{1}, size_t{2}, size_t{3}}) {
      args.set(i, contiguous(flatten(call.expanded(i), 0, 1)));
    }
    args.set(4, Tensor());
    args.set(5, images * call.size());
    args.set_bool(10, false);
    args.set_bool(11, false);
    Outputs made;
    dispatch::call(call.op, args.get(), made);
    grad_input = call.shown(unflatten(made.tensors[0], 0, {call.size(), images}));
  }
  call.give_same(grad_input);
  Shape summed = {0};
  for (int64_t d = 2; d < grad.dim(); ++d) summed.push_back(d);
  Tensor grad_weight;
  if (call.args[10].to_bool()) {
    // [images, groups, the rest], so that statistics of groups broadcast.
    const Tensor rows = reshape(call.tensor(1), {images, groups, -1});
    const Tensor normal =
        mul(sub(rows, unsqueeze(call.tensor(2), -1)), unsqueeze(call.tensor(3), -1));
    grad_weight = sum(mul(grad, reshape(normal, grad.sizes())), IntList(summed));
  }
  call.give_same(grad_weight);
  call.give_same(call.args[11].to_bool() ? sum(grad, IntList(summed)) : Tensor());
}

}  // namespace

void define_norms(Rules& rules) {
  rules.define("native_layer_norm", &layer_norm);
  rules.define("_fused_rms_norm", &rms_norm);
  rules.define("native_layer_norm_backward", &normalise_backward<5, 6>);
  rules.define("_fused_rms_norm_backward", &normalise_backward<4, 5>);
  rules.define("native_group_norm", &group_norm);
  rules.define("native_group_norm_backward", &group_norm_backward);
}

}  // namespace mindtorch::batching
