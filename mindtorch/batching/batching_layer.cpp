#include "mindtorch/batching/batching_layer.h"

#include <unordered_map>

#include "mindtorch/base/warning.h"
#include "mindtorch/batching/randomness.h"
#include "mindtorch/batching/rule.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/dispatch/eager/eager.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

using dispatch::Layer;
using ops::Args;
using ops::Op;
using ops::OpForm;
using ops::OpKind;
using ops::Outputs;
using ops::Value;
using ops::ValueKind;

std::unordered_map<const Op*, Rule>& rules() {
  static auto& all = *new std::unordered_map<const Op*, Rule>;
  return all;
}

// The highest level at which an argument is batched; 0 where none is.
int64_t highest_level(Args args) {
  int64_t level = 0;
  for (const Value& value : args) {
    if (value.kind() == ValueKind::kTensor) {
      level = std::max(level, level_of(value.tensor()));
    } else if (value.kind() == ValueKind::kTensorList) {
      for (const Tensor& tensor : value.tensor_list()) {
        if (tensor.defined()) level = std::max(level, level_of(tensor));
      }
    }
  }
  return level;
}

[[noreturn]] void refuse_item() {
  MT_THROW(RuntimeError,
           "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over "
           "calling .item() on a Tensor, please try to rewrite what you're doing with other "
           "operations. If error is occurring somewhere inside PyTorch internals, please file a "
           "bug report.");
}

// add_ of what is no pointwise op: the op, then a copy.
void run_in_place(Call& call) {
  check_written(call);
  Outputs made;
  dispatch::call(*call.op.base, call.args, made);
  call.give_same(copy_(call.tensor(0), made.tensors[0]));
}

// index_add of index_add_: works on a copy.
void run_on_copy(Call& call) {
  NewArguments args(call.args);
  args.set(0, call.shown(clone(call.expanded(0), MemoryFormat::kContiguous)));
  dispatch::call(*call.op.base, args.get(), call.outputs);
}

void run_call(Call& call) {
  const Op& op = call.op;
  const Op& base = op.base != nullptr ? *op.base : op;
  MT_CHECK(op.form != OpForm::kOut, RuntimeError,
           "Batching rule not implemented for aten::", op.schema.full_name(),
           "; the fallback path doesn't work on out= or view ops.");
  if (const Rule* const rule = find_rule(op)) return (*rule)(call);
  if (op.names_dims) return shift_dims(call);
  if (base.kind == OpKind::kPointwise) return align_operands(call);
  if (op.form == OpForm::kInplace) return run_in_place(call);
  if (op.form == OpForm::kFunctional) return run_on_copy(call);
  switch (op.kind) {
    case OpKind::kComposite:
      return dispatch::run_eager(op, call.args, call.outputs);
    case OpKind::kDynamic:
      if (op.schema.returns[0].type != ops::ReturnType::kTensor) refuse_item();
      return refuse_dynamic(call);
    default:
      return run_samples(call);
  }
}

void run_batching(const Op& op, Args args, Outputs& outputs) {
  const int64_t level = highest_level(args);
  if (run_random(op, args, outputs, level)) return;
  if (level == 0) return dispatch::call_below(Layer::kBatching, op, args, outputs);
  MT_CHECK(level <= static_cast<int64_t>(levels().size()), RuntimeError,
           "a sample of a batch was used outside of the vmap that it belongs to (in ",
           op.schema.name, ")");
  Call call(op, args, outputs, level);
  // The parts of an op that is made of others are ops of this level.
  if (op.kind == OpKind::kComposite ||
      (op.base != nullptr && op.base->kind == OpKind::kComposite)) {
    return run_call(call);
  }
  const LevelGuard below(std::min(current_level(), level - 1));
  const dispatch::SkipLayer skip(Layer::kAutocast);
  run_call(call);
}

}  // namespace

void Rules::define(std::string_view op, Rule rule) { rules()[&registry_.at(op)] = rule; }

