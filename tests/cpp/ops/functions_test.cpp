#include "mindtorch/ops/functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "mindtorch/ops/evaluate.h"
#include "mindtorch/ops/formulas.h"
#include "mindtorch/ops/functions/declare.h"
#include "mindtorch/ops/spec.h"

namespace mindtorch::ops {
namespace {

using Real = long double;
using Input = Derivative::Input;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Points inside the domains of all functions, away from their kinks.
struct Point {
  double operands[3] = {0.37, 1.3, 0.6};
  PointwiseParams params;
};

Point point_for(Pointwise function) {
  Point point;
  double p[3] = {0.25, 2.5, 0.75};
  switch (function) {
    case Pointwise::kAcosh:
      point.operands[0] = 1.37;
      break;
    case Pointwise::kFloorDivide:
    case Pointwise::kTruncDivide:
    case Pointwise::kRemainder:
    case Pointwise::kFmod:
      point.operands[0] = 3.37;
      break;
    case Pointwise::kZeta:
      point.operands[0] = 2.37;
      break;
    case Pointwise::kClamp:
      point.operands[1] = 0.1;
      break;
    case Pointwise::kSoftplus:
      p[0] = 1.5, p[1] = 20;
      break;
    case Pointwise::kPowScalar:
      p[0] = 2.5;
      break;
    case Pointwise::kRoundDecimals:
      p[0] = 1;
      break;
    case Pointwise::kLogit:
      p[0] = 0.125, p[1] = 0.875;
      break;
    default:
      break;
  }
  for (int i = 0; i < 3; ++i) {
    point.params.f[i] = p[i];
    point.params.i[i] = static_cast<int64_t>(p[i]);
  }
  return point;
}

Real value_at(Pointwise function, const Point& point, int moved = -1, Real by = 0) {
  Real operands[3];
  for (int i = 0; i < 3; ++i) operands[i] = point.operands[i] + (i == moved ? by : 0);
  return evaluate<Real>(function, std::span<const Real>(operands, function_info(function).arity),
                        point.params);
}

double gradient_at(Pointwise function, int operand, const Point& point, double grad) {
  const Derivative& derivative = function_info(function).derivatives[operand];
  if (derivative.kind == Derivative::Kind::kZero) return 0;
  if (derivative.kind == Derivative::Kind::kGradient) return grad;
  double inputs[kMaxOperands];
  for (size_t i = 0; i < derivative.inputs.size(); ++i) {
    const Input input = derivative.inputs[i];
    inputs[i] = input == Input::kGradient ? grad
                : input == Input::kResult ? static_cast<double>(value_at(function, point))
                                          : point.operands[static_cast<int>(input)];
  }
  return evaluate<double>(derivative.function,
                          std::span<const double>(inputs, derivative.inputs.size()), point.params);
}

TEST(Functions, EachHasDtypes) {
  for (int i = 0; i < function_count(); ++i) {
    const FunctionInfo& info = function_info(static_cast<Pointwise>(i));
    EXPECT_NE(info.dtypes, 0u) << info.name;
    EXPECT_FALSE(info.torch_kernel.empty()) << info.name;
  }
}

// Steps that depend on parameters alone are taken once, not for every element.
TEST(Functions, AreCheapOnlyIfTheirStepsAre) {
  int composed = 0;
  for (int i = 0; i < kPointwiseCount; ++i) {
    const FunctionInfo& info = function_info(static_cast<Pointwise>(i));
    std::vector<bool> varies;
    for (const ExprNode& node : info.value.nodes()) {
      varies.push_back(node.kind == ExprNode::Kind::kOperand);
      for (int k = 0; k < node.count; ++k) {
        if (varies[node.arguments[k]]) varies.back() = true;
      }
      if (node.kind != ExprNode::Kind::kCall || !varies.back()) continue;
      const FunctionInfo& step = function_info(node.function);
      if (info.cost != Cost::kMemory) continue;
      ++composed;
      EXPECT_EQ(step.cost, Cost::kMemory) << info.name << " costs less than its step " << step.name;
    }
  }
  EXPECT_GT(composed, 50);
}

// What a new device brings along. All others are made of these, but for loops.
constexpr Pointwise kPrimitives[] = {
    Pointwise::kAdd,        Pointwise::kSub,        Pointwise::kMul,        Pointwise::kDiv,
    Pointwise::kFmod,       Pointwise::kPow,        Pointwise::kMaximum,    Pointwise::kMinimum,
    Pointwise::kAtan2,      Pointwise::kNextafter,  Pointwise::kGcd,        Pointwise::kEq,
    Pointwise::kNe,         Pointwise::kLt,         Pointwise::kLe,         Pointwise::kGt,
    Pointwise::kGe,         Pointwise::kLogicalAnd, Pointwise::kLogicalOr,  Pointwise::kLogicalXor,
    Pointwise::kLogicalNot, Pointwise::kSignbit,    Pointwise::kBitwiseAnd, Pointwise::kBitwiseOr,
    Pointwise::kBitwiseXor, Pointwise::kBitwiseNot, Pointwise::kShiftLeft,  Pointwise::kShiftRight,
    Pointwise::kAbs,        Pointwise::kNeg,        Pointwise::kFloor,      Pointwise::kRound,
    Pointwise::kSqrt,       Pointwise::kExp,        Pointwise::kExpm1,      Pointwise::kLog,
    Pointwise::kLog1p,      Pointwise::kErf,        Pointwise::kErfc,       Pointwise::kErfinv,
    Pointwise::kLgamma,     Pointwise::kSin,        Pointwise::kCos,        Pointwise::kWhere};
constexpr Pointwise kLoops[] = {
    Pointwise::kBesselJ0,      Pointwise::kBesselJ1,   Pointwise::kBesselY0,
    Pointwise::kBesselY1,      Pointwise::kAiryAi,     Pointwise::kZeta,
    Pointwise::kIgamma,        Pointwise::kIgammac,    Pointwise::kStandardGammaGrad,
    Pointwise::kDirichletGrad, Pointwise::kChebyshevT, Pointwise::kChebyshevU,
    Pointwise::kChebyshevV,    Pointwise::kChebyshevW, Pointwise::kHermiteH,
    Pointwise::kHermiteHe,     Pointwise::kLaguerreL,  Pointwise::kLegendreP};

TEST(Functions, AreFewPrimitivesLoopsOrMadeOfOthers) {
  const std::set<Pointwise> primitives(std::begin(kPrimitives), std::end(kPrimitives));
  const std::set<Pointwise> loops(std::begin(kLoops), std::end(kLoops));
  for (int i = 0; i < kPointwiseCount; ++i) {
    const auto function = static_cast<Pointwise>(i);
    const FunctionInfo& info = function_info(function);
    EXPECT_EQ(info.is_primitive(), primitives.contains(function)) << info.name;
    EXPECT_EQ(info.loops, loops.contains(function)) << info.name;
    if ((info.dtypes & kFloatTypes) == 0 || info.is_primitive() || info.loops) continue;
    EXPECT_FALSE(info.value.empty()) << info.name << " has no formula of floats";
  }
  // Derivatives and registered functions, too.
  for (int i = kPointwiseCount; i < function_count(); ++i) {
    EXPECT_FALSE(function_info(static_cast<Pointwise>(i)).value.empty());
  }
}

// What the steps of a device that computes in float32 give.
TEST(Functions, FormulasHoldInTheirOwnPrecision) {
  struct Case {
    Pointwise function;
    float low, high;
    double ulp;
  };
  using P = Pointwise;
  const Case cases[] = {
      {P::kCeil, -9, 9, 0},          {P::kTrunc, -9, 9, 0},        {P::kExp2, -20, 20, 2},
      {P::kLog2, 0.1f, 20, 4},       {P::kLog10, 0.1f, 20, 4},     {P::kTan, -1.5f, 1.5f, 4},
      {P::kAsin, -1, 1, 4},          {P::kAcos, -1, 1, 4},         {P::kAtan, -9, 9, 4},
      {P::kSinh, -80, 80, 32},       {P::kCosh, -80, 80, 32},      {P::kTanh, -9, 9, 6},
      {P::kAsinh, -9, 9, 6},         {P::kAcosh, 1, 9, 6},         {P::kAtanh, -0.99f, 0.99f, 6},
      {P::kDigamma, 2, 30, 32},      {P::kTrigamma, 0.6f, 30, 32}, {P::kErfcx, -5, 30, 16},
      {P::kNdtri, 0.001f, 0.4f, 32}, {P::kBesselI0, -20, 20, 32},  {P::kBesselI0e, -20, 20, 32},
      {P::kBesselI1, 1, 20, 32},     {P::kBesselI1e, 1, 20, 32},   {P::kBesselK0, 0.1f, 9, 64},
      {P::kBesselK0e, 0.1f, 9, 64},  {P::kBesselK1, 0.1f, 9, 64},  {P::kBesselK1e, 0.1f, 9, 64},
  };
  constexpr int kCount = 500;
  for (const Case& each : cases) {
    double most = 0;
    for (int i = 0; i <= kCount; ++i) {
      const float at = each.low + (each.high - each.low) * static_cast<float>(i) / kCount;
      const Real exact_operand = at;
      const float got = evaluate<float>(each.function, std::span(&at, 1), {});
      const Real want = evaluate<Real>(each.function, std::span(&exact_operand, 1), {});
      const Real unit =
          std::max(std::fabs(want), Real{1e-3}) * std::numeric_limits<float>::epsilon();
      most = std::max(most, static_cast<double>(std::fabs(got - want) / unit));
    }
    EXPECT_LE(most, each.ulp) << function_info(each.function).name;
  }
}

// The C library's, where it has them.
TEST(Functions, FormulasGiveTheFunctionsTheyAreNamedAfter) {
  struct Case {
    Pointwise function;
    Real (*library)(Real);
    std::vector<double> at;
  };
  using P = Pointwise;
  const std::vector<double> plain = {-3e300, -50, -2.5, -1, -0.5, -1e-9, -0.0, 0,   1e-9,
                                     0.3,    0.5, 0.99, 1,  1.7,  88,    700,  kInf};
  const Case cases[] = {
      {P::kCeil, std::ceil, plain},   {P::kTrunc, std::trunc, plain},
      {P::kExp2, std::exp2, plain},   {P::kLog2, std::log2, plain},
      {P::kLog10, std::log10, plain}, {P::kTan, std::tan, {0.3, -2, 9}},
      {P::kAsin, std::asin, plain},   {P::kAcos, std::acos, plain},
      {P::kAtan, std::atan, plain},   {P::kSinh, std::sinh, plain},
      {P::kCosh, std::cosh, plain},   {P::kTanh, std::tanh, plain},
      {P::kAsinh, std::asinh, plain}, {P::kAcosh, std::acosh, plain},
      {P::kAtanh, std::atanh, plain},
  };
  for (const Case& each : cases) {
    for (const double at : each.at) {
      const Real operand = at;
      const Real want = each.library(operand);
      const Real got = evaluate<Real>(each.function, std::span(&operand, 1), {});
      SCOPED_TRACE(function_info(each.function).name + " of " + std::to_string(at));
      if (std::isnan(want) || std::isinf(want) || want == 0) {
        EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want);
        EXPECT_TRUE(std::isnan(want) || std::signbit(got) == std::signbit(want));
      } else {
        EXPECT_NEAR(static_cast<double>(got / want), 1, 1e-16);
      }
    }
  }
}

TEST(Functions, GiveTruthWhereTheirExpressionEndsInATest) {
  for (int i = 0; i < kPointwiseCount; ++i) {
    const FunctionInfo& info = function_info(static_cast<Pointwise>(i));
    if (info.value.empty()) continue;
    const ExprNode& last = info.value.nodes().back();
    const bool is_test = last.kind == ExprNode::Kind::kCall && gives_bool(last.function);
    EXPECT_EQ(info.values == Values::kBool, is_test) << info.name;
  }
  EXPECT_TRUE(gives_bool(Pointwise::kEq));
  EXPECT_TRUE(gives_bool(Pointwise::kSignbit));
  EXPECT_FALSE(gives_bool(Pointwise::kBitwiseAnd));
  EXPECT_TRUE(gives_real(Pointwise::kAbs));
  EXPECT_FALSE(gives_real(Pointwise::kConj));
}

TEST(Functions, GradientsAreSlopes) {
  constexpr Real kStep = 1e-6L;
  constexpr double kGrad = 1.7;
  for (int i = 0; i < kPointwiseCount; ++i) {
    const auto function = static_cast<Pointwise>(i);
    const FunctionInfo& info = function_info(function);
    const Point point = point_for(function);
    for (int operand = 0; operand < info.arity; ++operand) {
      if (info.derivatives[operand].kind == Derivative::Kind::kNone) continue;
      if (function == Pointwise::kWhere && operand == 0) continue;
      const Real slope =
          (value_at(function, point, operand, kStep) - value_at(function, point, operand, -kStep)) /
          (2 * kStep);
      const auto want = static_cast<double>(slope * kGrad);
      const double got = gradient_at(function, operand, point, kGrad);
      EXPECT_NEAR(got, want, 1e-8 * std::max(1.0, std::fabs(want)))
          << info.name << ", operand " << operand;
    }
  }
}

TEST(Functions, WithoutGradientAreTestsAndWholeNumbersOnly) {
  const std::set<Pointwise> known = {Pointwise::kNextafter, Pointwise::kHeaviside,
                                     Pointwise::kTrigamma,  Pointwise::kZeta,
                                     Pointwise::kIgamma,    Pointwise::kIgammac};
  // torch has no derivative of these.
  const auto is_undifferentiated = [](Pointwise function) {
    return (function >= Pointwise::kBesselJ0 && function <= Pointwise::kAiryAi) ||
           (function >= Pointwise::kStandardGammaGrad && function <= Pointwise::kLegendreP);
  };
  for (int i = 0; i < kPointwiseCount; ++i) {
    const auto function = static_cast<Pointwise>(i);
    const FunctionInfo& info = function_info(function);
    if (info.values == Values::kBool || (info.dtypes & kFloatTypes) == 0 ||
        known.contains(function) || is_undifferentiated(function)) {
      continue;
    }
    for (int operand = function == Pointwise::kWhere ? 1 : 0; operand < info.arity; ++operand) {
      EXPECT_NE(info.derivatives[operand].kind, Derivative::Kind::kNone)
          << info.name << ", operand " << operand;
    }
  }
}

// Where the slope jumps, or the formula divides by zero.
TEST(Functions, GradientsAtKinksAreTorchs) {
  struct Case {
    Pointwise function;
    int operand;
    double a, b, c;
    double want;
  };
  const Case cases[] = {
      {Pointwise::kAbs, 0, 0, 0, 0, 0},       {Pointwise::kRelu, 0, 0, 0, 0, 0},
      {Pointwise::kMaximum, 0, 1, 1, 0, 0.5}, {Pointwise::kMaximum, 1, 1, 1, 0, 0.5},
      {Pointwise::kMinimum, 0, 1, 1, 0, 0.5}, {Pointwise::kFmax, 0, 1, 1, 0, 1},
      {Pointwise::kFmax, 1, 1, 1, 0, 0},      {Pointwise::kFmax, 0, 1, kNan, 0, 1},
      {Pointwise::kPow, 0, 0, 0, 0, 0},       {Pointwise::kPow, 1, 0, 2, 0, 0},
      {Pointwise::kClamp, 0, 1, 1, 2, 1},     {Pointwise::kClamp, 0, 3, 1, 2, 0},
      {Pointwise::kClamp, 2, 3, 1, 2, 1},     {Pointwise::kClamp, 1, 0, 3, 2, 0},
      {Pointwise::kSqrt, 0, 0, 0, 0, kInf},   {Pointwise::kXlogy, 0, 0, 0, 0, 0},
      {Pointwise::kSinc, 0, 0, 0, 0, 0},      {Pointwise::kHardsigmoid, 0, 3, 0, 0, 0},
      {Pointwise::kCopysign, 0, 0, -1, 0, 0}, {Pointwise::kNanToNum, 0, kInf, 0, 0, 0},
  };
  for (const Case& each : cases) {
    const Point point{{each.a, each.b, each.c}, {}};
    EXPECT_EQ(gradient_at(each.function, each.operand, point, 1), each.want)
        << function_info(each.function).name << ", operand " << each.operand << " at " << each.a
        << ", " << each.b << ", " << each.c;
  }
}

TEST(Functions, ExpressionsReadAsFormulas) {
  const auto text = [](Pointwise function) { return function_info(function).value.text(); };
  EXPECT_EQ(text(Pointwise::kSigmoid), "1 / (1 + exp(-a))");
  EXPECT_EQ(text(Pointwise::kAddcmul), "a + p0 * b * c");
  EXPECT_EQ(text(Pointwise::kLerp), "where(abs(c) < 0.5, a + c * (b - a), b - (1 - c) * (b - a))");
  EXPECT_EQ(text(Pointwise::kHardshrink), "where(a >= -p0 & a <= p0, 0, a)");
  EXPECT_EQ(text(Pointwise::kAdd), "");
}

// The others have the formula of real numbers, up to conjugates.
TEST(Functions, SixHaveGradientsOfTheirOwnForComplexNumbers) {
  std::set<std::string> own;
  for (int i = 0; i < kPointwiseCount; ++i) {
    const FunctionInfo& info = function_info(static_cast<Pointwise>(i));
    for (const Derivative& derivative : info.complex_derivatives) {
      if (derivative.kind == Derivative::Kind::kNone) continue;
      ASSERT_EQ(derivative.kind, Derivative::Kind::kExpression) << info.name;
      EXPECT_TRUE(contains(function_info(derivative.function).dtypes, DType::kComplex64));
      own.insert(info.name);
    }
  }
  EXPECT_EQ(own, (std::set<std::string>{"abs", "acosh", "angle", "conj", "pow", "sign"}));
  const Derivative& angle = function_info(Pointwise::kAngle).complex_derivatives[0];
  EXPECT_EQ(function_info(angle.function).value.text("zg"),
            "where(z == 0, 0, g * (z * i / (z * conj(z))))");
}

TEST(Functions, FormulasAreWrittenForPeople) {
  EXPECT_EQ(value_formula(Pointwise::kAdd), "a + b");
  EXPECT_EQ(value_formula(Pointwise::kExp), "exp(a)");
  EXPECT_EQ(value_formula(Pointwise::kCeil), "-floor(-a)");
  EXPECT_EQ(value_formula(Pointwise::kTan), "sin(a) / cos(a)");
  EXPECT_EQ(value_formula(Pointwise::kBesselI0e), "i0e(a)");
  EXPECT_EQ(value_formula(Pointwise::kGcd), "gcd(a, b)");
  EXPECT_EQ(value_formula(Pointwise::kWhere), "where(a, b, c)");
  EXPECT_EQ(value_formula(Pointwise::kSigmoid), "1 / (1 + exp(-a))");
  EXPECT_EQ(gradient_formula(Pointwise::kAdd, 0), "g");
  EXPECT_EQ(gradient_formula(Pointwise::kMul, 0), "g * b");
  EXPECT_EQ(gradient_formula(Pointwise::kMul, 1), "g * a");
  EXPECT_EQ(gradient_formula(Pointwise::kDiv, 1), "-g * (a / b / b)");
  EXPECT_EQ(gradient_formula(Pointwise::kFloor, 0), "0");
  EXPECT_EQ(gradient_formula(Pointwise::kExp, 0), "g * r");
  EXPECT_EQ(gradient_formula(Pointwise::kEq, 0), "");
}

TEST(Functions, LongFormulasNameWhatTheyRepeat) {
  EXPECT_EQ(value_formula(Pointwise::kHypot),
            "where(isinf(a) | isinf(b), inf, where(t3 == 0, t3, t3 * sqrt(t4 * t4 + 1))) with "
            "t1 = abs(a), t2 = abs(b), t3 = maximum(t1, t2), t4 = minimum(t1, t2) / t3");
}

// Every function has a formula, and none is so long that a table cannot hold it.
TEST(Functions, AllFormulasFitATable) {
  for (int i = 0; i < kPointwiseCount; ++i) {
    const auto function = static_cast<Pointwise>(i);
    const FunctionInfo& info = function_info(function);
    EXPECT_NE(value_formula(function), "") << info.name;
    EXPECT_LT(value_formula(function).size(), 600u) << info.name;
    for (int operand = 0; operand < info.arity; ++operand) {
      const bool has_gradient = info.derivatives[operand].kind != Derivative::Kind::kNone;
      EXPECT_EQ(gradient_formula(function, operand).empty(), !has_gradient) << info.name;
      EXPECT_LT(gradient_formula(function, operand).size(), 600u) << info.name;
    }
  }
}

TEST(Functions, EqualPartsAreShared) {
  ExprBuilder builder;
  const formula::Expr a(builder, builder.leaf(ExprNode::Kind::kOperand, 0));
  const Expression square = builder.finish((exp(a) * exp(a)).node());
  EXPECT_EQ(square.nodes().size(), 3u);
}

TEST(Functions, IntegersWrapAround) {
  const auto value = [](Pointwise function, DType dtype, int64_t a, int64_t b) {
    const int64_t operands[] = {a, b};
    return evaluate_integer(function, dtype, operands, {});
  };
  EXPECT_EQ(value(Pointwise::kAdd, DType::kUInt8, 200, 100), 44);
  EXPECT_EQ(value(Pointwise::kMul, DType::kInt8, 100, 2), -56);
  EXPECT_EQ(value(Pointwise::kFloorDivide, DType::kInt32, -7, 2), -4);
  EXPECT_EQ(value(Pointwise::kRemainder, DType::kInt64, -7, 2), 1);
  EXPECT_EQ(value(Pointwise::kAdd, DType::kBool, 1, 1), 1);
  EXPECT_EQ(value(Pointwise::kLcm, DType::kInt64, 4, 6), 12);
}

TEST(Functions, OtherDtypesAreRefusedOnEveryDevice) {
  EXPECT_NO_THROW(check_dtype(PointwiseCall(Pointwise::kAdd, DType::kBool, DType::kBool)));
  EXPECT_THROW(check_dtype(PointwiseCall(Pointwise::kBitwiseAnd, DType::kFloat32, DType::kFloat32)),
               NotImplementedError);
  EXPECT_THROW(check_dtype(PointwiseCall(Pointwise::kGelu, DType::kInt64, DType::kInt64)),
               NotImplementedError);
}

TEST(Functions, RegisteredOnesNeedAnExpression) {
  FunctionInfo info;
  info.name = "nothing";
  info.arity = 1;
  info.dtypes = kFloatTypes;
  EXPECT_THROW(register_function(info), RuntimeError);
}

}  // namespace
}  // namespace mindtorch::ops
