#include <cmath>
#include <numbers>
#include <span>

#include "mindtorch/ops/functions/bessel_series.h"
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

// How many steps up the operand takes before the asymptotic series of psi and its derivative hold.
constexpr int kSteps = 10;

// By recurrence up to where the asymptotic series holds, reflected for what is not positive.
Expr digamma_formula(const Inputs& x) {
  const Expr is_low = x.a < 0;
  Expr at = where(is_low, 1 - x.a, x.a);
  Expr sum = at.number(0);
  for (int i = 0; i < kSteps; ++i) {
    sum = sum - 1 / at;
    at = at + 1;
  }
  const Expr z = 1 / (at * at);
  Expr series = at.number(1.0 / 12);
  for (const double next : {691.0 / 32760, 1.0 / 132, 1.0 / 240, 1.0 / 252, 1.0 / 120, 1.0 / 12}) {
    series = next - z * series;
  }
  const Expr right = sum + log(at) - 0.5 / at - z * series;
  const Expr angle = pi * (x.a - round(x.a));
  const Expr left = where(x.a == floor(x.a), NAN, right - pi * cos(angle) / sin(angle));
  return where(x.a == 0, copysign(x.a.number(INFINITY), -x.a), where(is_low, left, right));
}
Expr trigamma_formula(const Inputs& x) {
  const Expr is_low = x.a < 0.5;
  Expr at = where(is_low, 1 - x.a, x.a);
  Expr sum = at.number(0);
  for (int i = 0; i < kSteps; ++i) {
    sum = sum + 1 / (at * at);
    at = at + 1;
  }
  const Expr z = 1 / (at * at);
  Expr series = at.number(7.0 / 6);
  for (const double next : {691.0 / 2730, 5.0 / 66, 1.0 / 30, 1.0 / 42, 1.0 / 30, 1.0 / 6}) {
    series = next - z * series;
  }
  const Expr right = sum + 1 / at + 0.5 * z + z / at * series;
  const Expr sine = sin(pi * (x.a - round(x.a)));
  return where(is_low, pi * pi / (sine * sine) - right, right);
}

// The square in the exponent is cut where a few bits hold it.
Expr erfcx_formula(const Inputs& x) {
  constexpr double kFar = 8;
  const Expr cut = round(x.a * 16) / 16;
  const Expr near = exp(cut * cut) * exp((x.a - cut) * (x.a + cut)) * erfc(x.a);
  // 1 - z + 1*3 z**2 - ..., over x sqrt(pi)
  const Expr z = 0.5 / (x.a * x.a);
  Expr series = x.a.number(1);
  for (int k = 23; k > 0; --k) series = 1 - (2 * k - 1) * z * series;
  const Expr far = series * inv_sqrtpi / x.a;
  return where(x.a < -27, INFINITY, where(x.a < kFar, near, far));
}

