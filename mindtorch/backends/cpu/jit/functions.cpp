#include "mindtorch/backends/cpu/jit/functions.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <vector>

#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/ops/evaluate.h"

namespace mindtorch::cpu::jit {
namespace {

using ops::ExprNode;
using ops::Pointwise;

// Shorthand for one call: constants are of its kind.
struct Maker {
  Emitter& e;
  Kind kind;

  Operand constant(double value) const { return e.constant(kind, value); }
  Operand zero() const { return constant(0); }
  Operand sign_bit() const {
    const bool full = kind == Kind::kFloat64;
    return e.constant_bits(kind, full ? uint64_t{1} << 63 : uint64_t{1} << 31);
  }
  Operand magnitude_bits() const {
    const bool full = kind == Kind::kFloat64;
    return e.constant_bits(kind, full ? ~uint64_t{0} >> 1 : ~uint32_t{0} >> 1);
  }

  Value abs(Operand a) const { return e.bit_and(std::move(a), magnitude_bits()); }
  Value is_nan(const Operand& a) const { return e.compare(Compare::kUnordered, a, a); }
  Value truth(Operand a) const { return e.compare(Compare::kNotEqual, std::move(a), zero()); }
  Value copysign(Operand a, Operand sign) const {
    Value bits = e.bit_and(std::move(sign), sign_bit());
    return e.bit_or(abs(std::move(a)), std::move(bits));
  }
  Value maximum(Operand a, Operand b) const {
    const Value nan = is_nan(b);
    Value larger = e.max(b, std::move(a));
    return e.select(nan, std::move(b), std::move(larger));
  }
  Value minimum(Operand a, Operand b) const {
    const Value nan = is_nan(b);
    Value smaller = e.min(b, std::move(a));
    return e.select(nan, std::move(b), std::move(smaller));
  }
};

// Functions of bool. Truth is what counts, as everywhere.
Value emit_logic(Emitter& e, Pointwise function, std::span<Operand> in) {
  switch (function) {
    case Pointwise::kLogicalAnd:
    case Pointwise::kBitwiseAnd:
    case Pointwise::kMul:
    case Pointwise::kMinimum:
      return e.mask_and(std::move(in[0]), std::move(in[1]));
    case Pointwise::kLogicalOr:
    case Pointwise::kBitwiseOr:
    case Pointwise::kMaximum:
      return e.mask_or(std::move(in[0]), std::move(in[1]));
    case Pointwise::kLogicalXor:
    case Pointwise::kBitwiseXor:
    case Pointwise::kNe:
      return e.mask_xor(std::move(in[0]), std::move(in[1]));
    case Pointwise::kEq:
      return e.mask_not(e.mask_xor(std::move(in[0]), std::move(in[1])));
    case Pointwise::kLogicalNot:
    case Pointwise::kBitwiseNot:
      return e.mask_not(std::move(in[0]));
    case Pointwise::kWhere: {
      Value yes = e.mask_and(in[0], std::move(in[1]));
      Value no = e.mask_and(e.mask_not(std::move(in[0])), std::move(in[2]));
      return e.mask_or(std::move(yes), std::move(no));
    }
    default:
      return Value();
  }
}

// What gives a mask of floats.
Value emit_test(const Maker& m, Pointwise function, std::span<Operand> in) {
  Emitter& e = m.e;
  switch (function) {
    case Pointwise::kEq:
      return e.compare(Compare::kEq, std::move(in[0]), std::move(in[1]));
    case Pointwise::kNe:
      return e.compare(Compare::kNotEqual, std::move(in[0]), std::move(in[1]));
    case Pointwise::kLt:
      return e.compare(Compare::kLt, std::move(in[0]), std::move(in[1]));
    case Pointwise::kLe:
      return e.compare(Compare::kLe, std::move(in[0]), std::move(in[1]));
    case Pointwise::kGt:
      return e.compare(Compare::kGt, std::move(in[0]), std::move(in[1]));
    case Pointwise::kGe:
      return e.compare(Compare::kGe, std::move(in[0]), std::move(in[1]));
    case Pointwise::kLogicalAnd: {
      Value first = m.truth(std::move(in[0]));
      return e.mask_and(std::move(first), m.truth(std::move(in[1])));
    }
    case Pointwise::kLogicalOr: {
      Value first = m.truth(std::move(in[0]));
      return e.mask_or(std::move(first), m.truth(std::move(in[1])));
    }
    case Pointwise::kLogicalXor: {
      Value first = m.truth(std::move(in[0]));
      return e.mask_xor(std::move(first), m.truth(std::move(in[1])));
    }
    case Pointwise::kLogicalNot:
      return e.compare(Compare::kEq, std::move(in[0]), m.zero());
    case Pointwise::kIsNan:
      return m.is_nan(in[0]);
    default:
      return Value();
  }
}

Value emit_arithmetic(const Maker& m, Pointwise function, std::span<Operand> in) {
  Emitter& e = m.e;
  switch (function) {
    case Pointwise::kAdd:
      return e.add(std::move(in[0]), std::move(in[1]));
    case Pointwise::kSub:
      return e.sub(std::move(in[0]), std::move(in[1]));
    case Pointwise::kMul:
      return e.mul(std::move(in[0]), std::move(in[1]));
    case Pointwise::kDiv:
      return e.div(std::move(in[0]), std::move(in[1]));
    case Pointwise::kMaximum:
      return m.maximum(std::move(in[0]), std::move(in[1]));
    case Pointwise::kMinimum:
      return m.minimum(std::move(in[0]), std::move(in[1]));
    case Pointwise::kFmax: {
      const Value nan = m.is_nan(in[0]);
      Value larger = e.max(in[1], std::move(in[0]));
      return e.select(nan, std::move(in[1]), std::move(larger));
    }
    case Pointwise::kFmin: {
      const Value nan = m.is_nan(in[0]);
      Value smaller = e.min(in[1], std::move(in[0]));
      return e.select(nan, std::move(in[1]), std::move(smaller));
    }
    case Pointwise::kCopysign:
      return m.copysign(std::move(in[0]), std::move(in[1]));
    case Pointwise::kAbs:
      return m.abs(std::move(in[0]));
    case Pointwise::kNeg:
      return e.bit_xor(std::move(in[0]), m.sign_bit());
    case Pointwise::kSqrt:
      return e.sqrt(std::move(in[0]));
    case Pointwise::kRound:
      return e.round(std::move(in[0]), 0);
    case Pointwise::kFloor:
      return e.round(std::move(in[0]), 1);
    case Pointwise::kCeil:
      return e.round(std::move(in[0]), 2);
    case Pointwise::kTrunc:
      return e.round(std::move(in[0]), 3);
    case Pointwise::kWhere:
      return e.select(std::move(in[0]), std::move(in[1]), std::move(in[2]));
    default:
      return Value();
  }
}

// Code for an expression: nodes become values as they are reached, each given up at its last use.
class ExpressionCode {
 public:
  ExpressionCode(Emitter& e, const Call& call, std::span<Operand> in)
      : maker_{e, call.kind},
        call_(call),
        in_(in),
        nodes_(ops::function_info(call.function).value.nodes()),
        values_(nodes_.size()),
        uses_(nodes_.size(), 0) {
    for (const ExprNode& node : nodes_) {
      for (int k = 0; k < node.count; ++k) ++uses_[node.arguments[k]];
    }
  }

