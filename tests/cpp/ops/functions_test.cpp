#include "mindtorch/ops/functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
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
TEST(Functions, CostAtLeastWhatTheirStepsCost) {
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
      EXPECT_GE(info.cost, step.cost) << info.name << " costs less than its step " << step.name;
      ++composed;
    }
  }
  EXPECT_GT(composed, 100);
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

TEST(Functions, FormulasAreWrittenForPeople) {
  EXPECT_EQ(value_formula(Pointwise::kAdd), "a + b");
  EXPECT_EQ(value_formula(Pointwise::kExp), "exp(a)");
  EXPECT_EQ(value_formula(Pointwise::kCeil), "ceil(a)");
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
