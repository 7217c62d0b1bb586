#include <numbers>

#include "mindtorch/ops/functions/declare.h"

namespace mindtorch::ops {
namespace {

using G = GradientInputs;

Expr pow_gradient(const G& x) { return where(x.b == 0, 0, x.grad * (x.b * pow(x.a, x.b - 1))); }
Expr exponent_gradient(const G& x) {
  return where((x.a == 0) & (x.b >= 0), 0, x.grad * (x.result * log(x.a)));
}

Expr complex_pow_gradient(const G& x) {
  return where(x.b == 0, 0, x.grad * conj(x.b * pow(x.a, x.b - 1)));
}
// Powers of 0 are 0 while the exponent's real part is not negative.
Expr complex_exponent_gradient(const G& x) {
  const Expr real = (x.b + conj(x.b)) / 2;
  const Expr is_flat = (x.a == 0) & ((real == 0) | (sign(real) == 1));
  return where(is_flat, 0, x.grad * conj(pow(x.a, x.b) * log(x.a)));
}

// Where both are the same infinity, so is the result.
template <typename Log1pExp>
Expr add_exponentials(const Inputs& x, Log1pExp log1p_exp) {
  const Expr sum = maximum(x.a, x.b) + log1p_exp(-abs(x.a - x.b));
  return where((x.a == x.b) & isinf(x.a), x.a, sum);
}

}  // namespace

void declare_powers(const Functions& functions) {
  functions.define(Pointwise::kPow)
      .in(kRealTypes)
      .cost(Cost::kLong)
      .within(0.51, 1.1)
      .gradients(pow_gradient, exponent_gradient)
      .complex_gradients(complex_pow_gradient, complex_exponent_gradient);
  functions.define(Pointwise::kPowScalar)
      .in(kRealTypes)
      .cost(Cost::kLong)
      .within(0.51, 1.1)
      .is([](const Inputs& x) { return pow(x.a, x.p0); })
      .of_integers([](const Inputs& x) { return pow(x.a, x.p0); })
      .gradients(
          [](const G& x) { return where(x.p0 == 0, 0, x.grad * (x.p0 * pow(x.a, x.p0 - 1))); });
  functions.define(Pointwise::kSquare)
      .in(kRealTypes)
      .is([](const Inputs& x) { return x.a * x.a; })
      .gradients([](const G& x) { return x.grad * (2 * x.a); });
  functions.define(Pointwise::kCube)
      .in(kRealTypes)
      .within(1.5, 1.5)
      .is([](const Inputs& x) { return x.a * x.a * x.a; })
      .gradients([](const G& x) { return x.grad * (3 * (x.a * x.a)); });
  functions.define(Pointwise::kReciprocal)
      .in(kFloatTypes)
      .is([](const Inputs& x) { return 1 / x.a; })
      .gradients([](const G& x) { return -x.grad * (x.result * x.result); });
  functions.define(Pointwise::kInverseSquare)
      .in(kFloatTypes)
      .within(1.6, 1.6)
      .moderate()
      .is([](const Inputs& x) { return 1 / (x.a * x.a); })
      .gradients([](const G& x) { return x.grad * (-2 / (x.a * x.a * x.a)); });
  functions.define(Pointwise::kSqrt).in(kFloatTypes).cost(Cost::kCurve).gradients([](const G& x) {
    return x.grad / (2 * x.result);
  });
  functions.define(Pointwise::kRsqrt)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(1.5, 1.5)
      .is([](const Inputs& x) { return 1 / sqrt(x.a); })
      .gradients([](const G& x) { return -0.5 * x.grad * (x.result * x.result * x.result); });
  functions.define(Pointwise::kExp)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(0.9, 0.9)
      .gradients([](const G& x) { return x.grad * x.result; });
  functions.define(Pointwise::kExp2)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(0.95, 0.95)
      .is([](const Inputs& x) { return pow(2, x.a); })
      .gradients([](const G& x) { return x.grad * x.result * std::numbers::ln2; });
  functions.define(Pointwise::kExpm1)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(1.5, 1.9)
      .gradients([](const G& x) { return x.grad * (x.result + 1); });
  functions.define(Pointwise::kLog)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(0.9, 0.9)
      .gradients([](const G& x) { return x.grad / x.a; });
  functions.define(Pointwise::kLog2)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(1.6, 1.6)
      .is([](const Inputs& x) { return log(x.a) / log(x.a.number(2)); })
      .gradients([](const G& x) { return x.grad / (x.a * std::numbers::ln2); });
  functions.define(Pointwise::kLog10)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(2, 2)
      .is([](const Inputs& x) { return log(x.a) / log(x.a.number(10)); })
      .gradients([](const G& x) { return x.grad / (x.a * std::numbers::ln10); });
  functions.define(Pointwise::kLog1p)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(0.9, 1)
      .gradients([](const G& x) { return x.grad / (x.a + 1); });
  functions.define(Pointwise::kLogaddexp)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(2, 2)
      .above(1, 1)
      .moderate()
      .torch_kernel("logaddexp_cpu")
      .is([](const Inputs& x) {
        return add_exponentials(x, [](Expr below) { return log1p(exp(below)); });
      })
      .gradients([](const G& x) { return x.grad / (1 + exp(x.b - x.a)); },
                 [](const G& x) { return x.grad / (1 + exp(x.a - x.b)); });
  functions.define(Pointwise::kLogaddexp2)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(2, 2)
      .above(1, 1)
      .moderate()
      .torch_kernel("logaddexp2_cpu")
      .is([](const Inputs& x) {
        return add_exponentials(
            x, [](Expr below) { return log1p(exp2(below)) * (1 / std::numbers::ln2); });
      })
      .gradients([](const G& x) { return x.grad / (1 + exp2(x.b - x.a)); },
                 [](const G& x) { return x.grad / (1 + exp2(x.a - x.b)); });
}

}  // namespace mindtorch::ops