  // An unset value where a node has no code.
  Value emit() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!make(i)) return Value();
    }
    Node& result = values_.back();
    if (result.value.is_set()) return std::move(result.value);
    return maker_.e.copy(result.number ? maker_.constant(*result.number)
                                       : Operand(in_[nodes_.back().index]));
  }

 private:
  struct Node {
    std::optional<double> number;  // known now
    bool is_mask = false;
    bool is_product = false;  // two arguments yet to be multiplied, by whoever adds the product
    Value value;
  };

  bool make(size_t i) {
    const ExprNode& node = nodes_[i];
    Node& made = values_[i];
    switch (node.kind) {
      case ExprNode::Kind::kOperand:
        made.is_mask = ops::takes_bool(call_.function, node.index);
        return true;
      case ExprNode::Kind::kParam:
        made.number = rounded(call_.params->f[node.index]);
        return true;
      case ExprNode::Kind::kConstant:
        made.number = rounded(node.constant);
        return true;
      case ExprNode::Kind::kCall:
        break;
    }
    made.is_mask = ops::gives_bool(node.function);
    if (fold(node, made)) return true;
    // A product that is only added to something is part of that addition.
    if (node.function == Pointwise::kMul && uses_[i] == 1 && is_added(i)) {
      made.is_product = true;
      return true;
    }
    made.value = code(node);
    return made.value.is_set();
  }

  double rounded(double value) const {
    return maker_.kind == Kind::kFloat64 ? value : static_cast<double>(static_cast<float>(value));
  }

  // Calls of numbers that are known, and choices by them.
  bool fold(const ExprNode& node, Node& made) {
    bool all_known = true;
    for (int k = 0; k < node.count; ++k) all_known &= argument(node, k).number.has_value();
    if (all_known) {
      double numbers[3] = {};
      for (int k = 0; k < node.count; ++k) numbers[k] = *argument(node, k).number;
      const std::span<const double> in(numbers, node.count);
      made.number = rounded(ops::evaluate<double>(node.function, in, {}));
      return true;
    }
    return false;
  }

  bool is_added(size_t product) const {
    for (const ExprNode& node : nodes_) {
      if (node.kind != ExprNode::Kind::kCall) continue;
      if (node.function == Pointwise::kAdd &&
          (node.arguments[0] == product || node.arguments[1] == product)) {
        const size_t other = node.arguments[node.arguments[0] == product ? 1 : 0];
        return other != product && !(values_.size() > other && values_[other].is_product);
      }
      if (node.function == Pointwise::kSub && node.arguments[1] == product) return true;
    }
    return false;
  }

  Node& argument(const ExprNode& node, int k) { return values_[node.arguments[k]]; }

  // The values of the nodes that one instruction reads. Each is given up with its last use, but not
  // where the instruction reads it twice.
  SmallVector<Operand, 3> take(std::initializer_list<uint8_t> read) {
    SmallVector<Operand, 3> taken;
    for (const uint8_t i : read) {
      const bool is_last = --uses_[i] == 0;
      const bool is_alone = std::count(read.begin(), read.end(), i) == 1;
      Node& made = values_[i];
      if (made.number) {
        taken.push_back(maker_.constant(*made.number));
      } else if (nodes_[i].kind == ExprNode::Kind::kOperand) {
        Operand& in = in_[nodes_[i].index];
        taken.push_back(is_last && is_alone ? Operand(std::move(in)) : Operand(in));
      } else {
        taken.push_back(is_last && is_alone ? Operand(std::move(made.value)) : Operand(made.value));
      }
    }
    return taken;
  }

  Value code(const ExprNode& node) {
    Emitter& e = maker_.e;
    const uint8_t* const from = node.arguments;
    const auto is_product = [&](int k) { return argument(node, k).is_product; };
    if (node.function == Pointwise::kAdd && (is_product(0) || is_product(1))) {
      const int which = is_product(0) ? 0 : 1;
      const ExprNode& product = nodes_[from[which]];
      auto in = take({product.arguments[0], product.arguments[1], from[1 - which]});
      return e.mul_add(std::move(in[0]), std::move(in[1]), std::move(in[2]));
    }
    if (node.function == Pointwise::kSub && is_product(1)) {
      const ExprNode& product = nodes_[from[1]];
      auto in = take({product.arguments[0], product.arguments[1], from[0]});
      return e.neg_mul_add(std::move(in[0]), std::move(in[1]), std::move(in[2]));
    }
    if (node.function == Pointwise::kMaximum || node.function == Pointwise::kMinimum) {
      for (int k = 0; k < 2; ++k) {
        const std::optional<double> bound = argument(node, k).number;
        if (!bound || std::isnan(*bound)) continue;
        // The second operand wins where it is NaN: no check of the first, which is not.
        auto in = take({from[k], from[1 - k]});
        return node.function == Pointwise::kMaximum ? e.max(std::move(in[0]), std::move(in[1]))
                                                    : e.min(std::move(in[0]), std::move(in[1]));
      }
    }
    if (node.function == Pointwise::kWhere) {
      const std::optional<double> chosen = argument(node, 0).number;
      if (chosen) return e.copy(std::move(take({from[*chosen != 0 ? 1 : 2]})[0]));
      const std::optional<double> no = argument(node, 2).number;
      if (no && *no == 0 && !std::signbit(*no)) {
        auto in = take({from[0], from[1]});
        return e.select_or_zero(std::move(in[0]), std::move(in[1]));
      }
    }
    const bool of_masks = argument(node, node.count - 1).is_mask;
    auto in = node.count == 1   ? take({from[0]})
              : node.count == 2 ? take({from[0], from[1]})
                                : take({from[0], from[1], from[2]});
    const Call call{node.function, of_masks ? Kind::kMask : maker_.kind, &kNoParams};
    return jit::emit(e, call, std::span(in.data(), in.size()));
  }

  static constexpr ops::PointwiseParams kNoParams{};

  const Maker maker_;
  const Call& call_;
  const std::span<Operand> in_;
  const std::span<const ExprNode> nodes_;
  std::vector<Node> values_;
  std::vector<int> uses_;
};

}  // namespace

Value emit(Emitter& e, const Call& call, std::span<Operand> in) {
  if (call.kind == Kind::kMask) return emit_logic(e, call.function, in);
  const Maker maker{e, call.kind};
  const DType compute = call.kind == Kind::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  if (gives_its_steps(call.function, compute)) return ExpressionCode(e, call, in).emit();
  if (ops::gives_bool(call.function)) return emit_test(maker, call.function, in);
  if (Value value = emit_arithmetic(maker, call.function, in); value.is_set()) return value;
  return in.size() == 1 ? emit_transcendental(e, call, std::move(in[0])) : Value();
}

}  // namespace mindtorch::cpu::jit