// A rough start, then steps of third order on the smaller tail, which keep the digits of small
// ones.
Expr ndtri_formula(const Inputs& x) {
  const Expr is_right = x.a > 0.5;
  const Expr tail = where(is_right, 1 - x.a, x.a);
  const Expr t = sqrt(-2 * log(tail));
  Expr at = (2.515517 + t * (0.802853 + t * 0.010328)) /
                (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
            t;
  for (int i = 0; i < 3; ++i) {
    const Expr below = 0.5 * erfc(-at / std::numbers::sqrt2);
    const Expr density = exp(-0.5 * at * at) / std::sqrt(2 * pi);
    const Expr error = (below - tail) / density;
    at = where(density > 0, at - error / (1 + 0.5 * at * error), at);
  }
  const Expr inside = where(is_right, -at, at);
  const Expr end = where(x.a == 0, -INFINITY, where(x.a == 1, INFINITY, x.a.number(NAN)));
  return where((x.a > 0) & (x.a < 1), inside, end);
}

// A Chebyshev series at t in [-1, 1].
Expr chebyshev_sum(std::span<const double> coefficients, Expr t) {
  const Expr doubled = 2 * t;
  Expr last = t.number(0);
  Expr sum = t.number(coefficients.back());
  for (size_t i = coefficients.size() - 1; --i > 0;) {
    const Expr next = coefficients[i] + doubled * sum - last;
    last = sum;
    sum = next;
  }
  return coefficients[0] + t * sum - last;
}
// t runs from 0 to 1.
Expr unit_sum(std::span<const double> coefficients, Expr t) {
  return chebyshev_sum(coefficients, 2 * t - 1);
}

// As special/bessel.cpp has it: the series hold exp(-x) I0(x) and exp(-x) I1(x) / x up to 8,
// sqrt(x) exp(-x) I(x) in 8 / x above.
constexpr double kINear = 8;

Expr scaled_i0(const Inputs& x) {
  const Expr size = abs(x.a);
  const Expr far = unit_sum(special::kI0Far, kINear / size) / sqrt(size);
  return where(size <= kINear, unit_sum(special::kI0Near, size / kINear), far);
}
Expr scaled_i1(const Inputs& x) {
  const Expr size = abs(x.a);
  const Expr near = size * unit_sum(special::kI1Near, size / kINear);
  const Expr far = unit_sum(special::kI1Far, kINear / size) / sqrt(size);
  return copysign(where(size <= kINear, near, far), x.a);
}
// exp(x) overflows a little before the functions do.
Expr unscale(Expr scaled, Expr x) {
  const Expr half = exp(0.5 * abs(x));
  return half * scaled * half;
}

// K0(x) + log(x / 2) I0(x) and x (K1(x) - log(x / 2) I1(x)) in x * x up to 2; sqrt(x) exp(x) K(x)
// in 2 / x above. The functions are infinite at 0, and there is none below.
constexpr double kKNear = 2;

Expr near_k0(Expr x) {
  return unit_sum(special::kK0Near, x * x / (kKNear * kKNear)) - log(x / 2) * bessel_i0(x);
}
Expr near_k1(Expr x) {
  return unit_sum(special::kK1Near, x * x / (kKNear * kKNear)) / x + log(x / 2) * bessel_i1(x);
}
Expr function_k(Expr x, Expr near, std::span<const double> far, bool is_scaled) {
  const Expr scaled = unit_sum(far, kKNear / x) / sqrt(x);
  const Expr value =
      where(x <= kKNear, is_scaled ? near * exp(x) : near, is_scaled ? scaled : scaled * exp(-x));
  return where(x > 0, value, where(x == 0, INFINITY, x.number(NAN)));
}

// The slope of I1 is I0 - I1(a) / a, and 1/2 at 0.
Expr over_operand(const G& x) { return where(x.a == 0, 0.5, x.result / x.a); }

void declare_bessel(const Functions& functions) {
  functions.define(Pointwise::kBesselI0)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .within(0.51, 12)
      .moderate()
      .is([](const Inputs& x) { return unscale(bessel_i0e(x.a), x.a); })
      .gradients([](const G& x) { return x.grad * bessel_i1(x.a); });
  functions.define(Pointwise::kBesselI0e)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .within(0.51, 12)
      .moderate()
      .is(scaled_i0)
      .gradients([](const G& x) { return x.grad * (bessel_i1e(x.a) - sign(x.a) * x.result); });
  functions.define(Pointwise::kBesselI1)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .within(0.51, 24)
      .moderate()
      .is([](const Inputs& x) { return unscale(bessel_i1e(x.a), x.a); })
      .gradients([](const G& x) { return x.grad * (bessel_i0(x.a) - over_operand(x)); });
  functions.define(Pointwise::kBesselI1e)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .within(0.51, 24)
      .moderate()
      .is(scaled_i1)
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
      .loops()
      .moderate()
      .gradients(Derivative::Kind::kNone,
                 [](const G& x) { return x.grad * -x.a * zeta(x.a + 1, x.b); });
  functions.define(Pointwise::kIgamma)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .loops()
      .moderate()
      .gradients(Derivative::Kind::kNone, [](const G& x) { return x.grad * gamma_density(x); });
  functions.define(Pointwise::kIgammac)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .loops()
      .moderate()
      .gradients(Derivative::Kind::kNone, [](const G& x) { return -x.grad * gamma_density(x); });
}

void declare_bessel_k(const Functions& functions) {
  const auto define = [&](Pointwise function) {
    return functions.define(function)
        .in(kFloatTypes)
        .cost(Cost::kByNumber)
        .within(0.51, 24)
        .moderate();
  };
  for (const bool is_scaled : {false, true}) {
    define(is_scaled ? Pointwise::kBesselK0e : Pointwise::kBesselK0).is([&](const Inputs& x) {
      return function_k(x.a, near_k0(x.a), special::kK0Far, is_scaled);
    });
    define(is_scaled ? Pointwise::kBesselK1e : Pointwise::kBesselK1).is([&](const Inputs& x) {
      return function_k(x.a, near_k1(x.a), special::kK1Far, is_scaled);
    });
  }
}

void declare_shifted_polynomials(const Functions& functions) {
  const auto define = [&](Pointwise function, auto formula) {
    functions.define(function)
        .in(kFloatTypes)
        .cost(Cost::kByNumber)
        .moderate()
        .is([&](const Inputs& x) { return formula(2 * x.a - 1, x.b); });
  };
  define(Pointwise::kShiftedChebyshevT, [](Expr a, Expr n) { return chebyshev_t(a, n); });
  define(Pointwise::kShiftedChebyshevU, [](Expr a, Expr n) { return chebyshev_u(a, n); });
  define(Pointwise::kShiftedChebyshevV, [](Expr a, Expr n) { return chebyshev_v(a, n); });
  define(Pointwise::kShiftedChebyshevW, [](Expr a, Expr n) { return chebyshev_w(a, n); });
}

// Loops whose length is up to their operands, which torch does not differentiate.
constexpr Pointwise kLoops[] = {
    Pointwise::kBesselJ0,      Pointwise::kBesselJ1,   Pointwise::kBesselY0,
    Pointwise::kBesselY1,      Pointwise::kAiryAi,     Pointwise::kStandardGammaGrad,
    Pointwise::kDirichletGrad, Pointwise::kChebyshevT, Pointwise::kChebyshevU,
    Pointwise::kChebyshevV,    Pointwise::kChebyshevW, Pointwise::kHermiteH,
    Pointwise::kHermiteHe,     Pointwise::kLaguerreL,  Pointwise::kLegendreP};

}  // namespace

