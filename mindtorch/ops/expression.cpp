#include "mindtorch/ops/expression.h"

#include <algorithm>
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

}  // namespace

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

uint8_t ExprBuilder::constant(double value, double imaginary) {
  ExprNode node;
  node.kind = ExprNode::Kind::kConstant;
  node.constant = value;
  node.imaginary = imaginary;
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
