#include "mindtorch/ops/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "mindtorch/base/error.h"
#include "mindtorch/ops/functions/special_functions.h"

namespace mindtorch::ops {
namespace {

// Comparisons and logic, of floats as of integers; nothing for other functions.
template <typename T>
std::optional<bool> compare(Pointwise function, T a, T b) {
  switch (function) {
    case Pointwise::kEq:
      return a == b;
    case Pointwise::kNe:
      return a != b;
    case Pointwise::kLt:
      return a < b;
    case Pointwise::kLe:
      return a <= b;
    case Pointwise::kGt:
      return a > b;
    case Pointwise::kGe:
      return a >= b;
    case Pointwise::kLogicalAnd:
      return a != 0 && b != 0;
    case Pointwise::kLogicalOr:
      return a != 0 || b != 0;
    case Pointwise::kLogicalXor:
      return (a != 0) != (b != 0);
    case Pointwise::kLogicalNot:
      return a == 0;
    default:
      return std::nullopt;
  }
}

template <typename Real>
Real erfinv(Real y) {
  constexpr Real kPi = std::numbers::pi_v<Real>;
  const Real size = std::fabs(y);
  if (size == 1) return std::copysign(std::numeric_limits<Real>::infinity(), y);
  if (!(size < 1)) return std::numeric_limits<Real>::quiet_NaN();
  if (size < static_cast<Real>(1e-6)) return y * std::sqrt(kPi) / 2 * (1 + kPi * y * y / 12);
  // Bisection on erfc, which keeps its digits near the ends.
  Real low = 0;
  Real high = 30;
  for (int i = 0; i < 200; ++i) {
    const Real middle = (low + high) / 2;
    const bool is_left = size < Real{0.5} ? std::erf(middle) > size : std::erfc(middle) < 1 - size;
    (is_left ? high : low) = middle;
  }
  return std::copysign(low, y);
}

template <typename Real>
Real call_special(Pointwise function, Real a, Real b, Real c) {
  const auto x = static_cast<double>(a);
  const auto y = static_cast<double>(b);
  for (const special::NumberFunction& row : special::kNumberFunctions) {
    if (row.function != function) continue;
    if (row.operands == 1) return static_cast<Real>(row.of_one(x));
    if (row.operands == 2) return static_cast<Real>(row.of_two(x, y));
    return static_cast<Real>(row.of_three(x, y, static_cast<double>(c)));
  }
  MT_THROW(NotImplementedError, "there is no host evaluation of ", function_info(function).name);
}

template <typename Real>
Real extreme(bool is_max, Real a, Real b) {
  if (a != a || b != b) return std::numeric_limits<Real>::quiet_NaN();
  return (is_max ? a > b : a < b) ? a : b;
}

template <typename Real>
Real call_primitive(Pointwise function, Real a, Real b, Real c) {
  if (const std::optional<bool> truth = compare(function, a, b)) return *truth;
  switch (function) {
    case Pointwise::kAdd:
      return a + b;
    case Pointwise::kSub:
      return a - b;
    case Pointwise::kMul:
      return a * b;
    case Pointwise::kDiv:
      return a / b;
    case Pointwise::kFmod:
      return std::fmod(a, b);
    case Pointwise::kPow:
      return std::pow(a, b);
    case Pointwise::kMaximum:
      return extreme(true, a, b);
    case Pointwise::kMinimum:
      return extreme(false, a, b);
    case Pointwise::kAtan2:
      return std::atan2(a, b);
    case Pointwise::kNextafter:
      return std::nextafter(a, b);
    case Pointwise::kSignbit:
      return std::signbit(a);
    case Pointwise::kAbs:
      return std::fabs(a);
    case Pointwise::kNeg:
      return -a;
    case Pointwise::kFloor:
      return std::floor(a);
    case Pointwise::kRound:
      return std::nearbyint(a);
    case Pointwise::kSqrt:
      return std::sqrt(a);
    case Pointwise::kExp:
      return std::exp(a);
    case Pointwise::kExpm1:
      return std::expm1(a);
    case Pointwise::kLog:
      return std::log(a);
    case Pointwise::kLog1p:
      return std::log1p(a);
    case Pointwise::kErf:
      return std::erf(a);
    case Pointwise::kErfc:
      return std::erfc(a);
    case Pointwise::kErfinv:
      return erfinv(a);
    case Pointwise::kLgamma:
      return std::lgamma(a);
    case Pointwise::kSin:
      return std::sin(a);
    case Pointwise::kCos:
      return std::cos(a);
    case Pointwise::kWhere:
      return a != 0 ? b : c;
    default:
      return call_special<Real>(function, a, b, c);
  }
}

int64_t wrap(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::kBool:
      return bits != 0;
    case DType::kUInt8:
      return static_cast<uint8_t>(bits);
    case DType::kInt8:
      return static_cast<int8_t>(bits);
    case DType::kInt16:
      return static_cast<int16_t>(bits);
    case DType::kInt32:
      return static_cast<int32_t>(bits);
    default:
      return static_cast<int64_t>(bits);
  }
}

int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
  }
  uint64_t result = 1;
  uint64_t factor = static_cast<uint64_t>(base);
  for (; exponent != 0; exponent /= 2, factor *= factor) {
    if (exponent % 2 != 0) result *= factor;
  }
  return static_cast<int64_t>(result);
}

