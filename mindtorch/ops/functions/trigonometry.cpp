#include <numbers>

#include "mindtorch/ops/functions/declare.h"

namespace mindtorch::ops {

namespace {

// At the origin, where the angle is anything, 0.
Expr inverse_square(const Inputs& x) {
  return where((x.a == 0) & (x.b == 0), 0, 1 / (x.a * x.a + x.b * x.b));
}

// Of a triangle whose longest side is 1.
Expr other_leg(Expr leg) { return sqrt((1 - leg) * (1 + leg)); }

// Exponentials of large operands in two halves, since they overflow before the result does.
Expr sinh_formula(const Inputs& x) {
  constexpr double kFar = 20;
  const Expr size = abs(x.a);
  const Expr rise = expm1(minimum(size, kFar));
  const Expr half = exp(0.5 * size);
  return copysign(where(size < kFar, 0.5 * (rise + rise / (rise + 1)), 0.5 * half * half), x.a);
}
Expr cosh_formula(const Inputs& x) {
  const Expr half = exp(0.5 * abs(x.a));
  return 0.5 * half * half + 0.5 / half / half;
}
Expr tanh_formula(const Inputs& x) {
  const Expr fall = expm1(-2 * abs(x.a));
  return copysign(-fall / (fall + 2), x.a);
}

// Squares of operands beyond this are the squares that they are added to 1 in.
constexpr double kLarge = 1e9;

Expr asinh_formula(const Inputs& x) {
  const Expr size = abs(x.a);
  const Expr square = size * size;
  const Expr near = log1p(size + square / (1 + sqrt(square + 1)));
  return copysign(where(size < kLarge, near, log(size) + log(x.a.number(2))), x.a);
}
Expr acosh_formula(const Inputs& x) {
  const Expr above = x.a - 1;
  const Expr near = log1p(above + sqrt(above) * sqrt(x.a + 1));
  return where(x.a > kLarge, log(x.a) + log(x.a.number(2)), near);
}
Expr atanh_formula(const Inputs& x) {
  const Expr size = abs(x.a);
  return copysign(0.5 * log1p(2 * size / (1 - size)), x.a);
}

}  // namespace

void declare_trigonometry(const Functions& functions) {
  using G = GradientInputs;
  constexpr double kRadians = std::numbers::pi / 180;
  functions.define(Pointwise::kSin)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(0.9, 0.9)
      .gradients([](const G& x) { return x.grad * cos(x.a); });
  functions.define(Pointwise::kCos)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(0.9, 0.9)
      .gradients([](const G& x) { return x.grad * -sin(x.a); });
  functions.define(Pointwise::kTan)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(1.2, 1.1)
      .is([](const Inputs& x) { return sin(x.a) / cos(x.a); })
      .gradients([](const G& x) { return x.grad * (1 + x.result * x.result); });
  functions.define(Pointwise::kAsin)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(1.9, 2)
      .is([](const Inputs& x) { return atan2(x.a, other_leg(x.a)); })
      .gradients([](const G& x) { return x.grad * rsqrt(1 - x.a * x.a); });
  functions.define(Pointwise::kAcos)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(1.2, 1.2)
      .is([](const Inputs& x) { return atan2(other_leg(x.a), x.a); })
      .gradients([](const G& x) { return x.grad * -rsqrt(1 - x.a * x.a); });
  functions.define(Pointwise::kAtan)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(1.4, 2)
      .is([](const Inputs& x) { return atan2(x.a, 1); })
      .gradients([](const G& x) { return x.grad / (x.a * x.a + 1); });
  functions.define(Pointwise::kAtan2)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(1.6, 2)
      .gradients([](const G& x) { return x.grad * x.b * inverse_square(x); },
                 [](const G& x) { return x.grad * -x.a * inverse_square(x); });
  functions.define(Pointwise::kSinh)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(1.9, 2.3)
      .is(sinh_formula)
      .gradients([](const G& x) { return x.grad * cosh(x.a); });
  functions.define(Pointwise::kCosh)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(1.9, 2)
      .is(cosh_formula)
      .gradients([](const G& x) { return x.grad * sinh(x.a); });
  functions.define(Pointwise::kTanh)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(2.2, 2.2)
      .is(tanh_formula)
      .gradients([](const G& x) { return x.grad * (1 - x.result * x.result); });
  functions.define(Pointwise::kAsinh)
      .in(kFloatTypes)
      .cost(Cost::kLong)
      .within(1.8, 2)
      .is(asinh_formula)
      .gradients([](const G& x) { return x.grad * rsqrt(x.a * x.a + 1); });
  functions.define(Pointwise::kAcosh)
      .in(kFloatTypes)
      .cost(Cost::kLong)
      .within(2, 2.2)
      .is(acosh_formula)
      .gradients([](const G& x) { return x.grad * rsqrt(x.a * x.a - 1); })
      // On the branch of the result.
      .complex_gradients([](const G& x) { return x.grad / conj(sqrt(x.a - 1) * sqrt(x.a + 1)); });
  functions.define(Pointwise::kAtanh)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(2, 2)
      .is(atanh_formula)
      .gradients([](const G& x) { return x.grad * (1 / (1 - x.a * x.a)); });
  functions.define(Pointwise::kDeg2rad)
      .in(kFloatTypes)
      .within(1, 1)
      .is([](const Inputs& x) { return x.a * kRadians; })
      .gradients([](const G& x) { return x.grad * kRadians; });
  functions.define(Pointwise::kRad2deg)
      .in(kFloatTypes)
      .within(1, 1)
      .is([](const Inputs& x) { return x.a * (1 / kRadians); })
      .gradients([](const G& x) { return x.grad * (1 / kRadians); });
}

}  // namespace mindtorch::ops
