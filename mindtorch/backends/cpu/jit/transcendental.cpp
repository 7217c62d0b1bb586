// Exponentials, logarithms and what is made of them, in float32. The tiles of the same names
// (tiles/math-inl.h, activation.cpp, hyperbolic.cpp, error_function.cpp) say why each is computed
// as it is.
#include <limits>

#include "mindtorch/backends/cpu/jit/functions.h"
#include "mindtorch/backends/cpu/tiles/polynomials.h"

namespace mindtorch::cpu::jit {
namespace {

using ops::Pointwise;

struct Reduced {
  Value whole, rest;
};

struct Math {
  Emitter& e;

  Operand constant(double value) const { return e.constant(Kind::kFloat32, value); }
  Operand sign_bit() const { return e.constant_bits(Kind::kFloat32, 0x80000000); }
  Value abs(Operand a) const {
    return e.bit_and(std::move(a), e.constant_bits(Kind::kFloat32, 0x7fffffff));
  }
  Value neg(Operand a) const { return e.bit_xor(std::move(a), sign_bit()); }
  Value copysign(Operand magnitude, Operand sign) const {
    Value bits = e.bit_and(std::move(sign), sign_bit());
    return e.bit_or(abs(std::move(magnitude)), std::move(bits));
  }
  Value is_negative(const Operand& a) const { return e.compare(Compare::kLt, a, constant(0)); }

  template <size_t kTerms>
  Value polynomial(const Operand& x, const float (&c)[kTerms]) const {
    Value sum = e.mul_add(x, constant(c[kTerms - 1]), constant(c[kTerms - 2]));
    for (size_t i = kTerms - 2; i-- > 0;) sum = e.mul_add(std::move(sum), x, constant(c[i]));
    return sum;
  }

  Reduced reduce_exp(Operand x) const {
    const Operand magic = constant(0x1.8p23f);
    Value whole = e.sub(e.mul_add(x, constant(0x1.715476p0f), magic), magic);
    Value rest = e.neg_mul_add(whole, constant(0x1.62e43p-1f), std::move(x));
    rest = e.neg_mul_add(whole, constant(-0x1.05c61p-29f), std::move(rest));
    return {std::move(whole), std::move(rest)};
  }
  Value power_of_two(Operand n) const {
    return e.shift_left(e.add(std::move(n), constant(0x1.8p23f + 127)), 23);
  }
  Value exp_of_rest(Operand r) const {
    Value p = e.mul_add(polynomial(r, polynomials::kExp), r, constant(1));
    return e.mul_add(std::move(p), std::move(r), constant(1));
  }
  Value careful_exp_of_rest(Operand r) const {
    Value p = e.mul(polynomial(r, polynomials::kExp), r);
    return e.add(e.mul_add(std::move(p), r, r), constant(1));
  }
  Value expm1_of_rest(Operand r) const {
    Value p = e.mul(polynomial(r, polynomials::kExpm1), r);
    return e.mul_add(std::move(p), r, r);
  }

  Value exp_negative(Operand x) const {
    Reduced n = reduce_exp(e.max(constant(-104), std::move(x)));
    Value power = exp_of_rest(std::move(n.rest));
    return e.scale(std::move(power), std::move(n.whole));
  }
  Value exp(Operand x) const { return exp_negative(e.min(constant(89), std::move(x))); }
  Value exp2(Operand x) const {
    const Operand magic = constant(0x1.8p23f);
    const Value clamped = e.max(constant(-151), e.min(constant(129), std::move(x)));
    const Value whole = e.sub(e.add(clamped, magic), magic);
    const Value r = e.sub(clamped, whole);
    const Value high = e.mul(r, constant(0x1.62e43p-1f));
    Value low = e.mul_sub(r, constant(0x1.62e43p-1f), high);
    low = e.mul_add(r, constant(-0x1.05c61p-29f), std::move(low));
    const Value power = exp_of_rest(high);
    return e.scale(e.mul_add(power, std::move(low), power), whole);
  }
  Value expm1(Operand x) const {
    const Value is_zero = e.compare(Compare::kEq, x, constant(0));
    Reduced n = reduce_exp(e.max(constant(-20), e.min(constant(89), x)));
    const Value p = expm1_of_rest(std::move(n.rest));
    const Value scale = power_of_two(e.sub(std::move(n.whole), constant(1)));
    const Value half = e.mul_add(scale, p, e.sub(scale, constant(0.5)));
    return e.select(is_zero, std::move(x), e.add(half, half));
  }
  Value log(Operand x) const {
    const Value mantissa = e.mantissa(x);
    Value exponent = e.exponent(std::move(x));
    exponent = e.sub(std::move(exponent), e.exponent(mantissa));
    const Value f = e.sub(mantissa, constant(1));
    Value t = e.mul_sub(polynomial(f, polynomials::kLog), f, constant(0.5));
    t = e.mul(e.mul(f, f), std::move(t));
    Value low = e.mul_add(exponent, constant(0x1.efa39ep-25f), std::move(t));
    return e.mul_add(std::move(exponent), constant(0x1.62e42ep-1f), e.add(f, std::move(low)));
  }

