#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "mindtorch/ops/pointwise.h"

// What every pointwise function should give, written as plainly as possible.
namespace mindtorch::cpu::reference {

using ops::Pointwise;
using ops::PointwiseParams;
using Real = long double;

inline Real nan() { return std::numeric_limits<Real>::quiet_NaN(); }
inline Real infinity() { return std::numeric_limits<Real>::infinity(); }
inline Real pi() { return 3.141592653589793238462643383279502884L; }

inline Real sigmoid(Real x) {
  const Real e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}
inline Real softplus(Real x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
// Activations that multiply a by something between 0 and 1: of -inf that is 0.
inline Real infinite(Real a) { return a > 0 ? a : nan(); }
inline Real maximum(Real a, Real b) { return a != a || b != b ? nan() : std::fmax(a, b); }
inline Real minimum(Real a, Real b) { return a != a || b != b ? nan() : std::fmin(a, b); }

inline Real remainder(Real a, Real b) {
  const Real rest = std::fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
inline Real digamma(Real x) {
  if (x == 0) return std::copysign(infinity(), -x);
  if (x < 0) {
    if (x == std::trunc(x)) return nan();
    return digamma(1 - x) - pi() / std::tan(pi() * (x - std::trunc(x)));
  }
  Real result = 0;
  for (; x < 30; x += 1) result -= 1 / x;
  const Real z = 1 / (x * x);
  const Real series = z * (1 / 12.0L - z * (1 / 120.0L - z * (1 / 252.0L - z / 240.0L)));
  return result + std::log(x) - 0.5L / x - (x < 1e10L ? series : 0);
}
inline Real erfinv(Real y) {
  if (!(std::fabs(y) < 1)) return std::fabs(y) == 1 ? std::copysign(infinity(), y) : nan();
  if (std::fabs(y) < 1e-6L) return y * std::sqrt(pi()) / 2 * (1 + pi() * y * y / 12);
  // Bisection on erfc, which keeps its digits near the ends.
  Real low = 0;
  Real high = 30;
  const Real rest = 1 - std::fabs(y);
  for (int i = 0; i < 200; ++i) {
    const Real middle = (low + high) / 2;
    const bool left =
        std::fabs(y) < 0.5L ? std::erf(middle) > std::fabs(y) : std::erfc(middle) < rest;
    (left ? high : low) = middle;
  }
  return std::copysign(low, y);
}

// Functions of floats that give floats. The result is exact to many more digits than the operands'
// type T holds, and not rounded to it.
template <class T>
Real of_floats(Pointwise function, Real a, Real b, Real c, const PointwiseParams& params) {
  const Real p0 = static_cast<T>(params.f[0]);
  const Real p1 = static_cast<T>(params.f[1]);
  const Real p2 = static_cast<T>(params.f[2]);
  switch (function) {
    case Pointwise::kAdd:
      return a + b;
    case Pointwise::kSub:
      return a - b;
    case Pointwise::kMul:
      return a * b;
    case Pointwise::kDiv:
      return a / b;
    case Pointwise::kAddScaled:
      return a + p0 * b;
    case Pointwise::kFloorDivide: {
      if (b == 0 || a != a || b != b || std::isinf(a))
        return std::isinf(a) && b != 0 ? nan() : a / b;
      if (std::isinf(b)) return a == 0 || (a < 0) == (b < 0) ? std::copysign(0.0L, a / b) : -1;
      const Real quotient = (a - remainder(a, b)) / b;
      return quotient == 0 ? std::copysign(0.0L, a / b) : std::nearbyint(quotient);
    }
    case Pointwise::kTruncDivide:
      return std::trunc(static_cast<Real>(static_cast<T>(a / b)));
    case Pointwise::kRemainder:
      return remainder(a, b);
    case Pointwise::kFmod:
      return std::fmod(a, b);
    case Pointwise::kPow:
      return std::pow(a, b);
    case Pointwise::kMaximum:
      return maximum(a, b);
    case Pointwise::kMinimum:
      return minimum(a, b);
    case Pointwise::kFmax:
      return std::fmax(a, b);
    case Pointwise::kFmin:
      return std::fmin(a, b);
    case Pointwise::kAtan2:
      return std::atan2(a, b);
    case Pointwise::kHypot:
      return std::hypot(a, b);
    case Pointwise::kCopysign:
      return std::copysign(a, b);
    case Pointwise::kNextafter:
      return std::nextafter(static_cast<T>(a), static_cast<T>(b));
    case Pointwise::kLogaddexp:
      return a == b && std::isinf(a) ? a : maximum(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
    case Pointwise::kLogaddexp2:
      return a == b && std::isinf(a)
                 ? a
                 : maximum(a, b) + std::log1p(std::exp2(-std::fabs(a - b))) / std::log(2.0L);
    case Pointwise::kXlogy:
      return a == 0 && b == b ? 0 : a * std::log(b);
    case Pointwise::kHeaviside:
      return a == 0 ? b : (a > 0 ? 1 : 0);
    case Pointwise::kAbs:
      return std::fabs(a);
    case Pointwise::kNeg:
      return -a;
    case Pointwise::kSign:
      return a > 0 ? 1 : (a < 0 ? -1 : 0);
    case Pointwise::kSquare:
      return a * a;
    case Pointwise::kCube:
      return a * a * a;
    case Pointwise::kReciprocal:
      return 1 / a;
    case Pointwise::kInverseSquare:
      return 1 / (a * a);
    case Pointwise::kPowScalar:
      return std::pow(a, p0);
    case Pointwise::kCeil:
      return std::ceil(a);
    case Pointwise::kFloor:
      return std::floor(a);
    case Pointwise::kRound:
      return std::nearbyint(a);
    case Pointwise::kRoundDecimals: {
      // Each step rounds in T, as torch's does.
      const T ten = static_cast<T>(std::pow(10.0, std::fabs(params.f[0])));
      const T x = static_cast<T>(a);
      return params.i[0] >= 0 ? static_cast<T>(std::nearbyint(static_cast<T>(x * ten)) / ten)
                              : static_cast<T>(std::nearbyint(static_cast<T>(x / ten)) * ten);
    }
    case Pointwise::kTrunc:
      return std::trunc(a);
    case Pointwise::kFrac:
      return a - std::trunc(a);
    case Pointwise::kNanToNum:
      return a != a ? p0 : (std::isinf(a) ? (a > 0 ? p1 : p2) : a);
    case Pointwise::kSqrt:
      return std::sqrt(a);
    case Pointwise::kRsqrt:
      return 1 / std::sqrt(a);
    case Pointwise::kExp:
      return std::exp(a);
    case Pointwise::kExp2:
      return std::exp2(a);
    case Pointwise::kExpm1:
      return std::expm1(a);
    case Pointwise::kLog:
      return std::log(a);
    case Pointwise::kLog2:
      return std::log2(a);
    case Pointwise::kLog10:
      return std::log10(a);
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
    case Pointwise::kDigamma:
      return digamma(a);
    case Pointwise::kLogit: {
      const Real x = p0 < 0 ? a : a < p0 ? p0 : a > p1 ? p1 : a;
      return std::log(x) - std::log1p(-x);
    }
    case Pointwise::kSinc: {
      // The angle is rounded, as in torch: whole numbers give what that leaves.
      const Real angle = static_cast<T>(pi()) * static_cast<T>(a);
      return a == 0 ? 1 : std::sin(angle) / angle;
    }
    case Pointwise::kSin:
      return std::sin(a);
    case Pointwise::kCos:
      return std::cos(a);
    case Pointwise::kTan:
      return std::tan(a);
    case Pointwise::kAsin:
      return std::asin(a);
    case Pointwise::kAcos:
      return std::acos(a);
    case Pointwise::kAtan:
      return std::atan(a);
    case Pointwise::kSinh:
      return std::sinh(a);
    case Pointwise::kCosh:
      return std::cosh(a);
    case Pointwise::kTanh:
      return std::tanh(a);
    case Pointwise::kAsinh:
      return std::asinh(a);
    case Pointwise::kAcosh:
      return std::acosh(a);
    case Pointwise::kAtanh:
      return std::atanh(a);
    case Pointwise::kDeg2rad:
      return a * pi() / 180;
    case Pointwise::kRad2deg:
      return a * 180 / pi();
    case Pointwise::kSigmoid:
      return sigmoid(a);
    case Pointwise::kRelu:
      return a != a ? a : std::fmax(a, 0);
    case Pointwise::kGelu:
      return std::isinf(a) ? infinite(a) : a * std::erfc(-a / std::sqrt(2.0L)) / 2;
    case Pointwise::kGeluTanh:
      return std::isinf(a) ? infinite(a)
                           : a * sigmoid(2 * std::sqrt(2 / pi()) * (a + 0.044715L * a * a * a));
    case Pointwise::kSilu:
      return std::isinf(a) ? infinite(a) : a * sigmoid(a);
    case Pointwise::kMish:
      return std::isinf(a) ? infinite(a) : a * std::tanh(softplus(a));
    case Pointwise::kElu:
      return a > 0 ? p1 * a : p0 * p1 * std::expm1(p2 * a);
    case Pointwise::kLeakyRelu:
      return a > 0 ? a : a * p0;
    case Pointwise::kSoftplus:
      return p0 * a > p1 ? a : softplus(p0 * a) / p0;
    case Pointwise::kHardsigmoid:
      return a != a ? a : std::fmin(std::fmax(static_cast<T>(a + 3), T{0}), T{6}) / 6.0L;
    case Pointwise::kHardswish:
      return a != a ? a : a * std::fmin(std::fmax(static_cast<T>(a + 3), T{0}), T{6}) / 6.0L;
    case Pointwise::kLogSigmoid:
      return -softplus(-a);
    case Pointwise::kHardshrink:
      return a >= -p0 && a <= p0 ? 0 : a;
    case Pointwise::kSoftshrink:
      return a > p0 ? a - p0 : (a < -p0 ? a + p0 : a * 0);
    case Pointwise::kThreshold:
      return a <= p0 ? p1 : a;
    case Pointwise::kPrelu:
      return a > 0 ? a : b * a;
    case Pointwise::kClampScalar:
      return minimum(maximum(a, p0), p1);
    case Pointwise::kClampMinScalar:
      return maximum(a, p0);
    case Pointwise::kClampMaxScalar:
      return minimum(a, p0);
    case Pointwise::kClamp:
      return minimum(maximum(a, b), c);
    case Pointwise::kWhere:
      return a != 0 ? b : c;
    case Pointwise::kLerp:
      return std::fabs(c) < 0.5L ? a + c * (b - a) : b - (b - a) * (1 - c);
    case Pointwise::kLerpScalar:
      return std::fabs(p0) < 0.5L ? a + p0 * (b - a) : b - (b - a) * (1 - p0);
    case Pointwise::kAddcmul:
      return a + p0 * b * c;
    case Pointwise::kAddcdiv:
      return a + p0 * b / c;
    default:
      return nan();
  }
}

template <class T>
T wrap(__int128 value) {
  return static_cast<T>(static_cast<uint64_t>(value));
}

// Functions of integers that give integers of the same type.
template <class T>
T of_ints(Pointwise function, T x, T y, T z, const PointwiseParams& params) {
  using Wide = __int128;
  const Wide a = x, b = y, c = z;
  const Wide p0 = static_cast<T>(params.i[0]), p1 = static_cast<T>(params.i[1]);
  constexpr int kBits = sizeof(T) * 8;
  switch (function) {
    case Pointwise::kAdd:
      return wrap<T>(a + b);
    case Pointwise::kSub:
      return wrap<T>(a - b);
    case Pointwise::kMul:
      return wrap<T>(a * b);
    case Pointwise::kAddScaled:
      return wrap<T>(a + p0 * b);
    case Pointwise::kFloorDivide:
      return wrap<T>(a / b - (a % b != 0 && (a % b < 0) != (b < 0)));
    case Pointwise::kTruncDivide:
      return wrap<T>(a / b);
    case Pointwise::kRemainder:
      return wrap<T>((a % b + b) % b);
    case Pointwise::kFmod:
      return wrap<T>(a % b);
    case Pointwise::kPow: {
      if (b < 0) return a == 1 ? T{1} : (a == -1 ? (b % 2 != 0 ? static_cast<T>(-1) : T{1}) : T{0});
      uint64_t result = 1;
      uint64_t factor = static_cast<uint64_t>(x);
      for (uint64_t e = static_cast<uint64_t>(b); e != 0; e /= 2, factor *= factor) {
        if (e % 2 != 0) result *= factor;
      }
      return static_cast<T>(result);
    }
    case Pointwise::kMaximum:
    case Pointwise::kFmax:
      return a > b ? x : y;
    case Pointwise::kMinimum:
    case Pointwise::kFmin:
      return a < b ? x : y;
    case Pointwise::kHeaviside:
      return a == 0 ? y : (a > 0 ? T{1} : T{0});
    case Pointwise::kGcd:
    case Pointwise::kLcm: {
      Wide m = a < 0 ? -a : a, n = b < 0 ? -b : b;
      while (m != 0) {
        const Wide rest = n % m;
        n = m;
        m = rest;
      }
      if (function == Pointwise::kGcd) return wrap<T>(n);
      if (n == 0) return 0;
      const Wide product = (a < 0 ? -a : a) / n * (b < 0 ? -b : b);
      if constexpr (sizeof(T) >= 4) {
        const T wrapped = wrap<T>(product);
        return wrapped < 0 ? wrap<T>(-Wide{wrapped}) : wrapped;
      }
      return wrap<T>(product);
    }
    case Pointwise::kBitwiseAnd:
      return static_cast<T>(x & y);
    case Pointwise::kBitwiseOr:
      return static_cast<T>(x | y);
    case Pointwise::kBitwiseXor:
      return static_cast<T>(x ^ y);
    case Pointwise::kBitwiseNot:
      return static_cast<T>(~x);
    case Pointwise::kShiftLeft:
      return b < 0 || b >= kBits ? T{0} : wrap<T>(a * (Wide{1} << y));
    case Pointwise::kShiftRight:
      return static_cast<T>(a >> (b < 0 || b >= kBits ? kBits : y));
    case Pointwise::kAbs:
      return wrap<T>(a < 0 ? -a : a);
    case Pointwise::kNeg:
      return wrap<T>(-a);
    case Pointwise::kSign:
      return a > 0 ? T{1} : (a < 0 ? static_cast<T>(-1) : T{0});
    case Pointwise::kSquare:
      return wrap<T>(a * a);
    case Pointwise::kCube:
      return wrap<T>(static_cast<Wide>(wrap<T>(a * a)) * a);
    case Pointwise::kPowScalar: {
      T result = 1;
      for (int64_t i = 0; i < params.i[0]; ++i) result = wrap<T>(static_cast<Wide>(result) * a);
      return result;
    }
    case Pointwise::kCeil:
    case Pointwise::kFloor:
    case Pointwise::kRound:
    case Pointwise::kTrunc:
    case Pointwise::kNanToNum:
      return x;
    case Pointwise::kRelu:
      return a > 0 ? x : T{0};
    case Pointwise::kThreshold:
      return a > p0 ? x : wrap<T>(p1);
    case Pointwise::kClampScalar:
      return wrap<T>((a > p0 ? a : p0) < p1 ? (a > p0 ? a : p0) : p1);
    case Pointwise::kClampMinScalar:
      return wrap<T>(a > p0 ? a : p0);
    case Pointwise::kClampMaxScalar:
      return wrap<T>(a < p0 ? a : p0);
    case Pointwise::kClamp:
      return wrap<T>((a > b ? a : b) < c ? (a > b ? a : b) : c);
    case Pointwise::kWhere:
      return x != 0 ? y : z;
    case Pointwise::kAddcmul:
      return wrap<T>(a + static_cast<Wide>(wrap<T>(p0 * b)) * c);
    default:
      return T{0};
  }
}

// Functions of bool that give bool.
inline bool of_bools(Pointwise function, bool a, bool b, bool c, const PointwiseParams& params) {
  switch (function) {
    case Pointwise::kAdd:
    case Pointwise::kMaximum:
    case Pointwise::kFmax:
    case Pointwise::kBitwiseOr:
      return a || b;
    case Pointwise::kMul:
    case Pointwise::kMinimum:
    case Pointwise::kFmin:
    case Pointwise::kBitwiseAnd:
      return a && b;
    case Pointwise::kBitwiseXor:
      return a != b;
    case Pointwise::kBitwiseNot:
      return !a;
    case Pointwise::kAddScaled:
      return a || (b && params.i[0] != 0);
    case Pointwise::kHeaviside:
      return a ? true : b;
    case Pointwise::kWhere:
      return a ? b : c;
    default:
      return a;  // sign, nan_to_num
  }
}

// Comparisons, logic and predicates, of any type.
template <class T>
bool of_test(Pointwise function, T a, T b) {
  const bool x = a != T{0}, y = b != T{0};
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
      return x && y;
    case Pointwise::kLogicalOr:
      return x || y;
    case Pointwise::kLogicalXor:
      return x != y;
    case Pointwise::kLogicalNot:
      return !x;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (function) {
      case Pointwise::kIsNan:
        return std::isnan(a);
      case Pointwise::kIsInf:
        return std::isinf(a);
      case Pointwise::kIsFinite:
        return std::isfinite(a);
      case Pointwise::kIsPosInf:
        return std::isinf(a) && a > 0;
      case Pointwise::kIsNegInf:
        return std::isinf(a) && a < 0;
      default:
        return std::signbit(a);
    }
  } else {
    if (function == Pointwise::kIsFinite) return true;
    return function == Pointwise::kSignbit && a < T{0};
  }
}

}  // namespace mindtorch::cpu::reference
