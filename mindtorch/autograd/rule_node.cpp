#include "mindtorch/autograd/rule_node.h"

#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/autograd/complex_gradient.h"
#include "mindtorch/autograd/node_names.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::autograd {
namespace {

// The tensors of an argument: one, a list, or none.
std::span<const Tensor> tensors_of(const ops::Value& value) {
  if (value.kind() == ops::ValueKind::kTensor) return {&value.tensor(), 1};
  if (value.kind() == ops::ValueKind::kTensorList) return value.tensor_list();
  return {};
}

bool is_tensor(ops::ArgType type) {
  return type == ops::ArgType::kTensor || type == ops::ArgType::kOperand;
}
bool is_list(ops::ArgType type) {
  return type == ops::ArgType::kTensorList || type == ops::ArgType::kOptionalTensorList;
}

bool is_column_major(const Tensor& x) {
  return x.dim() == 2 && x.strides()[0] == 1 && x.strides()[1] == x.sizes()[0] &&
         !x.is_contiguous();
}

}  // namespace

RuleNode::RuleNode(const ops::Op& op, const BackwardRule& rule, ops::Args args, bool in_place)
    : op_(op), rule_(rule) {
  const size_t count = rule.params.size();
  args_.resize(count);
  first_edge_.resize(count);
  kept_.resize(count + rule.outputs.size());
  uint32_t wanted = 0;
  for (size_t i = 0; i < count; ++i) {
    first_edge_[i] = static_cast<uint32_t>(next.size());
    const ops::ArgType type = op.schema.params[i].type;
    if (!is_tensor(type) && !is_list(type)) {
      args_[i] = dispatch::add_to(payload_, dispatch::encode(args[i]));
      continue;
    }
    const std::span<const Tensor> tensors = tensors_of(args[i]);
    for (const Tensor& tensor : tensors) {
      next.push_back(tensor.defined() ? gradient_edge(tensor) : Edge());
      if (!next.back()) continue;
      wanted |= 1u << i;
      if (is_column_major(tensor)) column_major_ |= 1u << i;
    }
    // None still has an edge of its own.
    if (tensors.empty() && is_tensor(type)) next.emplace_back();
  }
  for (size_t i = 0; i < count; ++i) {
    const BackwardRule::Param& param = rule.params[i];
    if (param.saves == Saves::kNothing) continue;
    if (param.saves == Saves::kTensor && (param.needed_for & wanted) == 0) continue;
    keep(i, tensors_of(args[i]), in_place && i == 0);
  }
}

void RuleNode::keep(size_t param, std::span<const Tensor> tensors, bool in_place) {
  const bool whole = rule_.params[param].saves == Saves::kTensor;
  Kept& kept = kept_[param];
  kept.first = static_cast<uint32_t>(whole ? saved_.size() : metas_.size());
  kept.count = static_cast<uint32_t>(tensors.size());
  for (const Tensor& tensor : tensors) {
    if (whole) {
      saved_.emplace_back(in_place ? clone(tensor) : tensor, false);
    } else {
      metas_.push_back(tensor.defined() ? TensorMeta(tensor) : TensorMeta());
    }
  }
}

void RuleNode::save_outputs(std::span<const Tensor> outputs) {
  const size_t params = rule_.params.size();
  for (size_t i = 0; i < rule_.outputs.size() && i < outputs.size(); ++i) {
    Kept& kept = kept_[params + i];
    const bool whole = rule_.outputs[i] == Saves::kTensor;
    kept.first = static_cast<uint32_t>(whole ? saved_.size() : metas_.size());
    kept.count = 1;
    if (whole) {
      saved_.emplace_back(outputs[i], requires_grad(outputs[i]));
    } else {
      metas_.emplace_back(TensorMeta(outputs[i]));
    }
  }
}

std::string RuleNode::name() const {
  if (!rule_.name.empty()) return rule_.name;
  if (rule_.name_of != nullptr) {
    SmallVector<ops::Value, 8> values(rule_.params.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (rule_.params[i].saves == Saves::kNothing)
        values[i] = dispatch::decode(args_[i], payload_);
    }
    return rule_.name_of({values.data(), values.size()});
  }
  if (rule_.numbered_by < 0) return node_name(op_);
  const bool given = args_[static_cast<size_t>(rule_.numbered_by)].kind != ops::ValueKind::kNone;
  return camel_name(op_) + (given ? "Backward1" : "Backward0");
}

void RuleNode::apply(Gradients& grads, Gradients& results) {
  results.clear();
  results.resize(next.size());
  bool any = false;
  for (const Tensor& grad : grads) any |= grad.defined();
  if (!any) return;
  if (released_) refuse_second_backward();
  const size_t params = rule_.params.size();
  SmallVector<Tensor, 4> tensors;
  tensors.reserve(saved_.size());
  for (const SavedTensor& saved : saved_) tensors.push_back(saved.unpack(*this));
  SmallVector<ops::Value, 8> values;
  SmallVector<MetaList, 8> metas;
  values.resize(kept_.size());
  metas.resize(kept_.size());
  static const TensorMeta none;
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Saves saves = i < params ? rule_.params[i].saves : rule_.outputs[i - params];
    const bool list = i < params && is_list(op_.schema.params[i].type);
    const Kept& kept = kept_[i];
    if (saves == Saves::kMeta) {
      metas[i] = kept.count == 0 && !list ? MetaList(&none, 1)
                                          : MetaList(metas_.data() + kept.first, kept.count);
    } else if (saves == Saves::kTensor) {
      if (list) {
        values[i] = ops::Value(TensorList(tensors.data() + kept.first, kept.count));
      } else if (kept.count != 0) {
        values[i] = ops::Value(tensors[kept.first]);
      }
    } else if (i < params && !is_tensor(op_.schema.params[i].type) && !list) {
      values[i] = dispatch::decode(args_[i], payload_);
    }
  }
  bool conjugates = false;
  if (!rule_.knows_complex) {
    for (Tensor& grad : grads) conjugates |= conjugate_if_complex(grad);
  }
  Backward backward(*this, {first_edge_.data(), first_edge_.size()}, column_major_, grads, results);
  rule_.apply(backward, {{values.data(), values.size()}, {metas.data(), metas.size()}});
  if (!conjugates) return;
  for (Tensor& result : results) conjugate_if_complex(result);
}

void RuleNode::release_saved(runtime::Stream reader) {
  // A rule that saved nothing may run again.
  if (saved_.empty()) return;
  released_ = true;
  for (SavedTensor& saved : saved_) saved.reset(reader);
}

NotImplementedNode::NotImplementedNode(const ops::Op& op, ops::Args args) : op_(op) {
  for (const ops::Value& value : args) {
    for (const Tensor& tensor : tensors_of(value)) {
      next.push_back(tensor.defined() ? gradient_edge(tensor) : Edge());
    }
  }
}

std::vector<std::pair<std::string, Tensor>> RuleNode::saved_tensors() {
  if (released_) refuse_second_backward();
  const size_t params = rule_.params.size();
  std::vector<std::pair<std::string, Tensor>> found;
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Saves saves = i < params ? rule_.params[i].saves : rule_.outputs[i - params];
    if (saves != Saves::kTensor || kept_[i].count != 1) continue;
    const std::string name = i < params                  ? op_.schema.params[i].name
                             : rule_.outputs.size() == 1 ? std::string("result")
                                                         : "result" + std::to_string(i - params);
    found.emplace_back(name, saved_[kept_[i].first].unpack(*this));
  }
  return found;
}

}  // namespace mindtorch::autograd
