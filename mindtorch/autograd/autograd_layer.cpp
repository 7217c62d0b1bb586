#include "mindtorch/autograd/autograd_layer.h"

#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/autograd/copy_slices.h"
#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/engine.h"
#include "mindtorch/autograd/pointwise_node.h"
#include "mindtorch/autograd/rule_node.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/dispatch/eager/eager.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/profiler/recorder.h"

namespace mindtorch::autograd {
namespace {

using dispatch::Layer;
using ops::Args;
using ops::Op;
using ops::OpForm;
using ops::OpKind;
using ops::Outputs;

bool any_requires_grad(Args args) {
  for (const ops::Value& value : args) {
    if (value.kind() == ops::ValueKind::kTensor) {
      if (requires_grad(value.tensor())) return true;
    } else if (value.kind() == ops::ValueKind::kTensorList) {
      for (const Tensor& tensor : value.tensor_list()) {
        if (tensor.defined() && requires_grad(tensor)) return true;
      }
    }
  }
  return false;
}

void run_below(const Op& op, Args args, Outputs& outputs) {
  dispatch::call_below(Layer::kAutograd, op, args, outputs);
}

bool writes_lists(const Op& op) {
  return op.writes_first() && op.schema.params[0].type == ops::ArgType::kTensorList;
}

// Refuses to write what autograd must keep.
void check_written(const Op& op, Args args, bool records) {
  if (op.form == OpForm::kOut) return;
  ops::each_tensor(op.written, args, [&](const Tensor& tensor) { check_inplace(tensor, records); });
}

// What every node remembers of the moment it was made.
void note_call(Node& node) {
  if (MT_UNLIKELY(AnomalyMode::enabled()) && AnomalyMode::capture != nullptr) {
    node.call_site = AnomalyMode::capture();
  }
}

void record_pointwise(const Op& op, Args args, Outputs& outputs) {
  const Op& base = op.base != nullptr ? *op.base : op;
  const bool in_place = op.form == OpForm::kInplace;
  const ops::PointwiseCall call = base.resolve(args);
  if (!is_differentiable(in_place ? args[0].tensor().dtype() : call.result)) {
    return dispatch::run_eager(op, args, call, outputs);
  }
  int written = -1;
  for (int i = 0; in_place && i < call.count; ++i) {
    if (call.operands[i] == &args[0].tensor()) written = i;
  }
  auto* node = new PointwiseNode(op, args, call, written);
  const NodePtr owned = NodePtr::adopt(node);
  dispatch::run_eager(op, args, call, outputs);
  const Tensor& result = outputs.tensors[0];
  note_call(*node);
  if (in_place) {
    rebase_history(result, owned, static_cast<size_t>(written));
  } else {
    add_output(result, owned);
  }
  node->save_result(result);
}

void record_rule(const Op& op, Args args, Outputs& outputs) {
  const Op& base = op.base != nullptr ? *op.base : op;
  const bool in_place = op.writes_first();
  auto* node = new RuleNode(base, *base.backward, args, in_place);
  const NodePtr owned = NodePtr::adopt(node);
  {
    const dispatch::SkipLayer skip(Layer::kAutograd);
    run_below(op, args, outputs);
  }
  // An op that had nothing to do gives its argument back.
  if (outputs.tensors.empty() || (!in_place && outputs.tensors[0].is_same(args[0].tensor()))) {
    return;
  }
  note_call(*node);
  if (in_place) {
    rebase_history(outputs.tensors[0], owned, 0);
  } else {
    for (const Tensor& output : outputs.tensors) {
      if (is_differentiable(output.dtype())) {
        add_output(output, owned);
      } else {
        node->add_output(output);
      }
    }
  }
  node->save_outputs({outputs.tensors.data(), outputs.tensors.size()});
}

// A view without a rule: where its elements lie is all there is to know.
void record_view(const Op& op, Args args, Outputs& outputs) {
  run_below(op, args, outputs);
  const Tensor& self = args[0].tensor();
  const Tensor& view = outputs.tensors[0];
  if (!is_differentiable(view.dtype())) return;
  MT_CHECK(real_dtype(view.dtype()) == real_dtype(self.dtype()), RuntimeError,
           "derivative for aten::", op.schema.full_name(), " is not implemented");
  const auto node = NodePtr::adopt(
      new AsStridedBackward(ViewGeometry(*self.impl()), gradient_edge(self), *view.impl()));
  note_call(*node);
  add_output(view, node);
}

void record_not_implemented(const Op& op, Args args, Outputs& outputs) {
  run_below(op, args, outputs);
  for (const Tensor& output : outputs.tensors) {
    if (!is_differentiable(output.dtype())) continue;
    const auto node = NodePtr::adopt(new NotImplementedNode(op, args));
    if (op.writes_first()) {
      rebase_history(output, node, 0);
    } else {
      add_output(output, node);
    }
  }
}

// An in-place form of an op that is made of others: the op, then a copy.
void record_composite_in_place(const Op& op, Args args, Outputs& outputs) {
  Outputs made;
  dispatch::call(*op.base, args, made);
  const Tensor& self = args[0].tensor();
  outputs.tensors.push_back(copy_(self, made.tensors[0]));
}

// An op made of others that writes its first argument. Its parts are recorded; a new look of the
// same memory (t_) is not one of them.
void record_composite_mutation(const Op& op, Args args, Outputs& outputs) {
  const Tensor& self = args[0].tensor();
  ViewGeometry before(*self.impl());
  Edge edge = gradient_edge(self);
  run_below(op, args, outputs);
  const TensorImpl& after = *self.impl();
  if (after.sizes == before.sizes && after.strides == before.strides &&
      after.offset == before.offset) {
    return;
  }
  if (edge) reshape_history(self, std::move(before), std::move(edge));
}

// New tensors are marked; views of normal tensors stay normal ones.
void run_inference(const Op& op, Args args, Outputs& outputs) {
  const Op& base = op.base != nullptr ? *op.base : op;
  check_written(op, args, false);
  run_below(op, args, outputs);
  if (base.kind == OpKind::kComposite || op.writes_first() || op.form == OpForm::kOut) return;
  for (const Tensor& output : outputs.tensors) {
    if (base.kind == OpKind::kView && !args[0].tensor().impl()->is_inference) continue;
    output.impl()->is_inference = true;
    output.impl()->layers |= kLayerBit;  // writes outside of the mode are refused
  }
}

void run_autograd(const Op& op, Args args, Outputs& outputs) {
  if (MT_UNLIKELY(is_inference_mode())) return run_inference(op, args, outputs);
  const bool records = any_requires_grad(args);
  check_written(op, args, records);
  if (!records) return run_below(op, args, outputs);
  const Op& base = op.base != nullptr ? *op.base : op;
  if (op.form == OpForm::kOut) {
    MT_THROW(RuntimeError, base.schema.name,
             "(): functions with out=... arguments don't support automatic differentiation, but "
             "one of the arguments requires grad.");
  }
  if (base.backward != nullptr) return record_rule(op, args, outputs);
  if (!base.differentiable) return run_below(op, args, outputs);
  switch (base.kind) {
    case OpKind::kPointwise:
      return record_pointwise(op, args, outputs);
    case OpKind::kComposite:
      if (op.form == OpForm::kInplace) return record_composite_in_place(op, args, outputs);
      if (op.writes_first() && !writes_lists(op))
        return record_composite_mutation(op, args, outputs);
      return run_below(op, args, outputs);
    case OpKind::kView:
      return record_view(op, args, outputs);
    default:
      return record_not_implemented(op, args, outputs);
  }
}

}  // namespace

void install(ops::Registry& registry) {
  Derivatives derivatives(registry);
  define_derivatives(derivatives);
  dispatch::install_layer(Layer::kAutograd, &run_autograd);
  dispatch::install_view_marks(&mark_view);
  profiler::hooks().next_sequence = &coming_sequence;
}

}  // namespace mindtorch::autograd