int64_t greatest_common_divisor(int64_t a, int64_t b) {
  uint64_t m = a < 0 ? -static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  uint64_t n = b < 0 ? -static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
  while (m != 0) {
    const uint64_t rest = n % m;
    n = m;
    m = rest;
  }
  return static_cast<int64_t>(n);
}

// Unsigned arithmetic wraps; the caller cuts the result to the dtype.
uint64_t call_integer_primitive(Pointwise function, DType dtype, int64_t a, int64_t b, int64_t c) {
  const auto x = static_cast<uint64_t>(a);
  const auto y = static_cast<uint64_t>(b);
  const int64_t bits = size_bytes(dtype) * 8;
  const bool overflows = b == -1 && a == std::numeric_limits<int64_t>::min();
  const bool is_bool = dtype == DType::kBool;
  if (const std::optional<bool> truth = compare(function, a, b)) return uint64_t{*truth};
  switch (function) {
    case Pointwise::kAdd:
      return is_bool ? x | y : x + y;
    case Pointwise::kSub:
      return x - y;
    case Pointwise::kMul:
      return x * y;
    case Pointwise::kTruncDivide:
      return b == 0 ? 0 : overflows ? x : static_cast<uint64_t>(a / b);
    case Pointwise::kFmod:
      return b == 0 || overflows ? 0 : static_cast<uint64_t>(a % b);
    case Pointwise::kFloorDivide: {
      if (b == 0 || overflows) return overflows ? x : 0;
      const bool crosses = a % b != 0 && (a % b < 0) != (b < 0);
      return static_cast<uint64_t>(a / b - (crosses ? 1 : 0));
    }
    case Pointwise::kRemainder: {
      if (b == 0 || overflows) return 0;
      const int64_t rest = a % b;
      return static_cast<uint64_t>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    }
    case Pointwise::kPow:
      return static_cast<uint64_t>(power(a, b));
    case Pointwise::kMaximum:
      return static_cast<uint64_t>(a > b ? a : b);
    case Pointwise::kMinimum:
      return static_cast<uint64_t>(a < b ? a : b);
    case Pointwise::kGcd:
      return static_cast<uint64_t>(greatest_common_divisor(a, b));
    case Pointwise::kBitwiseAnd:
      return x & y;
    case Pointwise::kBitwiseOr:
      return x | y;
    case Pointwise::kBitwiseXor:
      return x ^ y;
    case Pointwise::kBitwiseNot:
      return is_bool ? uint64_t{a == 0} : ~x;
    case Pointwise::kShiftLeft:
      return b < 0 || b >= bits ? 0 : x << b;
    case Pointwise::kShiftRight:
      return static_cast<uint64_t>(a >> (b < 0 || b >= bits ? std::min<int64_t>(bits, 63) : b));
    case Pointwise::kAbs:
      return a < 0 ? -x : x;
    case Pointwise::kNeg:
      return -x;
    case Pointwise::kSignbit:
      return a < 0;
    case Pointwise::kWhere:
      return static_cast<uint64_t>(a != 0 ? b : c);
    default:
      MT_THROW(NotImplementedError, "there is no host evaluation of ", function_info(function).name,
               " for integers");
  }
}

