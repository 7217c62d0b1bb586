#include <numbers>

#include "mindtorch/ops/functions/declare.h"

namespace mindtorch::ops {
namespace {

using G = GradientInputs;
using std::numbers::inv_sqrtpi;
using std::numbers::pi;

Expr logit_gradient(const G& x) {
  const Expr inside = x.grad / (x.a * (1 - x.a));
  const Expr at_end = (x.a == 0) | (x.a == 1);
  const Expr unbounded =
      where((x.a < 0) | (x.a > 1), NAN, where(at_end, x.grad * INFINITY, inside));
  const Expr bounded = where((x.a < x.p0) | (x.a > x.p1), 0, inside);
  return where(x.p0 < 0, unbounded, bounded);
}

Expr sinc_gradient(const G& x) {
  const Expr angle = x.a * pi;
  return where(x.a == 0, 0, x.grad * ((angle * cos(angle) - sin(angle)) / (angle * x.a)));
}

// The derivative of trigamma: steps up to where its asymptotic series holds, reflected for what is
// not positive.
Expr tetragamma(Expr x) {
  const Expr is_low = x <= 0;
  Expr at = where(is_low, 1 - x, x);
  Expr sum = at.number(0);
  for (int i = 0; i < 8; ++i) {
    sum = sum - 2 / (at * at * at);
    at = at + 1;
  }
  const Expr u = 1 / (at * at);
  const Expr series = u * (1 + 1 / at + u * (0.5 + u * (-1.0 / 6 + u * (1.0 / 6 + u * -0.3))));
  const Expr right = sum - series;
  const Expr angle = x * pi;
  const Expr sine = sin(angle);
  return where(is_low, right - 2 * pi * pi * pi * cos(angle) / (sine * sine * sine), right);
}

// The slope of I1 is I0 - I1(a) / a, and 1/2 at 0.
Expr over_operand(const G& x) { return where(x.a == 0, 0.5, x.result / x.a); }

void declare_bessel(const Functions& functions) {
  functions.define(Pointwise::kBesselI0)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .gradients([](const G& x) { return x.grad * bessel_i1(x.a); });
  functions.define(Pointwise::kBesselI0e)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .gradients([](const G& x) { return x.grad * (bessel_i1e(x.a) - sign(x.a) * x.result); });
  functions.define(Pointwise::kBesselI1)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .gradients([](const G& x) { return x.grad * (bessel_i0(x.a) - over_operand(x)); });
  functions.define(Pointwise::kBesselI1e)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .gradients([](const G& x) {
        return x.grad * (bessel_i0e(x.a) - sign(x.a) * x.result - over_operand(x));
      });
}

// d P(a, b) / db, without the incoming gradient.
Expr gamma_density(const G& x) { return exp((x.a - 1) * log(x.b) - x.b - lgamma(x.a)); }

void declare_gamma(const Functions& functions) {
  functions.define(Pointwise::kZeta)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .gradients(Derivative::Kind::kNone,
                 [](const G& x) { return x.grad * -x.a * zeta(x.a + 1, x.b); });
  functions.define(Pointwise::kIgamma)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .gradients(Derivative::Kind::kNone, [](const G& x) { return x.grad * gamma_density(x); });
  functions.define(Pointwise::kIgammac)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .gradients(Derivative::Kind::kNone, [](const G& x) { return -x.grad * gamma_density(x); });
}

// Functions that torch does not differentiate.
constexpr Pointwise kWithoutSlope[] = {
    Pointwise::kBesselJ0,          Pointwise::kBesselJ1,          Pointwise::kBesselK0,
    Pointwise::kBesselK0e,         Pointwise::kBesselK1,          Pointwise::kBesselK1e,
    Pointwise::kBesselY0,          Pointwise::kBesselY1,          Pointwise::kAiryAi,
    Pointwise::kStandardGammaGrad, Pointwise::kDirichletGrad,     Pointwise::kChebyshevT,
    Pointwise::kChebyshevU,        Pointwise::kChebyshevV,        Pointwise::kChebyshevW,
    Pointwise::kShiftedChebyshevT, Pointwise::kShiftedChebyshevU, Pointwise::kShiftedChebyshevV,
    Pointwise::kShiftedChebyshevW, Pointwise::kHermiteH,          Pointwise::kHermiteHe,
    Pointwise::kLaguerreL,         Pointwise::kLegendreP};

}  // namespace

void declare_special(const Functions& functions) {
  declare_bessel(functions);
  declare_gamma(functions);
  for (const Pointwise function : kWithoutSlope) {
    functions.define(function).in(kFloatTypes).cost(Cost::kByNumber);
  }
  functions.define(Pointwise::kErfcx)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .gradients([](const G& x) { return (2 * x.a * x.result - 2 * inv_sqrtpi) * x.grad; });
  functions.define(Pointwise::kNdtri)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .gradients([](const G& x) { return std::sqrt(2 * pi) * exp(square(x.result) / 2) * x.grad; });
  functions.define(Pointwise::kErf).in(kFloatTypes).cost(Cost::kCurve).gradients([](const G& x) {
    return 2 * inv_sqrtpi * exp(-(x.a * x.a)) * x.grad;
  });
  functions.define(Pointwise::kErfc).in(kFloatTypes).cost(Cost::kCurve).gradients([](const G& x) {
    return -2 * inv_sqrtpi * exp(-(x.a * x.a)) * x.grad;
  });
  functions.define(Pointwise::kErfinv).in(kFloatTypes).cost(Cost::kCurve).gradients([](const G& x) {
    return 0.5 / inv_sqrtpi * exp(x.result * x.result) * x.grad;
  });
  functions.define(Pointwise::kLgamma).in(kFloatTypes).cost(Cost::kLong).gradients([](const G& x) {
    return x.grad * digamma(x.a);
  });
  functions.define(Pointwise::kDigamma).in(kFloatTypes).cost(Cost::kLong).gradients([](const G& x) {
    return x.grad * trigamma(x.a);
  });
  functions.define(Pointwise::kTrigamma)
      .in(kFloatTypes)
      .cost(Cost::kLong)
      .gradients([](const G& x) { return x.grad * tetragamma(x.a); });
  functions.define(Pointwise::kLogit)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .is([](const Inputs& x) {
        const Expr inside = where(x.p0 < 0, x.a, minimum(maximum(x.a, x.p0), x.p1));
        return log(inside) - log1p(-inside);
      })
      .gradients(logit_gradient);
  functions.define(Pointwise::kSinc)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .is([](const Inputs& x) {
        const Expr angle = x.a * pi;
        return where(x.a == 0, 1, sin(angle) / angle);
      })
      .gradients(sinc_gradient);
  functions.define(Pointwise::kXlogy)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .is([](const Inputs& x) { return where((x.a == 0) & !isnan(x.b), 0, x.a * log(x.b)); })
      .gradients(
          [](const G& x) {
            const Expr product = where((x.grad == 0) & !isnan(x.b), 0, x.grad * log(x.b));
            return where((x.a == 0) & (x.b <= 0), 0, product);
          },
          [](const G& x) { return x.grad * x.a / x.b; });
}

}  // namespace mindtorch::ops
