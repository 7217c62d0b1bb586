#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/ops/pointwise.h"

namespace mindtorch::ops {

// A function of numbers as a DAG of other pointwise functions. Readers: code generators, devices
// that compose what they lack, the host's evaluation (evaluate.h), documentation, autograd.
struct ExprNode {
  enum class Kind : uint8_t { kOperand, kParam, kConstant, kCall };

  Kind kind{};
  Pointwise function{};       // kCall
  uint8_t index = 0;          // kOperand, kParam: which one
  uint8_t count = 0;          // kCall: arguments
  uint8_t arguments[3] = {};  // kCall: earlier nodes
  double constant = 0;        // kConstant
  double imaginary = 0;       // its other part, in formulas of complex numbers

  bool operator==(const ExprNode&) const = default;
};

// Nodes stand in the order of evaluation; the last one is the result. Immutable.
class MT_API Expression {
 public:
  Expression() = default;
  explicit Expression(std::vector<ExprNode> nodes) : nodes_(std::move(nodes)) {}

  std::span<const ExprNode> nodes() const { return nodes_; }
  bool empty() const { return nodes_.empty(); }
  // "a + p0 * b"; operands are called by `operands`, a letter each.
  std::string text(const char* operands = "abcd") const;

 private:
  std::vector<ExprNode> nodes_;
};

// Builds one expression. Equal nodes are shared.
class MT_API ExprBuilder {
 public:
  uint8_t leaf(ExprNode::Kind kind, uint8_t index);
  uint8_t constant(double value, double imaginary = 0);
  uint8_t call(Pointwise function, std::initializer_list<uint8_t> arguments);
  // What `result` needs, in order.
  Expression finish(uint8_t result) const;

 private:
  uint8_t add(const ExprNode& node);

  std::vector<ExprNode> nodes_;
};

}  // namespace mindtorch::ops
