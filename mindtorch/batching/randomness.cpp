#include "mindtorch/batching/randomness.h"

#include "mindtorch/batching/rule.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

using ops::Args;
using ops::Op;
using ops::OpKind;
using ops::Outputs;

constexpr const char* kRefused =
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap";

constexpr const char* kSameRefused =
    "Vmap does not currently support same randomness with a batched tensor input. Please file an "
    "issue with functorch";

// normal_ and its like.
void fill_randomly(Call& call, Randomness randomness) {
  if (!call.is_batched(0)) {
    MT_CHECK(randomness == Randomness::kSame, RuntimeError,
             "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
             "appear like same randomness. If this is necessary for your usage, please file an "
             "issue with functorch.");
    return dispatch::call(call.op, call.args, call.outputs);
  }
  const Tensor self = call.value(0);
  NewArguments args(call.args);
  Outputs made;
  if (randomness == Randomness::kDifferent) {
    args.set(0, self);
    for (size_t i = 1; i < call.args.size(); ++i) {
      if (call.args[i].kind() != ops::ValueKind::kTensor) continue;
      Tensor value = call.value(i);  // bernoulli_'s probabilities are broadcast
      while (call.is_batched(i) && value.dim() < self.dim()) value = unsqueeze(value, 1);
      args.set(i, value);
    }
    dispatch::call(call.op, args.get(), made);
  } else {
    for (size_t i = 1; i < call.args.size(); ++i) {
      MT_CHECK(!call.is_batched(i), RuntimeError, kSameRefused);
    }
    args.set(0, empty(call.tensor(0).sizes(), self.dtype(), self.device()));
    dispatch::call(call.op, args.get(), made);
    copy_(self, made.tensors[0]);
  }
  call.give_same(call.tensor(0));
}

// randn and its like: tensors of numbers that are all independent.
void draw(Call& call, size_t size_param) {
  NewArguments args(call.args);
  Shape sizes = {call.size()};
  for (const int64_t size : call.args[size_param].int_list()) sizes.push_back(size);
  args.set(size_param, std::move(sizes));
  Outputs made;
  dispatch::call(call.op, args.get(), made);
  call.give(made.tensors[0]);
}

// randperm and its like: one call for each sample.
void draw_each(Call& call) {
  std::vector<Tensor> samples;
  for (int64_t i = 0; i < call.size(); ++i) {
    NewArguments args(call.args);
    for (size_t k = 0; k < call.args.size(); ++k) {
      if (call.args[k].kind() != ops::ValueKind::kTensor) continue;
      args.set(k, call.is_batched(k) ? select(call.value(k), 0, i) : call.tensor(k));
    }
    Outputs made;
    dispatch::call(call.op, args.get(), made);
    samples.push_back(made.tensors[0]);
  }
  call.give(stack(samples, 0));
}

// poisson and its like, which draw for each element, or row, of their arguments.
bool is_elementwise(const Op& op) {
  return op.schema.params[0].type == ops::ArgType::kTensor && op.schema.name != "multinomial";
}
void draw_elements(Call& call) {
  NewArguments args(call.args);
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i].kind() == ops::ValueKind::kTensor) args.set(i, call.expanded(i));
  }
  Outputs made;
  dispatch::call(call.op, args.get(), made);
  call.give(made.tensors[0]);
}

bool has_batched(const Call& call) {
  for (const ops::Value& value : call.args) {
    if (value.kind() == ops::ValueKind::kTensor && call.is_batched(value.tensor())) return true;
  }
  return false;
}

}  // namespace

bool run_random(const Op& op, Args args, Outputs& outputs, int64_t level) {
  const int64_t current = current_level();
  if (!op.random || current == 0 || level > current) return false;
  const Randomness randomness = levels()[static_cast<size_t>(current) - 1].randomness;
  Call call(op, args, outputs, current);
  if (op.kind == OpKind::kComposite) {  // whether it draws at all is for its parts to say
    if (randomness != Randomness::kDifferent || has_batched(call)) return false;
    batch_all(call);
    return true;
  }
  MT_CHECK(randomness != Randomness::kError, RuntimeError, kRefused);
  const LevelGuard below(current - 1);
  if (op.writes_first()) {
    fill_randomly(call, randomness);
    return true;
  }
  if (randomness == Randomness::kSame) {
    MT_CHECK(!has_batched(call), RuntimeError, kSameRefused);
    dispatch::call(op, args, outputs);
    return true;
  }
  for (size_t i = 0; i < op.schema.params.size(); ++i) {
    if (op.schema.params[i].name != "size") continue;
    draw(call, i);
    return true;
  }
  if (is_elementwise(op)) {
    draw_elements(call);
  } else {
    draw_each(call);
  }
  return true;
}

}  // namespace mindtorch::batching
