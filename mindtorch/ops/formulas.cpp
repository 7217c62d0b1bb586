#include "mindtorch/ops/formulas.h"

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

namespace mindtorch::ops {
namespace {

// Formulas that fit a line of a table are written in one piece.
constexpr size_t kOnePiece = 80;
// Functions whose formulas are longer are written by name.
constexpr size_t kLongest = 500;
constexpr size_t kMostNodes = 80;

// How tightly a call binds when it is written as an operator; 0: as a function.
struct Spelling {
  const char* symbol = nullptr;
  int rank = 0;
};

Spelling spelling(Pointwise function) {
  switch (function) {
    case Pointwise::kLogicalOr:
      return {" | ", 1};
    case Pointwise::kLogicalAnd:
      return {" & ", 2};
    case Pointwise::kEq:
      return {" == ", 3};
    case Pointwise::kNe:
      return {" != ", 3};
    case Pointwise::kLt:
      return {" < ", 3};
    case Pointwise::kLe:
      return {" <= ", 3};
    case Pointwise::kGt:
      return {" > ", 3};
    case Pointwise::kGe:
      return {" >= ", 3};
    case Pointwise::kAdd:
      return {" + ", 4};
    case Pointwise::kSub:
      return {" - ", 4};
    case Pointwise::kMul:
      return {" * ", 5};
    case Pointwise::kDiv:
      return {" / ", 5};
    case Pointwise::kNeg:
      return {"-", 6};
    case Pointwise::kLogicalNot:
      return {"!", 6};
    default:
      return {};
  }
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

struct Writer {
  std::span<const ExprNode> nodes;
  const char* operands;
  std::vector<std::string> names{};  // of parts that are written elsewhere

  // In parentheses where what is around it binds tighter than `rank`.
  std::string write(size_t at, int rank) const {
    if (at < names.size() && !names[at].empty()) return names[at];
    return write_out(at, rank);
  }
  std::string write_out(size_t at, int rank) const {
    const ExprNode& node = nodes[at];
    switch (node.kind) {
      case ExprNode::Kind::kOperand:
        return {operands[node.index]};
      case ExprNode::Kind::kParam:
        return std::string("p").append(std::to_string(node.index));
      case ExprNode::Kind::kConstant:
        return node.imaginary == 0 ? number_text(node.constant) : "i";
      case ExprNode::Kind::kCall:
        break;
    }
    const Spelling how = spelling(node.function);
    if (how.symbol == nullptr) {
      std::string text = function_info(node.function).name + "(";
      for (int i = 0; i < node.count; ++i) {
        text += (i == 0 ? "" : ", ") + write(node.arguments[i], 0);
      }
      return text + ")";
    }
    std::string text = node.count == 1 ? how.symbol + write(node.arguments[0], how.rank)
                                       : write(node.arguments[0], how.rank) + how.symbol +
                                             write(node.arguments[1], how.rank + 1);
    return how.rank < rank ? "(" + text + ")" : text;
  }
};

// The calls that others read more than once, in the order in which a reader meets their ends.
class SharedParts {
 public:
  explicit SharedParts(std::span<const ExprNode> nodes)
      : nodes_(nodes), readers_(nodes.size()), seen_(nodes.size()), names_(nodes.size()) {
    for (const ExprNode& node : nodes) {
      for (int i = 0; i < node.count; ++i) ++readers_[node.arguments[i]];
    }
    visit(nodes.size() - 1);
  }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<size_t>& order() const { return order_; }

 private:
  void visit(size_t at) {
    if (seen_[at]) return;
    seen_[at] = true;
    const ExprNode& node = nodes_[at];
    for (int i = 0; i < node.count; ++i) visit(node.arguments[i]);
    if (node.kind != ExprNode::Kind::kCall || readers_[at] < 2) return;
    order_.push_back(at);
    names_[at] = "t" + std::to_string(order_.size());
  }

  std::span<const ExprNode> nodes_;
  std::vector<int> readers_;
  std::vector<bool> seen_;
  std::vector<std::string> names_;
  std::vector<size_t> order_;
};

std::string written(const Expression& expression, const char* operands) {
  std::string text = expression.text(operands);
  if (text.size() <= kOnePiece) return text;
  const std::span<const ExprNode> nodes = expression.nodes();
  const SharedParts parts(nodes);
  const Writer writer{nodes, operands, parts.names()};
  text = writer.write_out(nodes.size() - 1, 0);
  const char* joint = " with ";
  for (const size_t part : parts.order()) {
    text += joint + writer.names[part] + " = " + writer.write_out(part, 0);
    joint = ", ";
  }
  return text;
}

// What a function computes of operands, also where it has no expression of its own.
std::string written(Pointwise function, const char* operands) {
  const FunctionInfo& info = function_info(function);
  const bool has_floats = (info.dtypes & kFloatTypes) != 0;
  const Expression& value = has_floats ? info.value : info.integer_value;
  if (!value.empty() && value.nodes().size() <= kMostNodes) {
    std::string text = written(value, operands);
    if (text.size() <= kLongest) return text;
  }
  std::vector<ExprNode> nodes(info.arity + size_t{1});
  ExprNode& call = nodes.back();
  call.kind = ExprNode::Kind::kCall;
  call.function = function;
  call.count = info.arity;
  for (uint8_t i = 0; i < info.arity; ++i) nodes[i].index = call.arguments[i] = i;
  return written(Expression(std::move(nodes)), operands);
}

}  // namespace

std::string Expression::text(const char* operands) const {
  return empty() ? "" : Writer{nodes_, operands}.write(nodes_.size() - 1, 0);
}

std::string value_formula(Pointwise function) { return written(function, "abcd"); }

std::string gradient_formula(Pointwise function, int operand) {
  const Derivative& derivative = function_info(function).derivatives[operand];
  switch (derivative.kind) {
    case Derivative::Kind::kNone:
      return "";
    case Derivative::Kind::kZero:
      return "0";
    case Derivative::Kind::kGradient:
      return "g";
    case Derivative::Kind::kExpression:
      break;
  }
  std::string operands;
  for (const Derivative::Input input : derivative.inputs) {
    operands += "abcgr"[static_cast<int>(input)];
  }
  return written(derivative.function, operands.c_str());
}

}  // namespace mindtorch::ops
