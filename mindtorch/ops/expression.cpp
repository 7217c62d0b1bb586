#include "mindtorch/ops/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "mindtorch/base/error.h"

namespace mindtorch::ops {
namespace {

// Equal bits: -0.0 is not 0.0, and NaN is itself.
bool is_same(const ExprNode& a, const ExprNode& b) {
  ExprNode x = a;
  ExprNode y = b;
  x.constant = y.constant = 0;
  return x == y && std::memcmp(&a.constant, &b.constant, sizeof(double)) == 0;
}

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

  // In parentheses where what is around it binds tighter than `rank`.
  std::string write(uint8_t at, int rank) const {
    const ExprNode& node = nodes[at];
    switch (node.kind) {
      case ExprNode::Kind::kOperand:
        return {operands[node.index]};
      case ExprNode::Kind::kParam:
        return std::string("p").append(std::to_string(node.index));
      case ExprNode::Kind::kConstant:
        return number_text(node.constant);
      case ExprNode::Kind::kCall:
        break;
    }
    const Spelling how = spelling(node.function);
    if (how.symbol == nullptr) {
      std::string text = std::string(info(node.function).name) + "(";
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

}  // namespace

std::string Expression::text(const char* operands) const {
  return empty() ? "" : Writer{nodes_, operands}.write(static_cast<uint8_t>(nodes_.size() - 1), 0);
}

uint8_t ExprBuilder::add(const ExprNode& node) {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&](const ExprNode& other) { return is_same(node, other); });
  const auto at = static_cast<size_t>(found - nodes_.begin());
  MT_ASSERT(at < UINT8_MAX);
  if (found == nodes_.end()) nodes_.push_back(node);
  return static_cast<uint8_t>(at);
}

uint8_t ExprBuilder::leaf(ExprNode::Kind kind, uint8_t index) {
  ExprNode node;
  node.kind = kind;
  node.index = index;
  return add(node);
}

uint8_t ExprBuilder::constant(double value) {
  ExprNode node;
  node.kind = ExprNode::Kind::kConstant;
  node.constant = value;
  return add(node);
}

uint8_t ExprBuilder::call(Pointwise function, std::initializer_list<uint8_t> arguments) {
  ExprNode node;
  node.kind = ExprNode::Kind::kCall;
  node.function = function;
  node.count = static_cast<uint8_t>(arguments.size());
  std::copy(arguments.begin(), arguments.end(), node.arguments);
  return add(node);
}

Expression ExprBuilder::finish(uint8_t result) const {
  std::vector<bool> needed(nodes_.size());
  needed[result] = true;
  for (size_t i = result + size_t{1}; i-- > 0;) {
    if (!needed[i]) continue;
    for (int k = 0; k < nodes_[i].count; ++k) needed[nodes_[i].arguments[k]] = true;
  }
  std::vector<uint8_t> place(nodes_.size());
  std::vector<ExprNode> kept;
  for (size_t i = 0; i <= result; ++i) {
    if (!needed[i]) continue;
    ExprNode node = nodes_[i];
    for (int k = 0; k < node.count; ++k) node.arguments[k] = place[node.arguments[k]];
    place[i] = static_cast<uint8_t>(kept.size());
    kept.push_back(node);
  }
  return Expression(std::move(kept));
}

}  // namespace mindtorch::ops