  Value sigmoid(Operand a) const {
    const Value negative = is_negative(a);
    const Value x = e.max(constant(-104), e.bit_or(std::move(a), sign_bit()));
    Reduced n = reduce_exp(x);
    Value power = exp_of_rest(std::move(n.rest));
    power = e.scale(std::move(power), std::move(n.whole));
    Value top = e.select(negative, power, constant(1));
    return e.div(std::move(top), e.add(constant(1), std::move(power)));
  }
  Value nan_at_minus_infinity(Operand a, Value result) const {
    using L = std::numeric_limits<float>;
    const Value lowest = e.compare(Compare::kEq, std::move(a), constant(-L::infinity()));
    return e.select(lowest, constant(L::quiet_NaN()), std::move(result));
  }
  Value silu(Operand a) const {
    const Value negative = is_negative(a);
    Value x = e.max(constant(-120), e.bit_or(a, sign_bit()));
    Reduced n = reduce_exp(x);
    Value rest = careful_exp_of_rest(std::move(n.rest));
    Value below = e.scale(e.mul(rest, std::move(x)), n.whole);
    Value bottom = e.add(constant(1), e.scale(std::move(rest), std::move(n.whole)));
    Value result = e.div(e.select(negative, std::move(below), a), std::move(bottom));
    return nan_at_minus_infinity(std::move(a), std::move(result));
  }
  Value gelu_tanh(Operand a) const {
    const Operand c = constant(0x1.988454p0f);
    const Operand k = constant(0x1.2444f2p-4f);
    Value x = e.min(constant(12), abs(a));
    const Value square = e.mul(x, x);
    const Value cubic = e.mul(k, square);
    const Value inner = e.add(cubic, c);
    const Value added = e.sub(inner, cubic);
    Value low = e.sub(cubic, e.sub(inner, added));
    low = e.add(std::move(low), e.sub(c, added));
    low = e.add(std::move(low), e.mul_sub(k, square, cubic));
    low = e.mul_add(k, e.mul_sub(x, x, square), std::move(low));
    low = e.mul_add(square, constant(0x1.49b16ap-29f), std::move(low));
    low = e.add(std::move(low), constant(-0x1.857936p-25f));
    Value z = e.mul(x, inner);
    low = e.mul_add(x, std::move(low), e.mul_sub(x, inner, z));

    Reduced n = reduce_exp(neg(std::move(z)));
    Value rest = careful_exp_of_rest(e.sub(std::move(n.rest), std::move(low)));
    Value below = neg(e.scale(e.mul(rest, std::move(x)), n.whole));
    Value bottom = e.add(constant(1), e.scale(std::move(rest), std::move(n.whole)));
    const Value negative = is_negative(a);
    Value result = e.div(e.select(negative, std::move(below), a), std::move(bottom));
    return nan_at_minus_infinity(std::move(a), std::move(result));
  }
  Value gelu(Operand a) const {
    const Value t = e.min(constant(14.5), abs(a));
    const Operand magic = constant(0x1.8p23f);
    Value whole = e.mul_add(t, e.mul(t, constant(-0x1.715476p-1f)), magic);
    whole = e.sub(std::move(whole), magic);
    Value rest = e.mul_add(t, t, e.mul(whole, constant(0x1.62e4p0f)));
    rest = e.mul_add(whole, constant(0x1.7f7d1cp-19f), std::move(rest));
    Value top = e.mul(polynomial(t, polynomials::kGeluTop), t);
    top = e.mul(std::move(top), polynomial(rest, polynomials::kGeluExp));
    Value q = e.div(std::move(top), polynomial(t, polynomials::kGeluBottom));
    q = e.scale(std::move(q), std::move(whole));
    const Value negative = is_negative(a);
    Value is_above = e.select(negative, constant(0), constant(1));
    return e.mul_sub(std::move(a), std::move(is_above), std::move(q));
  }
  Value mish(Operand a) const {
    const Value w = exp_negative(e.min(constant(20), a));
    const Value u = e.mul(w, e.add(w, constant(2)));
    return e.mul(std::move(a), e.div(u, e.add(u, constant(2))));
  }
  Value elu(Operand a, const double* p) const {
    Value below = e.mul(constant(p[0] * p[1]), expm1(e.mul(a, constant(p[2]))));
    const Value negative = is_negative(a);
    return e.select(negative, std::move(below), e.mul(std::move(a), constant(p[1])));
  }
  Value tanh(Operand a) const {
    const Value x = e.min(constant(10), abs(a));
    const Operand magic = constant(0x1.8p23f + 127);
    const Value shifted = e.mul_add(x, constant(0x1.715476p1f), magic);
    const Value whole = e.sub(shifted, magic);
    const Value rest = e.neg_mul_add(whole, constant(0x1.62e43p-2f), x);
    const Value scale = e.shift_left(shifted, 23);
    const Value power = polynomial(rest, polynomials::kTanhExp);
    Value large = e.div(constant(2), e.mul_add(power, scale, constant(1)));
    large = e.sub(constant(1), std::move(large));
    const Value square = e.mul(x, x);
    Value small = e.mul(polynomial(square, polynomials::kTanh), square);
    small = e.mul_add(std::move(small), x, x);
    const Value is_small = e.compare(Compare::kLt, x, constant(1));
    return copysign(e.select(is_small, std::move(small), std::move(large)), std::move(a));
  }
  Value erf(Operand a) const {
    const Value x = e.min(constant(4), abs(a));
    const Value square = e.mul(x, x);
    Value close = e.mul_add(polynomial(square, polynomials::kErfNear), x, x);
    Reduced n = reduce_exp(neg(polynomial(x, polynomials::kErfFar)));
    const Value power = exp_of_rest(std::move(n.rest));
    Value far = e.neg_mul_add(power, power_of_two(std::move(n.whole)), constant(1));
    const Value is_far = e.compare(Compare::kGt, x, constant(1));
    return copysign(e.select(is_far, std::move(far), std::move(close)), std::move(a));
  }
};

}  // namespace

Value emit_transcendental(Emitter& e, const Call& call, Operand a) {
  if (call.kind != Kind::kFloat32) return Value();
  const Math math{e};
  switch (call.function) {
    case Pointwise::kExp:
      return math.exp(std::move(a));
    case Pointwise::kExp2:
      return math.exp2(std::move(a));
    case Pointwise::kExpm1:
      return math.expm1(std::move(a));
    case Pointwise::kLog:
      return e.has_exponent() ? math.log(std::move(a)) : Value();
    case Pointwise::kSigmoid:
      return math.sigmoid(std::move(a));
    case Pointwise::kSilu:
      return math.silu(std::move(a));
    case Pointwise::kGelu:
      return math.gelu(std::move(a));
    case Pointwise::kGeluTanh:
      return math.gelu_tanh(std::move(a));
    case Pointwise::kMish:
      return math.mish(std::move(a));
    case Pointwise::kElu:
      return math.elu(std::move(a), call.params->f);
    case Pointwise::kTanh:
      return math.tanh(std::move(a));
    case Pointwise::kErf:
      return math.erf(std::move(a));
    default:
      return Value();
  }
}

}  // namespace mindtorch::cpu::jit