void declare_special(const Functions& functions) {
  declare_bessel(functions);
  declare_gamma(functions);
  declare_bessel_k(functions);
  declare_shifted_polynomials(functions);
  for (const Pointwise function : kLoops) {
    functions.define(function).in(kFloatTypes).cost(Cost::kByNumber).loops().moderate();
  }
  functions.define(Pointwise::kErfcx)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .moderate()
      .within(0.51, 16)
      .is(erfcx_formula)
      .gradients([](const G& x) { return (2 * x.a * x.result - 2 * inv_sqrtpi) * x.grad; });
  functions.define(Pointwise::kNdtri)
      .in(kFloatTypes)
      .cost(Cost::kByNumber)
      .moderate()
      .within(0.51, 16)
      .above(0.1, 0.1)
      .is(ndtri_formula)
      .gradients([](const G& x) { return std::sqrt(2 * pi) * exp(square(x.result) / 2) * x.grad; });
  functions.define(Pointwise::kErf)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(1.1, 1.4)
      .gradients([](const G& x) { return 2 * inv_sqrtpi * exp(-(x.a * x.a)) * x.grad; });
  functions.define(Pointwise::kErfc)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(2.6, 8)
      .gradients([](const G& x) { return -2 * inv_sqrtpi * exp(-(x.a * x.a)) * x.grad; });
  functions.define(Pointwise::kErfinv)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(0.8, 5)
      .gradients([](const G& x) { return 0.5 / inv_sqrtpi * exp(x.result * x.result) * x.grad; });
  functions.define(Pointwise::kLgamma)
      .in(kFloatTypes)
      .cost(Cost::kLong)
      .within(0.6, 5)
      .above(0.1, 0.1)
      .moderate()
      .gradients([](const G& x) { return x.grad * digamma(x.a); });
  functions.define(Pointwise::kDigamma)
      .in(kFloatTypes)
      .cost(Cost::kLong)
      .within(0.6, 4000)
      .above(0.1, 0.1)
      .moderate()
      .is(digamma_formula)
      .gradients([](const G& x) { return x.grad * trigamma(x.a); });
  functions.define(Pointwise::kTrigamma)
      .in(kFloatTypes)
      .cost(Cost::kLong)
      .within(1, 4000)
      .above(0.1, 0.1)
      .moderate()
      .is(trigamma_formula)
      .gradients([](const G& x) { return x.grad * tetragamma(x.a); });
  functions.define(Pointwise::kLogit)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(1.6, 3)
      .above(1, 1)
      .moderate()
      .is([](const Inputs& x) {
        const Expr inside = where(x.p0 < 0, x.a, minimum(maximum(x.a, x.p0), x.p1));
        return log(inside) - log1p(-inside);
      })
      .gradients(logit_gradient);
  functions.define(Pointwise::kSinc)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(6, 20)
      .above(0.1, 0.1)
      .moderate()
      .is([](const Inputs& x) {
        const Expr angle = x.a * pi;
        return where(x.a == 0, 1, sin(angle) / angle);
      })
      .gradients(sinc_gradient);
  functions.define(Pointwise::kXlogy)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(1.6, 1.6)
      .is([](const Inputs& x) { return where((x.a == 0) & !isnan(x.b), 0, x.a * log(x.b)); })
      .gradients(
          [](const G& x) {
            const Expr product = where((x.grad == 0) & !isnan(x.b), 0, x.grad * log(x.b));
            return where((x.a == 0) & (x.b <= 0), 0, product);
          },
          [](const G& x) { return x.grad * x.a / x.b; });
}

}  // namespace mindtorch::ops
