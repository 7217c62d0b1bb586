#include <numbers>

#include "mindtorch/ops/functions/declare.h"

namespace mindtorch::ops {

namespace {

// At the origin, where the angle is anything, 0.
Expr inverse_square(const Inputs& x) {
  return where((x.a == 0) & (x.b == 0), 0, 1 / (x.a * x.a + x.b * x.b));
}

}  // namespace

void declare_trigonometry(const Functions& functions) {
  using G = GradientInputs;
  constexpr double kRadians = std::numbers::pi / 180;
  functions.define(Pointwise::kSin).in(kFloatTypes).cost(Cost::kCurve).gradients([](const G& x) {
    return x.grad * cos(x.a);
  });
  functions.define(Pointwise::kCos).in(kFloatTypes).cost(Cost::kCurve).gradients([](const G& x) {
    return x.grad * -sin(x.a);
  });
  functions.define(Pointwise::kTan).in(kFloatTypes).cost(Cost::kCurve).gradients([](const G& x) {
    return x.grad * (1 + x.result * x.result);
  });
  functions.define(Pointwise::kAsin).in(kFloatTypes).cost(Cost::kCurve).gradients([](const G& x) {
    return x.grad * rsqrt(1 - x.a * x.a);
  });
  functions.define(Pointwise::kAcos).in(kFloatTypes).cost(Cost::kCurve).gradients([](const G& x) {
    return x.grad * -rsqrt(1 - x.a * x.a);
  });
  functions.define(Pointwise::kAtan).in(kFloatTypes).cost(Cost::kCurve).gradients([](const G& x) {
    return x.grad / (x.a * x.a + 1);
  });
  functions.define(Pointwise::kAtan2)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .gradients([](const G& x) { return x.grad * x.b * inverse_square(x); },
                 [](const G& x) { return x.grad * -x.a * inverse_square(x); });
  functions.define(Pointwise::kSinh).in(kFloatTypes).cost(Cost::kCurve).gradients([](const G& x) {
    return x.grad * cosh(x.a);
  });
  functions.define(Pointwise::kCosh).in(kFloatTypes).cost(Cost::kCurve).gradients([](const G& x) {
    return x.grad * sinh(x.a);
  });
  functions.define(Pointwise::kTanh).in(kFloatTypes).cost(Cost::kCurve).gradients([](const G& x) {
    return x.grad * (1 - x.result * x.result);
  });
  functions.define(Pointwise::kAsinh).in(kFloatTypes).cost(Cost::kLong).gradients([](const G& x) {
    return x.grad * rsqrt(x.a * x.a + 1);
  });
  functions.define(Pointwise::kAcosh).in(kFloatTypes).cost(Cost::kLong).gradients([](const G& x) {
    return x.grad * rsqrt(x.a * x.a - 1);
  });
  functions.define(Pointwise::kAtanh).in(kFloatTypes).cost(Cost::kCurve).gradients([](const G& x) {
    return x.grad * (1 / (1 - x.a * x.a));
  });
  functions.define(Pointwise::kDeg2rad)
      .in(kFloatTypes)
      .is([](const Inputs& x) { return x.a * kRadians; })
      .gradients([](const G& x) { return x.grad * kRadians; });
  functions.define(Pointwise::kRad2deg)
      .in(kFloatTypes)
      .is([](const Inputs& x) { return x.a * (1 / kRadians); })
      .gradients([](const G& x) { return x.grad * (1 / kRadians); });
}

}  // namespace mindtorch::ops
