#pragma once

#include <cmath>
#include <string_view>
#include <vector>

#include "mindtorch/ops/pointwise.h"

namespace mindtorch::cpu {

using ops::Pointwise;
using ops::PointwiseParams;

inline PointwiseParams make_params(double p0 = 0, double p1 = 0, double p2 = 0) {
  PointwiseParams params;
  const double values[3] = {p0, p1, p2};
  for (int i = 0; i < 3; ++i) {
    params.f[i] = values[i];
    params.i[i] = static_cast<int64_t>(values[i]);
  }
  return params;
}

// Which values a function is tried on. Some lose digits to overflow or cancellation at the far ends
// of the range, in torch as well.
enum class Range { kAll, kModerate };

// What is required of one function: the dtypes it has (b: bool, i: integers, f: floats, or s and
// d: float32 and float64, h: the 16-bit floats) and the
// largest error in units of the last place of float32 and float64. Errors count against `floor`
// where the result is smaller than that: absolute accuracy is all that cancellation leaves.
struct Tolerance {
  Pointwise function;
  std::string_view dtypes;
  double ulp32 = 0.501;
  double ulp64 = 0.501;
  Range range = Range::kAll;
  PointwiseParams params = {};
  double floor = 0;
};

inline constexpr Range kMid = Range::kModerate;

inline const std::vector<Tolerance>& tolerances() {
  using P = Pointwise;
  static const std::vector<Tolerance> list = {
      {P::kAdd, "bif"},
      {P::kSub, "if"},
      {P::kMul, "bif"},
      {P::kDiv, "f"},
      {P::kAddScaled, "bif", 1.5, 1.5, kMid, make_params(3), 100},
      {P::kFloorDivide, "if", 1, 1, kMid},
      {P::kTruncDivide, "if"},
      {P::kRemainder, "if", 1, 1, kMid},
      {P::kFmod, "if"},
      {P::kPow, "if", 0.51, 1.1},
      {P::kMaximum, "bif"},
      {P::kMinimum, "bif"},
      {P::kFmax, "bif"},
      {P::kFmin, "bif"},
      {P::kAtan2, "f", 1.6, 2},
      {P::kHypot, "f", 0.51, 1.1},
      {P::kCopysign, "f"},
      {P::kNextafter, "fh"},
      {P::kLogaddexp, "f", 2, 2, kMid, {}, 1},
      {P::kLogaddexp2, "f", 2, 2, kMid, {}, 1},
      {P::kXlogy, "f", 1.6, 1.6},
      {P::kHeaviside, "bif"},
      {P::kGcd, "i"},
      {P::kLcm, "i"},
      {P::kEq, "bif"},
      {P::kNe, "bif"},
      {P::kLt, "bif"},
      {P::kLe, "bif"},
      {P::kGt, "bif"},
      {P::kGe, "bif"},
      {P::kLogicalAnd, "bif"},
      {P::kLogicalOr, "bif"},
      {P::kLogicalXor, "bif"},
      {P::kLogicalNot, "bif"},
      {P::kIsNan, "bif"},
      {P::kIsInf, "bif"},
      {P::kIsFinite, "bif"},
      {P::kIsPosInf, "bif"},
      {P::kIsNegInf, "bif"},
      {P::kSignbit, "bif"},
      {P::kBitwiseAnd, "bi"},
      {P::kBitwiseOr, "bi"},
      {P::kBitwiseXor, "bi"},
      {P::kBitwiseNot, "bi"},
      {P::kShiftLeft, "i"},
      {P::kShiftRight, "i"},
      {P::kAbs, "if"},
      {P::kAngle, "f"},
      {P::kNeg, "if"},
      {P::kSign, "bif"},
      {P::kSquare, "if"},
      {P::kCube, "ifh", 1.5, 1.5},
      {P::kReciprocal, "f"},
      {P::kInverseSquare, "fh", 1.6, 1.6, kMid},
      {P::kCeil, "if"},
      {P::kFloor, "if"},
      {P::kRound, "if"},
      {P::kRoundDecimals, "f", 0.501, 0.501, kMid, make_params(2)},
      {P::kRoundDecimals, "f", 0.501, 0.501, kMid, make_params(-2)},
      {P::kTrunc, "if"},
      {P::kFrac, "f"},
      {P::kNanToNum, "bif", 0.501, 0.501, Range::kAll, make_params(1.5, 7, -9)},
      {P::kSqrt, "f"},
      {P::kRsqrt, "f", 1.5, 1.5},
      {P::kPowScalar, "ifh", 0.51, 1.1, Range::kAll, make_params(0)},
      {P::kPowScalar, "ifh", 0.51, 1.1, Range::kAll, make_params(1)},
      {P::kPowScalar, "ifh", 0.51, 1.1, Range::kAll, make_params(3)},
      {P::kPowScalar, "ifh", 0.51, 1.1, Range::kAll, make_params(10)},
      {P::kPowScalar, "f", 0.51, 1.1, Range::kAll, make_params(0.3)},
      {P::kPowScalar, "f", 0.51, 1.1, Range::kAll, make_params(-2.5)},
      {P::kPowScalar, "f", 0.51, 1.1, Range::kAll, make_params(INFINITY)},
      {P::kExp, "f", 0.9, 0.9},
      {P::kExp2, "f", 0.95, 0.95},
      {P::kExpm1, "f", 1.5, 1.9},
      {P::kLog, "f", 0.9, 0.9},
      {P::kLog2, "f", 1.6, 1.6},
      {P::kLog10, "f", 2, 2},
      {P::kLog1p, "f", 0.9, 1},
      {P::kErf, "f", 1.1, 1.4},
      {P::kErfc, "f", 2.6, 8},
      {P::kErfinv, "f", 0.8, 5},
      {P::kLgamma, "f", 0.6, 5, kMid, {}, 0.1},
      {P::kDigamma, "f", 0.6, 4000, kMid, {}, 0.1},
      {P::kTrigamma, "f", 1, 4000, kMid, {}, 0.1},
      {P::kLogit, "f", 1.6, 3, kMid, make_params(-1), 1},
      {P::kLogit, "f", 1.6, 3, kMid, make_params(0.125, 0.875), 1},
      {P::kSinc, "f", 6, 20, kMid, {}, 0.1},
      {P::kErfcx, "f", 0.501, 0.501, kMid},
      {P::kNdtri, "f", 0.501, 0.501, kMid},
      {P::kBesselI0, "f", 0.51, 12, kMid},
      {P::kBesselI0e, "f", 0.51, 12, kMid},
      {P::kBesselI1, "f", 0.51, 24, kMid},
      {P::kBesselI1e, "f", 0.51, 24, kMid},
      {P::kBesselJ0, "f", 0.501, 0.501, kMid},
      {P::kBesselJ1, "f", 0.501, 0.501, kMid},
      {P::kBesselK0, "f", 0.501, 0.501, kMid},
      {P::kBesselK0e, "f", 0.501, 0.501, kMid},
      {P::kBesselK1, "f", 0.501, 0.501, kMid},
      {P::kBesselK1e, "f", 0.501, 0.501, kMid},
      {P::kBesselY0, "f", 0.501, 0.501, kMid},
      {P::kBesselY1, "f", 0.501, 0.501, kMid},
      {P::kAiryAi, "f", 0.501, 0.501, kMid},
      {P::kZeta, "f", 0.501, 0.501, kMid},
      {P::kIgamma, "f", 0.501, 0.501, kMid},
      {P::kIgammac, "f", 0.501, 0.501, kMid},
      {P::kStandardGammaGrad, "f", 0.501, 0.501, kMid},
      {P::kDirichletGrad, "f", 0.501, 0.501, kMid},
      {P::kChebyshevT, "f", 0.501, 0.501, kMid},
      {P::kChebyshevU, "f", 0.501, 0.501, kMid},
      {P::kChebyshevV, "f", 0.501, 0.501, kMid},
      {P::kChebyshevW, "f", 0.501, 0.501, kMid},
      {P::kShiftedChebyshevT, "f", 0.501, 0.501, kMid},
      {P::kShiftedChebyshevU, "f", 0.501, 0.501, kMid},
      {P::kShiftedChebyshevV, "f", 0.501, 0.501, kMid},
      {P::kShiftedChebyshevW, "f", 0.501, 0.501, kMid},
      {P::kHermiteH, "f", 0.501, 0.501, kMid},
      {P::kHermiteHe, "f", 0.501, 0.501, kMid},
      {P::kLaguerreL, "f", 0.501, 0.501, kMid},
      {P::kLegendreP, "f", 0.501, 0.501, kMid},
      {P::kSin, "f", 0.9, 0.9},
      {P::kCos, "f", 0.9, 0.9},
      {P::kTan, "f", 1.2, 1.1},
      {P::kAsin, "f", 1.9, 2},
      {P::kAcos, "f", 1.2, 1.2},
      {P::kAtan, "f", 1.4, 2},
      {P::kSinh, "f", 1.9, 2.3},
      {P::kCosh, "f", 1.9, 2},
      {P::kTanh, "f", 2.2, 2.2},
      {P::kAsinh, "f", 1.8, 2},
      {P::kAcosh, "f", 2, 2.2},
      {P::kAtanh, "f", 2, 2},
      {P::kDeg2rad, "f", 1, 1},
      {P::kRad2deg, "f", 1, 1},
      {P::kSigmoid, "f", 2.2, 2.4},
      {P::kRelu, "if"},
      {P::kGelu, "s", 5},
      {P::kGelu, "d", 0, 8, Range::kAll, {}, 1e-250},
      {P::kGeluTanh, "s", 2.9},
      {P::kGeluTanh, "d", 0, 10, Range::kAll, {}, 1e-3},
      {P::kSilu, "s", 2.9},
      {P::kSilu, "d", 0, 3, Range::kAll, {}, 1e-290},
      {P::kMish, "f", 3.5, 3.5, Range::kAll, {}, 1e-30},
      {P::kElu, "f", 2.5, 2.6, Range::kAll, make_params(1.25, 1.5, 1)},
      {P::kLeakyRelu, "f", 0.501, 0.501, Range::kAll, make_params(0.125)},
      {P::kSoftplus, "f", 2, 2, Range::kAll, make_params(1, 20)},
      {P::kSoftplus, "f", 2.5, 2.5, Range::kAll, make_params(2, 20)},
      {P::kHardsigmoid, "f"},
      {P::kHardswish, "f", 1.1, 1.1, kMid},
      {P::kLogSigmoid, "f", 1.6, 1.6},
      {P::kHardshrink, "f", 0.501, 0.501, Range::kAll, make_params(0.5)},
      {P::kSoftshrink, "f", 0.501, 0.501, Range::kAll, make_params(0.5)},
      {P::kThreshold, "if", 0.501, 0.501, Range::kAll, make_params(1, 5)},
      {P::kPrelu, "f"},
      {P::kClampScalar, "if", 0.501, 0.501, Range::kAll, make_params(1, 3)},
      {P::kClampScalar, "if", 0.501, 0.501, Range::kAll, make_params(3, 1)},
      {P::kClampScalar, "f", 0.501, 0.501, Range::kAll, make_params(NAN, 1)},
      {P::kClampScalar, "f", 0.501, 0.501, Range::kAll, make_params(1, NAN)},
      {P::kClampMinScalar, "if", 0.501, 0.501, Range::kAll, make_params(2)},
      {P::kClampMinScalar, "f", 0.501, 0.501, Range::kAll, make_params(NAN)},
      {P::kClampMaxScalar, "if", 0.501, 0.501, Range::kAll, make_params(2)},
      {P::kClampMaxScalar, "f", 0.501, 0.501, Range::kAll, make_params(NAN)},
      {P::kClamp, "if"},
      {P::kWhere, "bif"},
      {P::kLerp, "f", 2, 2, kMid, {}, 1e4},
      {P::kLerpScalar, "f", 2, 2, kMid, make_params(0.25), 100},
      {P::kLerpScalar, "f", 2, 2, kMid, make_params(0.75), 100},
      {P::kAddcmul, "if", 2, 2, kMid, make_params(3), 1e5},
      {P::kAddcdiv, "f", 2, 2, kMid, make_params(3), 1e4},
  };
  return list;
}

}  // namespace mindtorch::cpu
