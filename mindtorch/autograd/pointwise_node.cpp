#include "mindtorch/autograd/pointwise_node.h"

#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/autograd/complex_gradient.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/ops/evaluate.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::autograd {

using ops::Derivative;
using ops::ExprNode;
using ops::Pointwise;

namespace {

// Which place in `saved_` a derivative reads; -1: the incoming gradient.
int place_of(Derivative::Input input) {
  switch (input) {
    case Derivative::Input::kA:
      return 0;
    case Derivative::Input::kB:
      return 1;
    case Derivative::Input::kC:
      return 2;
    case Derivative::Input::kResult:
      return 3;
    case Derivative::Input::kGradient:
      return -1;
  }
  return -1;
}

bool is_logical(Pointwise function) {
  return function == Pointwise::kLogicalAnd || function == Pointwise::kLogicalOr ||
         function == Pointwise::kLogicalXor || function == Pointwise::kLogicalNot;
}

// A step of an expression: a tensor, or a number that is known on the host.
struct Step {
  Tensor tensor;
  double number = 0;
  bool is_number = false;

  const Tensor& as_tensor() {
    if (!tensor.defined()) tensor = Tensor::wrapped_number(number);
    return tensor;
  }
};

// The ops of an expression, one after the other, so that autograd sees each. What depends on
// numbers alone is computed right here: a branch that is not taken must not bring its NaN along.
Tensor run_expression(const ops::Expression& expression,
                      std::span<const Tensor> operands,
                      const ops::PointwiseParams& params,
                      DType compute) {
  std::vector<Step> steps;
  steps.reserve(expression.nodes().size());
  for (const ExprNode& node : expression.nodes()) {
    Step& step = steps.emplace_back();
    switch (node.kind) {
      case ExprNode::Kind::kOperand:
        step.tensor = operands[node.index];
        break;
      case ExprNode::Kind::kParam:
        step.number = params.f[node.index];
        step.is_number = true;
        if (MT_UNLIKELY(params.imag[node.index] != 0)) {
          step.tensor = Tensor::wrapped_number(
              std::complex<double>(params.f[node.index], params.imag[node.index]));
          step.is_number = false;
        }
        break;
      case ExprNode::Kind::kConstant:
        step.number = node.constant;
        step.is_number = true;
        if (MT_UNLIKELY(node.imaginary != 0)) {
          step.tensor = Tensor::wrapped_number(std::complex<double>(node.constant, node.imaginary));
          step.is_number = false;
        }
        break;
      case ExprNode::Kind::kCall: {
        Step* given[3] = {};
        double numbers[3] = {};
        bool known = true;
        for (int i = 0; i < node.count; ++i) {
          given[i] = &steps[node.arguments[i]];
          numbers[i] = given[i]->number;
          known &= given[i]->is_number;
        }
        if (known) {
          step.number = ops::evaluate<double>(node.function,
                                              std::span<const double>(numbers, node.count), {});
          step.is_number = true;
        } else if (node.function == Pointwise::kWhere && given[0]->is_number) {
          step = *given[given[0]->number != 0 ? 1 : 2];
        } else {
          SmallVector<Tensor, 3> arguments;
          for (int i = 0; i < node.count; ++i) arguments.push_back(given[i]->as_tensor());
          const bool gives_real = is_complex(compute) && ops::gives_real(node.function);
          const DType result = ops::gives_bool(node.function) ? DType::kBool
                               : gives_real                   ? real_dtype(compute)
                                                              : compute;
          step.tensor = apply_pointwise(node.function, {arguments.data(), arguments.size()}, {},
                                        is_logical(node.function) ? DType::kBool : compute, result);
        }
        break;
      }
    }
  }
  return steps.back().as_tensor();
}

// Zeros for all inputs: of a gradient that does not depend on them where it was computed, but is a
// function of them.
class ConstantNode final : public Node {
 public:
  std::string name() const override { return "ConstantBackward0"; }
  void apply(Gradients&, Gradients& results) override {
    results.clear();
    for (const Edge& edge : next) {
      const TensorMeta& meta = edge.node->outputs[edge.input];
      results.push_back(zeros(meta.sizes, meta.dtype, meta.device));
    }
  }
};

// relu's gradient is a step function of its input: its own gradient is 0, not absent.
Tensor as_function_of(Tensor result, std::span<const Tensor> inputs) {
  // Of a batched tensor, autograd knows the value that has all samples only.
  if ((result.impl()->layers & dispatch::bit(dispatch::Layer::kBatching)) != 0) return result;
  if (requires_grad(result)) return result;
  NodePtr node;
  for (const Tensor& input : inputs) {
    if (!requires_grad(input)) continue;
    if (!node) node = NodePtr::adopt(new ConstantNode);
    node->next.push_back(gradient_edge(input));
  }
  if (!node) return result;
  Tensor shown = detached(result);
  add_output(shown, node);
  return shown;
}

}  // namespace

