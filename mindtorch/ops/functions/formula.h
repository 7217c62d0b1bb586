#pragma once

#include <cmath>

#include "mindtorch/ops/expression.h"

// Expressions written as formulas: 1 / (1 + exp(-a)).
namespace mindtorch::ops::formula {

// A value of an expression under construction: formulas are written as in C++.
class Expr {
 public:
  Expr(ExprBuilder& builder, uint8_t node) : builder_(&builder), node_(node) {}

  ExprBuilder& builder() const { return *builder_; }
  uint8_t node() const { return node_; }
  Expr number(double value) const { return {*builder_, builder_->constant(value)}; }
  // i, in formulas of complex numbers.
  Expr imaginary_unit() const { return {*builder_, builder_->constant(0, 1)}; }

 private:
  ExprBuilder* builder_;
  uint8_t node_;
};

// clang-format off
#define MT_EXPR_UNARY(name, function)                                                    \
  inline Expr name(Expr a) {                                                             \
    return {a.builder(), a.builder().call(Pointwise::function, {a.node()})};             \
  }
#define MT_EXPR_BINARY(name, function)                                                   \
  inline Expr name(Expr a, Expr b) {                                                     \
    return {a.builder(), a.builder().call(Pointwise::function, {a.node(), b.node()})};   \
  }                                                                                      \
  inline Expr name(Expr a, double b) { return name(a, a.number(b)); }                    \
  inline Expr name(double a, Expr b) { return name(b.number(a), b); }

MT_EXPR_BINARY(operator+, kAdd)
MT_EXPR_BINARY(operator-, kSub)
MT_EXPR_BINARY(operator*, kMul)
MT_EXPR_BINARY(operator/, kDiv)
MT_EXPR_BINARY(operator==, kEq)
MT_EXPR_BINARY(operator!=, kNe)
MT_EXPR_BINARY(operator<, kLt)
MT_EXPR_BINARY(operator<=, kLe)
MT_EXPR_BINARY(operator>, kGt)
MT_EXPR_BINARY(operator>=, kGe)
MT_EXPR_BINARY(operator&, kLogicalAnd)
MT_EXPR_BINARY(operator|, kLogicalOr)
MT_EXPR_UNARY(operator!, kLogicalNot)
MT_EXPR_UNARY(operator-, kNeg)
MT_EXPR_BINARY(logical_xor, kLogicalXor)
MT_EXPR_BINARY(maximum, kMaximum)
MT_EXPR_BINARY(minimum, kMinimum)
MT_EXPR_BINARY(fmod, kFmod)
MT_EXPR_BINARY(atan2, kAtan2)
MT_EXPR_BINARY(pow, kPow)
MT_EXPR_BINARY(copysign, kCopysign)
MT_EXPR_BINARY(floor_divide, kFloorDivide)
MT_EXPR_BINARY(trunc_divide, kTruncDivide)
MT_EXPR_BINARY(remainder, kRemainder)
MT_EXPR_BINARY(gcd, kGcd)
MT_EXPR_UNARY(abs, kAbs)
MT_EXPR_UNARY(conj, kConj)
MT_EXPR_UNARY(sign, kSign)
MT_EXPR_UNARY(square, kSquare)
MT_EXPR_UNARY(floor, kFloor)
MT_EXPR_UNARY(round, kRound)
MT_EXPR_UNARY(trunc, kTrunc)
MT_EXPR_UNARY(sqrt, kSqrt)
MT_EXPR_UNARY(rsqrt, kRsqrt)
MT_EXPR_UNARY(exp, kExp)
MT_EXPR_UNARY(exp2, kExp2)
MT_EXPR_UNARY(expm1, kExpm1)
MT_EXPR_UNARY(log, kLog)
MT_EXPR_UNARY(log1p, kLog1p)
MT_EXPR_UNARY(erf, kErf)
MT_EXPR_UNARY(erfc, kErfc)
MT_EXPR_UNARY(digamma, kDigamma)
MT_EXPR_UNARY(trigamma, kTrigamma)
MT_EXPR_UNARY(lgamma, kLgamma)
MT_EXPR_UNARY(erfcx, kErfcx)
MT_EXPR_UNARY(bessel_i0, kBesselI0)
MT_EXPR_UNARY(bessel_i0e, kBesselI0e)
MT_EXPR_UNARY(bessel_i1, kBesselI1)
MT_EXPR_UNARY(bessel_i1e, kBesselI1e)
MT_EXPR_BINARY(zeta, kZeta)
MT_EXPR_BINARY(chebyshev_t, kChebyshevT)
MT_EXPR_BINARY(chebyshev_u, kChebyshevU)
MT_EXPR_BINARY(chebyshev_v, kChebyshevV)
MT_EXPR_BINARY(chebyshev_w, kChebyshevW)
MT_EXPR_UNARY(sin, kSin)
MT_EXPR_UNARY(cos, kCos)
MT_EXPR_UNARY(sinh, kSinh)
MT_EXPR_UNARY(cosh, kCosh)
MT_EXPR_UNARY(tanh, kTanh)
MT_EXPR_UNARY(sigmoid, kSigmoid)
MT_EXPR_UNARY(isnan, kIsNan)
MT_EXPR_UNARY(isinf, kIsInf)
MT_EXPR_UNARY(isfinite, kIsFinite)
MT_EXPR_UNARY(signbit, kSignbit)
#undef MT_EXPR_UNARY
#undef MT_EXPR_BINARY
// clang-format on

inline Expr where(Expr condition, Expr yes, Expr no) {
  return {condition.builder(),
          condition.builder().call(Pointwise::kWhere, {condition.node(), yes.node(), no.node()})};
}
inline Expr where(Expr condition, double yes, Expr no) {
  return where(condition, no.number(yes), no);
}
inline Expr where(Expr condition, Expr yes, double no) {
  return where(condition, yes, yes.number(no));
}
inline Expr where(Expr condition, double yes, double no) {
  return where(condition, condition.number(yes), condition.number(no));
}

}  // namespace mindtorch::ops::formula
