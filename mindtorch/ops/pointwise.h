#pragma once

#include <cstdint>
#include <string_view>

namespace mindtorch::ops {

// The functions of numbers that pointwise ops apply, with their number of tensor operands. What
// each computes, in which dtypes, and its derivatives: functions/*.cpp, read through functions.h.
// Operands a, b, c are of the compute dtype. p0, p1, p2 are the op's scalar parameters.
// clang-format off
#define MT_POINTWISE_LIST(X)                                                              \
  /* arithmetic */                                                                        \
  X(kAdd, "add", 2)                                                                       \
  X(kSub, "sub", 2)                                                                       \
  X(kMul, "mul", 2)                                                                       \
  X(kDiv, "div", 2)                                                                       \
  X(kAddScaled, "add_scaled", 2)  /* a + p0 * b */                                        \
  X(kFloorDivide, "floor_divide", 2)  /* rounds towards minus infinity */                 \
  X(kTruncDivide, "trunc_divide", 2)  /* rounds towards zero */                           \
  X(kRemainder, "remainder", 2)  /* sign of b, as in Python */                            \
  X(kFmod, "fmod", 2)  /* sign of a, as in C */                                           \
  X(kPow, "pow", 2)                                                                       \
  X(kMaximum, "maximum", 2)                                                               \
  X(kMinimum, "minimum", 2)  /* NaN wins */                                               \
  X(kFmax, "fmax", 2)                                                                     \
  X(kFmin, "fmin", 2)  /* NaN loses */                                                    \
  X(kAtan2, "atan2", 2)                                                                   \
  X(kHypot, "hypot", 2)                                                                   \
  X(kCopysign, "copysign", 2)                                                             \
  X(kNextafter, "nextafter", 2)                                                           \
  X(kLogaddexp, "logaddexp", 2)                                                           \
  X(kLogaddexp2, "logaddexp2", 2)                                                         \
  X(kXlogy, "xlogy", 2)                                                                   \
  X(kHeaviside, "heaviside", 2)                                                           \
  X(kGcd, "gcd", 2)                                                                       \
  X(kLcm, "lcm", 2)                                                                       \
  /* comparison and logic: the result is bool */                                          \
  X(kEq, "eq", 2)                                                                         \
  X(kNe, "ne", 2)                                                                         \
  X(kLt, "lt", 2)                                                                         \
  X(kLe, "le", 2)                                                                         \
  X(kGt, "gt", 2)                                                                         \
  X(kGe, "ge", 2)                                                                         \
  X(kLogicalAnd, "logical_and", 2)                                                        \
  X(kLogicalOr, "logical_or", 2)                                                          \
  X(kLogicalXor, "logical_xor", 2)                                                        \
  X(kLogicalNot, "logical_not", 1)                                                        \
  X(kIsNan, "isnan", 1)                                                                   \
  X(kIsInf, "isinf", 1)                                                                   \
  X(kIsFinite, "isfinite", 1)                                                             \
  X(kIsPosInf, "isposinf", 1)                                                             \
  X(kIsNegInf, "isneginf", 1)                                                             \
  X(kSignbit, "signbit", 1)                                                               \
  /* bits, on integers and bool */                                                        \
  X(kBitwiseAnd, "bitwise_and", 2)                                                        \
  X(kBitwiseOr, "bitwise_or", 2)                                                          \
  X(kBitwiseXor, "bitwise_xor", 2)                                                        \
  X(kBitwiseNot, "bitwise_not", 1)                                                        \
  X(kShiftLeft, "bitwise_left_shift", 2)                                                  \
  X(kShiftRight, "bitwise_right_shift", 2)                                                \
  /* sign and rounding */                                                                 \
  X(kAbs, "abs", 1)  /* the length of complex numbers */                                  \
  X(kAngle, "angle", 1)                                                                   \
  X(kConj, "conj", 1)                                                                     \
  X(kNeg, "neg", 1)                                                                       \
  X(kSign, "sign", 1)                                                                     \
  X(kSquare, "square", 1)                                                                 \
  X(kCube, "cube", 1)                                                                     \
  X(kReciprocal, "reciprocal", 1)                                                         \
  X(kInverseSquare, "inverse_square", 1)  /* 1 / (a * a) */                               \
  X(kCeil, "ceil", 1)                                                                     \
  X(kFloor, "floor", 1)                                                                   \
  X(kRound, "round", 1)  /* half to even */                                               \
  X(kRoundDecimals, "round_decimals", 1)  /* p0 = number of decimals, may be negative */  \
  X(kTrunc, "trunc", 1)                                                                   \
  X(kFrac, "frac", 1)                                                                     \
  X(kNanToNum, "nan_to_num", 1)  /* NaN, inf, -inf become p0, p1, p2 */                   \
  /* exponentials and powers */                                                           \
  X(kSqrt, "sqrt", 1)                                                                     \
  X(kRsqrt, "rsqrt", 1)                                                                   \
  X(kPowScalar, "pow_scalar", 1)  /* a ** p0; p0 >= 0 on integers */                      \
  X(kExp, "exp", 1)                                                                       \
  X(kExp2, "exp2", 1)                                                                     \
  X(kExpm1, "expm1", 1)                                                                   \
  X(kLog, "log", 1)                                                                       \
  X(kLog2, "log2", 1)                                                                     \
  X(kLog10, "log10", 1)                                                                   \
  X(kLog1p, "log1p", 1)                                                                   \
  X(kErf, "erf", 1)                                                                       \
  X(kErfc, "erfc", 1)                                                                     \
  X(kErfinv, "erfinv", 1)                                                                 \
  X(kLgamma, "lgamma", 1)                                                                 \
  X(kDigamma, "digamma", 1)                                                               \
  X(kTrigamma, "trigamma", 1)                                                             \
  X(kLogit, "logit", 1)  /* of a in [p0, p1]; p0 < 0: of any */                           \
  X(kSinc, "sinc", 1)                                                                     \
  /* special functions that are computed in float64 */                                    \
  X(kErfcx, "erfcx", 1)  /* exp(a * a) * erfc(a) */                                       \
  X(kNdtri, "ndtri", 1)                                                                   \
  X(kBesselI0, "i0", 1)                                                                   \
  X(kBesselI0e, "i0e", 1)  /* times exp(-|a|) */                                          \
  X(kBesselI1, "i1", 1)                                                                   \
  X(kBesselI1e, "i1e", 1)                                                                 \
  X(kBesselJ0, "bessel_j0", 1)                                                            \
  X(kBesselJ1, "bessel_j1", 1)                                                            \
  X(kBesselK0, "modified_bessel_k0", 1)                                                   \
  X(kBesselK0e, "scaled_modified_bessel_k0", 1)  /* times exp(a) */                       \
  X(kBesselK1, "modified_bessel_k1", 1)                                                   \
  X(kBesselK1e, "scaled_modified_bessel_k1", 1)                                           \
  X(kBesselY0, "bessel_y0", 1)                                                            \
  X(kBesselY1, "bessel_y1", 1)                                                            \
  X(kAiryAi, "airy_ai", 1)                                                                \
  X(kZeta, "zeta", 2)                                                                     \
  X(kIgamma, "igamma", 2)                                                                 \
  X(kIgammac, "igammac", 2)                                                               \
  X(kStandardGammaGrad, "standard_gamma_grad", 2)                                         \
  X(kDirichletGrad, "dirichlet_grad", 3)                                                  \
  X(kChebyshevT, "chebyshev_polynomial_t", 2)  /* of a, degree b */                       \
  X(kChebyshevU, "chebyshev_polynomial_u", 2)                                             \
  X(kChebyshevV, "chebyshev_polynomial_v", 2)                                             \
  X(kChebyshevW, "chebyshev_polynomial_w", 2)                                             \
  X(kShiftedChebyshevT, "shifted_chebyshev_polynomial_t", 2)                              \
  X(kShiftedChebyshevU, "shifted_chebyshev_polynomial_u", 2)                              \
  X(kShiftedChebyshevV, "shifted_chebyshev_polynomial_v", 2)                              \
  X(kShiftedChebyshevW, "shifted_chebyshev_polynomial_w", 2)                              \
  X(kHermiteH, "hermite_polynomial_h", 2)                                                 \
  X(kHermiteHe, "hermite_polynomial_he", 2)                                               \
  X(kLaguerreL, "laguerre_polynomial_l", 2)                                               \
  X(kLegendreP, "legendre_polynomial_p", 2)                                               \
  /* trigonometry */                                                                      \
  X(kSin, "sin", 1)                                                                       \
  X(kCos, "cos", 1)                                                                       \
  X(kTan, "tan", 1)                                                                       \
  X(kAsin, "asin", 1)                                                                     \
  X(kAcos, "acos", 1)                                                                     \
  X(kAtan, "atan", 1)                                                                     \
  X(kSinh, "sinh", 1)                                                                     \
  X(kCosh, "cosh", 1)                                                                     \
  X(kTanh, "tanh", 1)                                                                     \
  X(kAsinh, "asinh", 1)                                                                   \
  X(kAcosh, "acosh", 1)                                                                   \
  X(kAtanh, "atanh", 1)                                                                   \
  X(kDeg2rad, "deg2rad", 1)                                                               \
  X(kRad2deg, "rad2deg", 1)                                                               \
  /* activations */                                                                       \
  X(kSigmoid, "sigmoid", 1)                                                               \
  X(kRelu, "relu", 1)                                                                     \
  X(kGelu, "gelu", 1)                                                                     \
  X(kGeluTanh, "gelu_tanh", 1)                                                            \
  X(kSilu, "silu", 1)                                                                     \
  X(kMish, "mish", 1)                                                                     \
  X(kElu, "elu", 1)  /* a > 0 ? p1 * a : p0 * p1 * expm1(p2 * a) */                       \
  X(kLeakyRelu, "leaky_relu", 1)  /* p0 = slope */                                        \
  X(kSoftplus, "softplus", 1)  /* p0 = beta, p1 = threshold */                            \
  X(kHardsigmoid, "hardsigmoid", 1)                                                       \
  X(kHardswish, "hardswish", 1)                                                           \
  X(kLogSigmoid, "log_sigmoid", 1)                                                        \
  X(kHardshrink, "hardshrink", 1)                                                         \
  X(kSoftshrink, "softshrink", 1)  /* p0 = lambda */                                      \
  X(kThreshold, "threshold", 1)  /* a > p0 ? a : p1 */                                    \
  X(kPrelu, "prelu", 2)  /* a > 0 ? a : b * a */                                          \
  /* clamping: NaN in any operand gives NaN */                                            \
  X(kClampScalar, "clamp_scalar", 1)  /* min(max(a, p0), p1) */                           \
  X(kClampMinScalar, "clamp_min_scalar", 1)                                               \
  X(kClampMaxScalar, "clamp_max_scalar", 1)                                               \
  X(kClamp, "clamp", 3)                                                                   \
  /* three operands */                                                                    \
  X(kWhere, "where", 3)  /* a, the condition, is bool; b and c of compute dtype */        \
  X(kLerp, "lerp", 3)  /* a + c * (b - a), exact at both ends */                          \
  X(kLerpScalar, "lerp_scalar", 2)  /* the same with weight p0 */                         \
  X(kAddcmul, "addcmul", 3)  /* a + p0 * b * c */                                         \
  X(kAddcdiv, "addcdiv", 3)  /* a + p0 * b / c */

// clang-format on

// Functions that are registered later, among them all derivatives, have numbers behind these.
enum class Pointwise : uint16_t {
#define MT_ENTRY(id, name, arity) id,
  MT_POINTWISE_LIST(MT_ENTRY)
#undef MT_ENTRY
};

struct PointwiseInfo {
  std::string_view name;
  uint8_t arity;
};

inline constexpr PointwiseInfo kPointwiseInfo[] = {
#define MT_ENTRY(id, name, arity) {name, arity},
    MT_POINTWISE_LIST(MT_ENTRY)
#undef MT_ENTRY
};
inline constexpr int kPointwiseCount = sizeof(kPointwiseInfo) / sizeof(kPointwiseInfo[0]);

constexpr bool is_built_in(Pointwise function) {
  return static_cast<int>(function) < kPointwiseCount;
}
// Of functions that are built in.
constexpr const PointwiseInfo& info(Pointwise function) {
  return kPointwiseInfo[static_cast<int>(function)];
}

// How many functions there can be, those that are registered included.
inline constexpr int kMaxFunctions = 512;
// The largest number of tensors that one function takes.
inline constexpr int kMaxOperands = 4;

// Scalar parameters, in all readings: kernels on integers read `i`, on floats `f`, on complex
// numbers `f` and `imag`.
struct PointwiseParams {
  double f[3] = {0, 0, 0};
  int64_t i[3] = {0, 0, 0};
  double imag[3] = {0, 0, 0};
};

}  // namespace mindtorch::ops