Tensor apply_pointwise(Pointwise function,
                       std::span<const Tensor> operands,
                       const ops::PointwiseParams& params,
                       DType compute,
                       DType result) {
  // The imaginary parts of parameters follow the real ones.
  double parts[6];
  std::copy_n(params.f, 3, parts);
  std::copy_n(params.imag, 3, parts + 3);
  const size_t count = is_complex(compute) ? 6 : 3;
  return mindtorch::_pointwise(operands, static_cast<int64_t>(function),
                               std::span<const double>(parts, count), compute, result);
}

PointwiseNode::PointwiseNode(const ops::Op& op,
                             ops::Args args,
                             const ops::PointwiseCall& call,
                             int written)
    : op_(op),
      number_(number_operand(args)),
      function_(call.function),
      compute_(call.compute),
      params_(call.params) {
  const ops::FunctionInfo& info = ops::function_info(function_);
  for (int i = 0; i < call.count; ++i) {
    next.push_back(gradient_edge(*call.operands[i]));
    if (!next.back()) continue;
    const Derivative& wanted = derivative(info, static_cast<size_t>(i));
    if (wanted.kind != Derivative::Kind::kExpression) continue;
    for (const Derivative::Input input : wanted.inputs) {
      if (const int place = place_of(input); place >= 0) needed_ |= uint8_t(1u << place);
    }
  }
  for (int i = 0; i < call.count && i < kResult; ++i) {
    if ((needed_ >> i & 1) == 0) continue;
    const Tensor& operand = *call.operands[i];
    saved_[i] = SavedTensor(i == written ? clone(operand) : operand, false);
  }
}

void PointwiseNode::save_result(const Tensor& result) {
  if ((needed_ >> kResult & 1) != 0) saved_[kResult] = SavedTensor(result, true);
}

std::string PointwiseNode::name() const { return node_name(op_, number_); }

void PointwiseNode::apply(Gradients& grads, Gradients& results) {
  results.clear();
  results.resize(next.size());
  const Tensor& grad = grads[0];
  if (!grad.defined()) return;
  if (released_ && needed_ != 0) refuse_second_backward();
  Tensor inputs[kResult + 1];
  for (int i = 0; i <= kResult; ++i) {
    if ((needed_ >> i & 1) != 0) inputs[i] = saved_[i].unpack(*this);
  }
  const ops::FunctionInfo& info = ops::function_info(function_);
  for (size_t i = 0; i < next.size(); ++i) {
    if (!should_compute(i)) continue;
    const Derivative& wanted = derivative(info, i);
    if (info.values == ops::Values::kBool) {  // truth, written to a float tensor
      results[i] = zeros_like(grad);
      continue;
    }
    switch (wanted.kind) {
      case Derivative::Kind::kNone:
        MT_THROW(NotImplementedError, "derivative for aten::", op_.schema.name,
                 " is not implemented");
      case Derivative::Kind::kZero:
        results[i] = zeros_like(grad);
        break;
      case Derivative::Kind::kGradient:
        results[i] = grad;
        break;
      case Derivative::Kind::kExpression: {
        Tensor incoming = grad;
        const bool is_complex_formula = &wanted == &info.complex_derivatives[i];
        const bool conjugates = !is_complex_formula && conjugate_if_complex(incoming);
        SmallVector<Tensor, ops::kMaxOperands> operands;
        for (const Derivative::Input input : wanted.inputs) {
          const int place = place_of(input);
          operands.push_back(place < 0 ? incoming : inputs[place]);
        }
        const std::span<const Tensor> list(operands.data(), operands.size());
        const ops::Expression& expression = ops::function_info(wanted.function).value;
        // Formulas of complex numbers mix them with real ones: a step of its own for each op.
        const bool in_steps = is_grad_enabled() || is_complex_formula;
        if (in_steps && !ops::is_built_in(wanted.function)) {
          const TensorMeta& meta = next[i].node->outputs[next[i].input];
          Tensor made = run_expression(expression, list, params_, compute_);
          if (made.is_wrapped_number()) {
            const Scalar number = read_element(made.data_ptr(), made.dtype());
            made = full(meta.sizes, number, compute_, meta.device);
          }
          results[i] = is_grad_enabled() ? as_function_of(std::move(made), list) : made;
        } else {
          const Edge& target = next[i];
          const DType dtype = target.node->outputs[target.input].dtype;
          results[i] = apply_pointwise(wanted.function, list, params_, compute_,
                                       conjugates ? compute_ : dtype);
        }
        if (conjugates) conjugate_if_complex(results[i]);
        break;
      }
    }
  }
}

void PointwiseNode::release_saved(runtime::Stream reader) {
  released_ = true;
  for (SavedTensor& saved : saved_) saved.reset(reader);
}

std::vector<std::pair<std::string, Tensor>> PointwiseNode::saved_tensors() {
  if (released_ && needed_ != 0) refuse_second_backward();
  constexpr const char* kNames[] = {"self", "other", "end", "result"};
  std::vector<std::pair<std::string, Tensor>> found;
  for (int i = 0; i <= kResult; ++i) {
    if (saved_[i].defined()) found.emplace_back(kNames[i], saved_[i].unpack(*this));
  }
  return found;
}

}  // namespace mindtorch::autograd