const Rule* find_rule(const Op& op) {
  const auto found = rules().find(&op);
  return found == rules().end() ? nullptr : &found->second;
}

void check_written(const Call& call) {
  MT_CHECK(call.is_batched(0), RuntimeError,
           "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a "
           "Tensor `other` in extra_args that has more elements than `self`. This happened due to "
           "`other` being vmapped over but `self` not being vmapped over in a vmap. Please try to "
           "use out-of-place operators instead of inplace arithmetic. If said operator is being "
           "called inside the PyTorch framework, please file a bug report instead.");
}

void refuse_dynamic(const Call& call) {
  MT_THROW(RuntimeError,
           "vmap: We do not support batching operators that can output dynamic shape. Attempted to "
           "vmap over aten::",
           call.op.schema.full_name(),
           ". Please file an issue at https://github.com/pytorch/pytorch/issues if you need this "
           "feature.");
}

namespace {

void batch_arguments(Call& call, size_t count) {
  NewArguments args(call.args);
  for (size_t i = 0; i < count; ++i) {
    const Value& value = call.args[i];
    if (value.kind() == ValueKind::kTensor && !value.tensor().is_wrapped_number()) {
      // In order: what copies strides, too, cannot know of the batch dim.
      args.set(i, call.shown(contiguous(call.expanded(i))));
    } else if (value.kind() == ValueKind::kTensorList) {
      std::vector<Tensor> list;
      for (const Tensor& tensor : value.tensor_list()) {
        list.push_back(tensor.defined() ? call.shown(call.expanded(tensor)) : tensor);
      }
      args.set(i, std::move(list));
    }
  }
  dispatch::run_eager(call.op, args.get(), call.outputs);
}

}  // namespace

void batch_first(Call& call) { batch_arguments(call, 1); }
void batch_all(Call& call) { batch_arguments(call, call.args.size()); }

void run_samples(Call& call) {
  const Op& op = call.op;
  MT_CHECK(call.size() > 0, RuntimeError,
           "Batching rule not implemented for aten::", op.schema.full_name(),
           ". The fallback path does not support vmap over dims of size 0.");
  if (op.writes_first()) check_written(call);
  warn(
      "There is a performance drop because we have not yet implemented the batching rule for "
      "aten::" +
      op.schema.full_name() +
      ". Please file us an issue on GitHub so that we can prioritize its implementation.");
  std::vector<std::vector<Tensor>> results;
  for (int64_t sample = 0; sample < call.size(); ++sample) {
    const auto take = [&](const Tensor& tensor) {
      return call.is_batched(tensor) ? select(call.value(tensor), 0, sample) : tensor;
    };
    NewArguments args(call.args);
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (call.args[i].kind() == ValueKind::kTensor) {
        args.set(i, take(call.tensor(i)));
      } else if (call.args[i].kind() == ValueKind::kTensorList) {
        std::vector<Tensor> list;
        for (const Tensor& tensor : call.args[i].tensor_list()) list.push_back(take(tensor));
        args.set(i, std::move(list));
      }
    }
    Outputs made;
    dispatch::call(op, args.get(), made);
    results.resize(made.tensors.size());
    for (size_t i = 0; i < made.tensors.size(); ++i) results[i].push_back(made.tensors[i]);
  }
  if (op.writes_first()) return call.give_same(call.tensor(0));
  for (const std::vector<Tensor>& samples : results) call.give(stack(samples, 0));
}

void install(ops::Registry& registry) {
  Rules rules(registry);
  define_views(rules);
  define_dims(rules);
  define_creation(rules);
  define_random(rules);
  define_matmul(rules);
  define_sparse(rules);
  define_indexing(rules);
  define_convolution(rules);
  define_norms(rules);
  define_losses(rules);
  define_linalg(rules);
  dispatch::install_layer(Layer::kBatching, &run_batching);
}

}  // namespace mindtorch::batching
