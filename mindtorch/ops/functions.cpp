#include "mindtorch/ops/functions.h"

#include <atomic>
#include <memory>
#include <mutex>

#include "mindtorch/base/error.h"
#include "mindtorch/ops/functions/declare.h"

namespace mindtorch::ops {
namespace {

// Functions are added, never changed or removed: readers take no lock.
class FunctionTable {
 public:
  FunctionTable()
      : infos_(std::make_unique<FunctionInfo[]>(kMaxFunctions)), count_(kPointwiseCount) {
    for (int i = 0; i < kPointwiseCount; ++i) {
      const auto function = static_cast<Pointwise>(i);
      infos_[i].name = info(function).name;
      infos_[i].arity = info(function).arity;
      infos_[i].cost = Cost::kMemory;  // what costs more says so
      infos_[i].torch_kernel = infos_[i].name;
    }
  }
  void declare() {
    const Functions functions(infos_.get());
    declare_arithmetic(functions);
    declare_comparisons(functions);
    declare_bits(functions);
    declare_rounding(functions);
    declare_powers(functions);
    declare_special(functions);
    declare_trigonometry(functions);
    declare_activations(functions);
    declare_selections(functions);
    declare_losses(functions);
    declare_more_dtypes(infos_.get());
    declared_ = count();
  }

  Pointwise named(std::string_view name) const {
    int at = 0;
    while (at < declared_ && infos_[at].name != name) ++at;
    MT_ASSERT(at < declared_);
    return static_cast<Pointwise>(at);
  }
  const FunctionInfo& at(Pointwise function) const { return infos_[static_cast<int>(function)]; }
  int count() const { return count_.load(std::memory_order_acquire); }
  Pointwise add(FunctionInfo info) {
    const std::lock_guard lock(mutex_);
    const int at = count_.load(std::memory_order_relaxed);
    MT_CHECK(at < kMaxFunctions, RuntimeError, "there is no room for more than ", kMaxFunctions,
             " pointwise functions");
    infos_[at] = std::move(info);
    count_.store(at + 1, std::memory_order_release);
    return static_cast<Pointwise>(at);
  }

 private:
  std::unique_ptr<FunctionInfo[]> infos_;
  std::atomic<int> count_;
  int declared_ = 0;  // by this library: the first ones
  std::mutex mutex_;
};

FunctionTable& storage() {
  static auto* const table = new FunctionTable;  // a thread that compiles may outlive main()
  return *table;
}

// What is known of function 0, once all are declared: calls read this alone.
std::atomic<const FunctionInfo*> g_infos{nullptr};

FunctionTable& table() {
  // In a step of its own: declarations register the derivatives.
  static FunctionTable& declared = []() -> FunctionTable& {
    storage().declare();
    g_infos.store(&storage().at(Pointwise{}), std::memory_order_release);
    return storage();
  }();
  return declared;
}

// Operands that are conditions.
uint8_t find_bool_operands(const Expression& expression) {
  uint8_t found = 0;
  for (const ExprNode& node : expression.nodes()) {
    if (node.kind != ExprNode::Kind::kCall || node.function != Pointwise::kWhere) continue;
    const ExprNode& condition = expression.nodes()[node.arguments[0]];
    if (condition.kind == ExprNode::Kind::kOperand) found |= uint8_t(1u << condition.index);
  }
  return found;
}

Expr leaf(ExprBuilder& builder, ExprNode::Kind kind, int index) {
  return {builder, builder.leaf(kind, static_cast<uint8_t>(index))};
}

}  // namespace

const FunctionInfo& function_info(Pointwise function) {
  const FunctionInfo* const infos = g_infos.load(std::memory_order_acquire);
  return MT_LIKELY(infos != nullptr) ? infos[static_cast<int>(function)] : table().at(function);
}
DTypeSet function_dtypes(Pointwise function) { return function_info(function).dtypes; }
Pointwise register_function(FunctionInfo info) {
  MT_CHECK(info.arity >= 1 && info.arity <= kMaxOperands && !info.value.empty() &&
               (info.dtypes & ~kFloatTypes) == 0,
           RuntimeError, "a pointwise function that is registered needs an expression, 1 to ",
           kMaxOperands, " operands and floating-point dtypes: ", info.name);
  info.bool_operands = find_bool_operands(info.value);
  if (info.torch_kernel.empty()) info.torch_kernel = info.name;
  return table().add(std::move(info));
}
Pointwise function_named(std::string_view name) { return table().named(name); }
int function_count() { return table().count(); }

void Functions::enter(FunctionInfo info) {
  info.bool_operands = find_bool_operands(info.value);
  storage().add(std::move(info));
}

Inputs Declaration::make_inputs(ExprBuilder& builder) {
  const auto operand = [&](int i) { return leaf(builder, ExprNode::Kind::kOperand, i); };
  const auto param = [&](int i) { return leaf(builder, ExprNode::Kind::kParam, i); };
  return {operand(0), operand(1), operand(2), param(0), param(1), param(2)};
}

GradientInputs Declaration::make_gradient_inputs(ExprBuilder& builder) {
  const auto operand = [&](Derivative::Input i) {
    return leaf(builder, ExprNode::Kind::kOperand, static_cast<int>(i));
  };
  return {make_inputs(builder), operand(Derivative::Input::kGradient),
          operand(Derivative::Input::kResult)};
}

void Declaration::add_gradient(int index, const Expression& expression, bool is_complex) {
  Derivative& derivative =
      is_complex ? info_->complex_derivatives[index] : info_->derivatives[index];
  derivative.kind = Derivative::Kind::kExpression;
  std::vector<ExprNode> nodes(expression.nodes().begin(), expression.nodes().end());
  bool is_call = true;  // one call of a built-in function on inputs alone
  for (ExprNode& node : nodes) {
    is_call &= node.kind == ExprNode::Kind::kOperand || &node == &nodes.back();
    if (node.kind != ExprNode::Kind::kOperand) continue;
    derivative.inputs.push_back(static_cast<Derivative::Input>(node.index));
    node.index = static_cast<uint8_t>(derivative.inputs.size() - 1);
  }
  MT_ASSERT(derivative.inputs.size() <= kMaxOperands);
  if (is_call) {
    const ExprNode& call = nodes.back();
    SmallVector<Derivative::Input, kMaxOperands> inputs;
    for (int i = 0; i < call.count; ++i) {
      inputs.push_back(derivative.inputs[nodes[call.arguments[i]].index]);
    }
    derivative.inputs = inputs;
    derivative.function = call.function;
    return;
  }
  FunctionInfo backward;
  backward.name = info_->name + (is_complex ? "_complex" : "") + "_backward" +
                  (info_->arity > 1 ? std::string("_") + "abc"[index] : "");
  backward.torch_kernel = backward.name;
  backward.arity = static_cast<uint8_t>(derivative.inputs.size());
  backward.dtypes = is_complex ? kComplexTypes : info_->dtypes & kFloatTypes;
  backward.value = Expression(std::move(nodes));
  backward.bool_operands = find_bool_operands(backward.value);
  derivative.function = storage().add(std::move(backward));
}

}  // namespace mindtorch::ops
