#include <numbers>

#include "mindtorch/ops/functions/declare.h"

namespace mindtorch::ops {
namespace {

// The sign of a zero and of what is divided by zero follow Python's //.
Expr floor_divide_floats(const Inputs& x) {
  const Expr rest = fmod(x.a, x.b);
  const Expr whole = (x.a - rest) / x.b;
  const Expr crosses = (rest != 0) & logical_xor(x.b < 0, rest < 0);
  const Expr quotient = where(crosses, whole - 1, whole);
  const Expr below = floor(quotient);
  const Expr nearest = where(quotient - below > 0.5, below + 1, below);
  const Expr zero = copysign(x.a.number(0), x.a / x.b);
  return where(x.b == 0, x.a / x.b, where(quotient != 0, nearest, zero));
}

Expr remainder_floats(const Inputs& x) {
  const Expr rest = fmod(x.a, x.b);
  return where((rest != 0) & logical_xor(x.b < 0, rest < 0), rest + x.b, rest);
}

// Scaled by the larger operand, so that squares neither overflow nor vanish.
Expr hypot(const Inputs& x) {
  const Expr large = maximum(abs(x.a), abs(x.b));
  const Expr small = minimum(abs(x.a), abs(x.b));
  const Expr ratio = small / large;
  const Expr length = where(large == 0, large, large * sqrt(ratio * ratio + 1));
  return where(isinf(x.a) | isinf(x.b), INFINITY, length);
}

// Ties share the gradient.
Expr larger_gradient(Expr mine, Expr other, Expr grad) {
  return where(mine == other, grad / 2, where(mine < other, 0, grad));
}
Expr smaller_gradient(Expr mine, Expr other, Expr grad) {
  return where(mine == other, grad / 2, where(mine > other, 0, grad));
}

}  // namespace

void declare_arithmetic(const Functions& functions) {
  using G = GradientInputs;
  functions.define(Pointwise::kAdd).in(kAllTypes).gradients(kGradient, kGradient);
  functions.define(Pointwise::kSub).in(kRealTypes).gradients(kGradient, [](const G& x) {
    return -x.grad;
  });
  functions.define(Pointwise::kMul)
      .in(kAllTypes)
      .gradients([](const G& x) { return x.grad * x.b; }, [](const G& x) { return x.grad * x.a; });
  functions.define(Pointwise::kDiv)
      .in(kFloatTypes)
      .gradients([](const G& x) { return x.grad / x.b; },
                 [](const G& x) { return -x.grad * ((x.a / x.b) / x.b); });
  functions.define(Pointwise::kAddScaled)
      .in(kAllTypes)
      .within(1.5, 1.5)
      .above(100, 100)
      .moderate()
      .is([](const Inputs& x) { return x.a + x.p0 * x.b; })
      .gradients(kGradient, [](const G& x) { return x.grad * x.p0; });
  functions.define(Pointwise::kFloorDivide)
      .in(kRealTypes)
      .cost(Cost::kCurve)
      .within(1, 1)
      .moderate()
      .torch_kernel("div_floor_cpu")
      .is(floor_divide_floats)
      .gradients(kZero, kZero);
  functions.define(Pointwise::kTruncDivide)
      .in(kRealTypes)
      .cost(Cost::kCurve)
      .torch_kernel("div_trunc_cpu")
      .is([](const Inputs& x) { return trunc(x.a / x.b); })
      .gradients(kZero, kZero);
  functions.define(Pointwise::kRemainder)
      .in(kRealTypes)
      .cost(Cost::kCurve)
      .within(1, 1)
      .moderate()
      .torch_kernel("remainder_cpu")
      .is(remainder_floats)
      .gradients(kGradient, [](const G& x) { return -x.grad * floor_divide(x.a, x.b); });
  functions.define(Pointwise::kFmod)
      .in(kRealTypes)
      .cost(Cost::kCurve)
      .torch_kernel("fmod_cpu")
      .gradients(kGradient, [](const G& x) { return -x.grad * trunc_divide(x.a, x.b); });
  functions.define(Pointwise::kMaximum)
      .in(kAllTypes)
      .gradients([](const G& x) { return larger_gradient(x.a, x.b, x.grad); },
                 [](const G& x) { return larger_gradient(x.b, x.a, x.grad); });
  functions.define(Pointwise::kMinimum)
      .in(kAllTypes)
      .gradients([](const G& x) { return smaller_gradient(x.a, x.b, x.grad); },
                 [](const G& x) { return smaller_gradient(x.b, x.a, x.grad); });
  functions.define(Pointwise::kFmax)
      .in(kAllTypes)
      .is([](const Inputs& x) {
        return where(isnan(x.a), x.b, where(isnan(x.b), x.a, maximum(x.a, x.b)));
      })
      .of_integers([](const Inputs& x) { return maximum(x.a, x.b); })
      .gradients([](const G& x) { return where((x.a >= x.b) | isnan(x.b), x.grad, 0); },
                 [](const G& x) { return where((x.a >= x.b) | isnan(x.b), 0, x.grad); });
  functions.define(Pointwise::kFmin)
      .in(kAllTypes)
      .is([](const Inputs& x) {
        return where(isnan(x.a), x.b, where(isnan(x.b), x.a, minimum(x.a, x.b)));
      })
      .of_integers([](const Inputs& x) { return minimum(x.a, x.b); })
      .gradients([](const G& x) { return where((x.a <= x.b) | isnan(x.b), x.grad, 0); },
                 [](const G& x) { return where((x.a <= x.b) | isnan(x.b), 0, x.grad); });
  functions.define(Pointwise::kHypot)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(0.51, 1.1)
      .torch_kernel("hypot_cpu")
      .is(hypot)
      .gradients([](const G& x) { return x.grad * (x.a / x.result); },
                 [](const G& x) { return x.grad * (x.b / x.result); });
  functions.define(Pointwise::kCopysign)
      .in(kFloatTypes)
      .is([](const Inputs& x) { return where(logical_xor(signbit(x.a), signbit(x.b)), -x.a, x.a); })
      .gradients([](const G& x) { return x.grad * where(x.a == 0, 0, x.result / x.a); }, kZero);
  functions.define(Pointwise::kNextafter)
      .in(kFloatTypes)
      .torch_kernel("nextafter_cpu")
      .gradients([](const G& x) { return where(x.a != x.b, x.grad, 0); },
                 [](const G& x) { return where(x.a == x.b, x.grad, 0); });
  functions.define(Pointwise::kHeaviside).in(kAllTypes).is([](const Inputs& x) {
    return where(x.a == 0, x.b, where(x.a > 0, 1, 0));
  });
  functions.define(Pointwise::kGcd).in(kIntTypes).torch_kernel("gcd_cpu");
  functions.define(Pointwise::kLcm)
      .in(kIntTypes)
      .torch_kernel("lcm_cpu")
      .of_integers([](const Inputs& x) {
        const Expr divisor = gcd(x.a, x.b);
        const Expr none = divisor == 0;
        return where(none, 0, abs(trunc_divide(x.a, where(none, 1, divisor)) * x.b));
      });
  functions.define(Pointwise::kAbs)
      .in(kRealTypes)
      .gives(Values::kReal)
      .torch_kernel("abs_cpu")
      .gradients([](const G& x) { return x.grad * sign(x.a); })
      .complex_gradients([](const G& x) { return x.grad * sign(x.a); });
  functions.define(Pointwise::kAngle)
      .in(kFloatTypes)
      .gives(Values::kReal)
      .torch_kernel("angle_cpu")
      .is([](const Inputs& x) {
        return where(x.a < 0, std::numbers::pi, where(isnan(x.a), x.a, 0));
      })
      .gradients(kZero)
      .complex_gradients([](const G& x) {
        const Expr turned = x.a * x.a.imaginary_unit();
        return where(x.a == 0, 0, x.grad * (turned / (x.a * conj(x.a))));
      });
  // Of complex numbers only: others are their own conjugates.
  functions.define(Pointwise::kConj)
      .torch_kernel("conj_cpu")
      .is([](const Inputs& x) { return x.a + 0; })
      .complex_gradients([](const G& x) { return conj(x.grad); });
  functions.define(Pointwise::kNeg).in(kRealTypes).gradients([](const G& x) { return -x.grad; });
  functions.define(Pointwise::kSign)
      .in(kAllTypes)
      .is([](const Inputs& x) { return where(x.a > 0, 1, where(x.a < 0, -1, x.a.number(0))); })
      .of_integers(
          [](const Inputs& x) { return where(x.a > 0, 1, where(x.a < 0, -1, x.a.number(0))); })
      .gradients(kZero)
      // What does not turn is lost.
      .complex_gradients([](const G& x) {
        const Expr unit = sign(x.a);
        const Expr product = conj(x.grad) * unit;
        const Expr along = (product + conj(product)) / 2;
        return where(x.a == 0, 0, (x.grad - along * unit) / abs(x.a));
      });
}

}  // namespace mindtorch::ops