// Functions that are made of others in floats, and primitive for integers.
bool is_primitive(const FunctionInfo& info, Pointwise function, bool of_integers) {
  if (!of_integers) return info.value.empty();
  switch (function) {
    case Pointwise::kFloorDivide:
    case Pointwise::kTruncDivide:
    case Pointwise::kRemainder:
      return true;
    default:
      return info.value.empty() && info.integer_value.empty();
  }
}

template <typename Number, typename Leaf, typename Call>
Number walk(const Expression& expression, const Leaf& leaf, const Call& call) {
  Number values[UINT8_MAX];
  const auto nodes = expression.nodes();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const ExprNode& node = nodes[i];
    if (node.kind != ExprNode::Kind::kCall) {
      values[i] = leaf(node);
      continue;
    }
    Number arguments[3] = {};
    for (int k = 0; k < node.count; ++k) arguments[k] = values[node.arguments[k]];
    values[i] = call(node.function, std::span<const Number>(arguments, node.count));
  }
  return values[nodes.size() - 1];
}

}  // namespace

template <typename Real>
Real evaluate(Pointwise function, std::span<const Real> operands, const PointwiseParams& params) {
  const FunctionInfo& info = function_info(function);
  const auto operand = [&](size_t i) { return i < operands.size() ? operands[i] : Real{0}; };
  if (is_primitive(info, function, false)) {
    return call_primitive<Real>(function, operand(0), operand(1), operand(2));
  }
  const auto leaf = [&](const ExprNode& node) {
    switch (node.kind) {
      case ExprNode::Kind::kOperand:
        return operands[node.index];
      case ExprNode::Kind::kParam:
        return static_cast<Real>(params.f[node.index]);
      default:
        return static_cast<Real>(node.constant);
    }
  };
  return walk<Real>(info.value, leaf, [](Pointwise called, std::span<const Real> arguments) {
    return evaluate<Real>(called, arguments, {});
  });
}

template MT_API float evaluate(Pointwise, std::span<const float>, const PointwiseParams&);
template MT_API double evaluate(Pointwise, std::span<const double>, const PointwiseParams&);
template MT_API long double evaluate(Pointwise,
                                     std::span<const long double>,
                                     const PointwiseParams&);

int64_t evaluate_integer(Pointwise function,
                         DType dtype,
                         std::span<const int64_t> operands,
                         const PointwiseParams& params) {
  const FunctionInfo& info = function_info(function);
  const auto operand = [&](size_t i) { return i < operands.size() ? operands[i] : int64_t{0}; };
  const auto cut = [&](uint64_t bits) {
    return info.values == Values::kBool ? static_cast<int64_t>(bits) : wrap(dtype, bits);
  };
  if (is_primitive(info, function, true)) {
    return cut(call_integer_primitive(function, dtype, operand(0), operand(1), operand(2)));
  }
  const auto leaf = [&](const ExprNode& node) {
    switch (node.kind) {
      case ExprNode::Kind::kOperand:
        return operands[node.index];
      case ExprNode::Kind::kParam:
        return wrap(dtype, static_cast<uint64_t>(params.i[node.index]));
      default:
        return static_cast<int64_t>(node.constant);
    }
  };
  // Small integers are computed as int, as in C, and cut at the end.
  const bool is_small = dtype != DType::kBool && size_bytes(dtype) < 4;
  const DType wide = is_small ? DType::kInt32 : dtype;
  const int64_t result = walk<int64_t>(info.value_in(dtype), leaf,
                                       [&](Pointwise called, std::span<const int64_t> arguments) {
                                         return evaluate_integer(called, wide, arguments, {});
                                       });
  return cut(static_cast<uint64_t>(result));
}

}  // namespace mindtorch::ops
