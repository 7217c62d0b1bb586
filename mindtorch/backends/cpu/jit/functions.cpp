#include "mindtorch/backends/cpu/jit/functions.h"

#include <cmath>
#include <limits>

namespace mindtorch::cpu::jit {
namespace {

using ops::Pointwise;

// Shorthand for one call: constants are of its kind.
struct Maker {
  Emitter& e;
  const Call& call;

  Operand constant(double value) const { return e.constant(call.kind, value); }
  Operand zero() const { return constant(0); }
  Operand one() const { return constant(1); }
  Operand param(int index) const { return constant(call.params->f[index]); }
  Operand infinity() const { return constant(std::numeric_limits<double>::infinity()); }
  Operand sign_bit() const {
    const bool full = call.kind == Kind::kFloat64;
    return e.constant_bits(call.kind, full ? uint64_t{1} << 63 : uint64_t{1} << 31);
  }
  Operand magnitude_bits() const {
    const bool full = call.kind == Kind::kFloat64;
    return e.constant_bits(call.kind, full ? ~uint64_t{0} >> 1 : ~uint32_t{0} >> 1);
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
  Value sign(Operand a) const {
    const Value below = e.compare(Compare::kLt, a, zero());
    const Value above = e.compare(Compare::kGt, std::move(a), zero());
    return e.select(below, constant(-1), e.select_or_zero(above, one()));
  }
  Value heaviside(Operand a, Operand b) const {
    const Value above = e.compare(Compare::kGt, a, zero());
    const Value equal = e.compare(Compare::kEq, std::move(a), zero());
    return e.select(equal, std::move(b), e.select_or_zero(above, one()));
  }

  // A NaN operand wins because it stands second; a NaN bound makes everything NaN.
  Value clamp(Operand a, const double* low, const double* high) const {
    const bool nan_bound =
        (low != nullptr && std::isnan(*low)) || (high != nullptr && std::isnan(*high));
    Value v = low != nullptr ? e.max(constant(*low), std::move(a)) : e.copy(std::move(a));
    if (high != nullptr) v = e.min(constant(*high), std::move(v));
    if (nan_bound) v = e.bit_or(std::move(v), constant(std::numeric_limits<double>::quiet_NaN()));
    return v;
  }
  Value lerp(Operand start, Operand end, Operand weight) const {
    Value span = e.sub(end, start);
    const Value low = e.compare(Compare::kLt, abs(weight), constant(0.5));
    Value from_start = e.mul_add(weight, span, std::move(start));
    Value rest = e.sub(one(), std::move(weight));
    Value from_end = e.neg_mul_add(std::move(rest), std::move(span), std::move(end));
    return e.select(low, std::move(from_start), std::move(from_end));
  }
  Value slope(Operand a, Operand factor, bool factor_first) const {
    const Value above = e.compare(Compare::kGt, a, zero());
    Value below = factor_first ? e.mul(std::move(factor), a) : e.mul(a, std::move(factor));
    return e.select(above, std::move(a), std::move(below));
  }
  Value inside(const Operand& a) const {  // [-p0, p0]
    Value above = e.compare(Compare::kGe, a, constant(-call.params->f[0]));
    return e.mask_and(std::move(above), e.compare(Compare::kLe, a, param(0)));
  }
  Value softshrink(Operand a) const {
    const Value within = inside(a);
    const Value above = e.compare(Compare::kGt, a, param(0));
    Value outside = e.select(above, e.sub(a, param(0)), e.add(a, param(0)));
    return e.select(within, e.mul(std::move(a), zero()), std::move(outside));
  }
  Value hard_six(const Operand& a) const {  // min(max(a + 3, 0), 6)
    return e.min(constant(6), e.max(zero(), e.add(a, constant(3))));
  }
  Value nan_to_num(Operand a) const {
    const Value nan = is_nan(a);
    const Value high = e.compare(Compare::kEq, a, infinity());
    const Value low =
        e.compare(Compare::kEq, a, constant(-std::numeric_limits<double>::infinity()));
    Value v = e.select(nan, param(0), std::move(a));
    v = e.select(high, param(1), std::move(v));
    return e.select(low, param(2), std::move(v));
  }
};

// Functions of bool. Truth is what counts, as everywhere.
Value emit_logic(Emitter& e, const Call& call, std::span<Operand> in) {
  switch (call.function) {
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
Value emit_test(const Maker& m, std::span<Operand> in) {
  Emitter& e = m.e;
  switch (m.call.function) {
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
    case Pointwise::kIsInf:
      return e.compare(Compare::kEq, m.abs(std::move(in[0])), m.infinity());
    case Pointwise::kIsFinite:
      return e.compare(Compare::kLt, m.abs(std::move(in[0])), m.infinity());
    case Pointwise::kIsPosInf:
      return e.compare(Compare::kEq, std::move(in[0]), m.infinity());
    case Pointwise::kIsNegInf:
      return e.compare(Compare::kEq, std::move(in[0]),
                       m.constant(-std::numeric_limits<double>::infinity()));
    default:
      return Value();
  }
}

Value emit_arithmetic(const Maker& m, std::span<Operand> in) {
  Emitter& e = m.e;
  switch (m.call.function) {
    case Pointwise::kAdd:
      return e.add(std::move(in[0]), std::move(in[1]));
    case Pointwise::kSub:
      return e.sub(std::move(in[0]), std::move(in[1]));
    case Pointwise::kMul:
      return e.mul(std::move(in[0]), std::move(in[1]));
    case Pointwise::kDiv:
      return e.div(std::move(in[0]), std::move(in[1]));
    case Pointwise::kTruncDivide:
      return e.round(e.div(std::move(in[0]), std::move(in[1])), 3);
    case Pointwise::kAddScaled:
      return e.mul_add(std::move(in[1]), m.param(0), std::move(in[0]));
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
    case Pointwise::kHeaviside:
      return m.heaviside(std::move(in[0]), std::move(in[1]));
    case Pointwise::kAbs:
      return m.abs(std::move(in[0]));
    case Pointwise::kNeg:
      return e.bit_xor(std::move(in[0]), m.sign_bit());
    case Pointwise::kSign:
      return m.sign(std::move(in[0]));
    case Pointwise::kSquare:
      return e.mul(in[0], std::move(in[0]));
    case Pointwise::kCube: {
      Value square = e.mul(in[0], in[0]);
      return e.mul(std::move(square), std::move(in[0]));
    }
    case Pointwise::kReciprocal:
      return e.div(m.one(), std::move(in[0]));
    case Pointwise::kInverseSquare:
      return e.div(m.one(), e.mul(in[0], std::move(in[0])));
    case Pointwise::kSqrt:
      return e.sqrt(std::move(in[0]));
    case Pointwise::kRsqrt:
      return e.div(m.one(), e.sqrt(std::move(in[0])));
    case Pointwise::kRound:
      return e.round(std::move(in[0]), 0);
    case Pointwise::kFloor:
      return e.round(std::move(in[0]), 1);
    case Pointwise::kCeil:
      return e.round(std::move(in[0]), 2);
    case Pointwise::kTrunc:
      return e.round(std::move(in[0]), 3);
    case Pointwise::kFrac: {
      Value whole = e.round(in[0], 3);
      return e.sub(std::move(in[0]), std::move(whole));
    }
    case Pointwise::kNanToNum:
      return m.nan_to_num(std::move(in[0]));
    default:
      return Value();
  }
}

Value emit_selection(const Maker& m, std::span<Operand> in) {
  Emitter& e = m.e;
  const double* const p = m.call.params->f;
  switch (m.call.function) {
    case Pointwise::kWhere:
      return e.select(std::move(in[0]), std::move(in[1]), std::move(in[2]));
    case Pointwise::kClampScalar:
      return m.clamp(std::move(in[0]), &p[0], &p[1]);
    case Pointwise::kClampMinScalar:
      return m.clamp(std::move(in[0]), &p[0], nullptr);
    case Pointwise::kClampMaxScalar:
      return m.clamp(std::move(in[0]), nullptr, &p[0]);
    case Pointwise::kClamp:
      return m.minimum(m.maximum(std::move(in[0]), std::move(in[1])), std::move(in[2]));
    case Pointwise::kLerp:
      return m.lerp(std::move(in[0]), std::move(in[1]), std::move(in[2]));
    case Pointwise::kLerpScalar:
      return m.lerp(std::move(in[0]), std::move(in[1]), m.param(0));
    case Pointwise::kAddcmul:
      return e.mul_add(e.mul(m.param(0), std::move(in[1])), std::move(in[2]), std::move(in[0]));
    case Pointwise::kAddcdiv: {
      Value quotient = e.div(e.mul(m.param(0), std::move(in[1])), std::move(in[2]));
      return e.add(std::move(in[0]), std::move(quotient));
    }
    case Pointwise::kRelu:
      return e.max(m.zero(), std::move(in[0]));
    case Pointwise::kLeakyRelu:
      return m.slope(std::move(in[0]), m.param(0), false);
    case Pointwise::kPrelu:
      return m.slope(std::move(in[0]), std::move(in[1]), true);
    case Pointwise::kThreshold: {
      const Value below = e.compare(Compare::kLe, in[0], m.param(0));
      return e.select(below, m.param(1), std::move(in[0]));
    }
    case Pointwise::kHardshrink: {
      const Value outside = e.mask_not(m.inside(in[0]));
      return e.select_or_zero(outside, std::move(in[0]));
    }
    case Pointwise::kSoftshrink:
      return m.softshrink(std::move(in[0]));
    case Pointwise::kHardsigmoid:
      return e.div(m.hard_six(in[0]), m.constant(6));
    case Pointwise::kHardswish: {
      Value factor = m.hard_six(in[0]);
      return e.div(e.mul(std::move(in[0]), std::move(factor)), m.constant(6));
    }
    default:
      return Value();
  }
}

}  // namespace

Value emit(Emitter& e, const Call& call, std::span<Operand> in) {
  if (call.kind == Kind::kMask) return emit_logic(e, call, in);
  const Maker maker{e, call};
  if (ops::gives_bool(call.function)) return emit_test(maker, in);
  if (Value value = emit_arithmetic(maker, in); value.is_set()) return value;
  if (Value value = emit_selection(maker, in); value.is_set()) return value;
  return in.size() == 1 ? emit_transcendental(e, call, std::move(in[0])) : Value();
}

}  // namespace mindtorch::cpu::jit
