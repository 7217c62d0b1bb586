// Functions around the gamma function: zeta, incomplete gamma functions, and how samples of gamma
// and beta distributions move with their shapes.
#include <math.h>  // lgamma_r

#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "mindtorch/ops/functions/special_functions.h"

namespace mindtorch::ops::special {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMostTerms = 100000;  // series and fractions need about sqrt(shape)

// std::lgamma writes the sign to a global variable, which threads must not share.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// m - log(1 + m), also where the two are close.
double minus_log1p(double m) {
  if (std::fabs(m) > 0.5) return m - std::log1p(m);
  const double r = m / (2 + m);
  double sum = 0;
  double power = 1;
  for (int k = 3; k < 40; k += 2, power *= r * r) sum += power / k;
  return r * m - 2 * r * r * r * sum;
}

// x**a exp(-x) / gamma(a + 1). Of large a by Stirling's series: the factors alone overflow, and
// their logarithms cancel.
double gamma_density(double a, double x) {
  if (a < 10) return std::exp(a * std::log(x) - x - log_gamma(a + 1));
  const double z = 1 / (a * a);
  const double stirling =
      (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z * (1.0 / 1188))))) / a;
  return std::exp(-a * minus_log1p((x - a) / a) - stirling) / std::sqrt(2 * std::numbers::pi * a);
}

// A number and its slope by one variable.
struct Dual {
  double value;
  double slope = 0;
};
Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.slope - b.slope}; }
Dual operator*(Dual a, Dual b) {
  return {a.value * b.value, a.slope * b.value + a.value * b.slope};
}
Dual operator/(Dual a, Dual b) {
  const double quotient = a.value / b.value;
  return {quotient, (a.slope - quotient * b.slope) / b.value};
}

// Slopes keep the rounding of what they are made of.
bool is_settled(Dual change, Dual sum) {
  return std::fabs(change.value) <= 2 * kEpsilon * std::fabs(sum.value) &&
         std::fabs(change.slope) <= 32 * kEpsilon * std::fabs(sum.slope);
}

// first + above(1) / (below(1) + above(2) / (below(2) + ...)), by Lentz's method.
template <typename Above, typename Below>
Dual continued_fraction(Dual first, const Above& above, const Below& below) {
  constexpr double kTiny = 1e-300;
  const auto nonzero = [](Dual x) { return x.value == 0 ? Dual{kTiny, x.slope} : x; };
  Dual value = nonzero(first);
  Dual c = value;
  Dual d{0};
  for (int i = 1; i < kMostTerms; ++i) {
    d = Dual{1} / nonzero(below(i) + above(i) * d);
    c = nonzero(below(i) + above(i) / c);
    const Dual factor = c * d;
    const Dual next = value * factor;
    const bool is_done = is_settled(next - value, next);
    value = next;
    if (is_done) break;
  }
  return value;
}

// P(a, x) / gamma_density(a, x): 1 + x / (a + 1) + x**2 / ((a + 1) (a + 2)) + ...
Dual lower_series(Dual a, double x) {
  Dual sum{1};
  Dual term{1};
  Dual shape = a;
  for (int i = 0; i < kMostTerms; ++i) {
    shape = shape + Dual{1};
    term = term * Dual{x} / shape;
    sum = sum + term;
    if (is_settled(term, sum)) break;
  }
  return sum;
}

// Q(a, x) / (a gamma_density(a, x)).
Dual upper_fraction(Dual a, double x) {
  const Dual below = Dual{x + 1} - a;
  return Dual{1} / continued_fraction(
                       below, [&](int i) { return Dual{1.0 * i} * (a - Dual{1.0 * i}); },
                       [&](int i) { return below + Dual{2.0 * i}; });
}

// Q(a, x) for small x, where P is close to 1.
double upper_series(double a, double x) {
  double term = 1;
  double sum = 0;
  for (int n = 1; n < kMostTerms; ++n) {
    term *= -x / n;
    const double change = term / (a + n);
    sum += change;
    if (std::fabs(change) <= kEpsilon * std::fabs(sum)) break;
  }
  const double power = a * std::log(x) - log_gamma(a + 1);
  return -std::expm1(power) - a * std::exp(power) * sum;
}

// What both functions are at the ends of their domain, in terms of the lower one.
std::optional<double> incomplete_gamma_at_end(double a, double x) {
  if (!(x >= 0) || !(a >= 0)) return kNan;
  if (a == 0) return x > 0 ? 1 : kNan;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  if (std::isinf(x)) return 1;
  return std::nullopt;
}

bool takes_lower_series(double a, double x) { return x <= 1 || x < a; }

double lower_by_series(double a, double x) {
  return gamma_density(a, x) * lower_series({a}, x).value;
}
double upper_by_fraction(double a, double x) {
  return a * gamma_density(a, x) * upper_fraction({a}, x).value;
}

// The fraction of the incomplete beta function: I_x(a, b) = x**a (1 - x)**b / (a B(a, b)) over it.
Dual beta_fraction(Dual a, Dual b, double x) {
  return continued_fraction(
      {1},
      [&](int i) {
        const Dual m{static_cast<double>(i / 2)};
        const Dual twice = m + m;
        const Dual above = i % 2 == 0 ? m * (b - m) : Dual{-1} * (a + m) * (a + b + m);
        const Dual before = i % 2 == 0 ? a + twice - Dual{1} : a + twice + Dual{1};
        return above * Dual{x} / (before * (a + twice));
      },
      [](int) { return Dual{1}; });
}

}  // namespace

// Reflection for negative x, recurrence up to 10, then the asymptotic series.
double digamma(double x) {
  if (x == 0) return std::copysign(kInf, -x);
  double result = 0;
  if (x < 0) {
    const double fraction = x - std::trunc(x);
    if (fraction == 0) return kNan;
    result = -std::numbers::pi / std::tan(std::numbers::pi * fraction);
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  const double z = 1 / (x * x);
  // Bernoulli numbers over their index: B(2k) / 2k.
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 -
                           z * (1.0 / 252 -
                                z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return result + std::log(x) - 0.5 / x - (x < 1e17 ? series : 0);
}

// The first terms, then the sum of the rest by Euler and Maclaurin.
double zeta(double s, double q) {
  if (s == 1) return kInf;
  if (!(s > 1) || std::isnan(q)) return kNan;
  if (q <= 0 && q == std::floor(q)) return kInf;
  if (q < 0 && s != std::floor(s)) return kNan;
  double sum = 0;
  for (int i = 0; i < 10 || q <= 9; ++i, q += 1) {
    const double term = std::pow(q, -s);
    sum += term;
    if (std::fabs(term) < kEpsilon * std::fabs(sum) && q > 0) return sum;
  }
  // B(2k) / (2k)!
  constexpr double kBernoulli[] = {1.0 / 12,
                                   -1.0 / 720,
                                   1.0 / 30240,
                                   -1.0 / 1209600,
                                   1.0 / 47900160,
                                   -691.0 / 1307674368000,
                                   1.0 / 74724249600,
                                   -3617.0 / 10670622842880000,
                                   43867.0 / 5109094217170944000,
                                   -174611.0 / 802857662698291200000.0};
  const double power = std::pow(q, -s);
  sum += power * (q / (s - 1) + 0.5);
  double factor = power * s / q;
  for (int k = 0; k < 10; ++k) {
    const double term = kBernoulli[k] * factor;
    sum += term;
    if (std::fabs(term) < kEpsilon * std::fabs(sum)) break;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);
  }
  return sum;
}

double igamma(double a, double x) {
  if (const std::optional<double> known = incomplete_gamma_at_end(a, x)) return *known;
  return takes_lower_series(a, x) ? lower_by_series(a, x) : 1 - upper_by_fraction(a, x);
}

double igammac(double a, double x) {
  if (const std::optional<double> known = incomplete_gamma_at_end(a, x)) return 1 - *known;
  if (!takes_lower_series(a, x)) return upper_by_fraction(a, x);
  const double lower = lower_by_series(a, x);
  return x <= 1 && lower > 0.5 ? upper_series(a, x) : 1 - lower;
}

double standard_gamma_grad(double alpha, double sample) {
  if (std::isnan(alpha) || std::isnan(sample)) return kNan;
  if (!(sample > 0) || !(alpha > 0)) return 0;
  const double log_sample = std::log(sample);
  const Dual shape{alpha, 1};
  if (takes_lower_series(alpha, sample)) {
    const Dual series = lower_series(shape, sample);
    return -sample / alpha * ((log_sample - digamma(alpha + 1)) * series.value + series.slope);
  }
  const Dual fraction = upper_fraction(shape, sample);
  return sample * ((log_sample - digamma(alpha)) * fraction.value + fraction.slope);
}

double dirichlet_grad(double sample, double alpha, double total) {
  const double beta = total - alpha;
  if (std::isnan(sample) || std::isnan(alpha) || std::isnan(total)) return kNan;
  if (!(sample > 0) || !(alpha > 0) || !(beta > 0)) return 0;
  const double slope = std::log(sample) - digamma(alpha) + digamma(total);
  if (sample < (alpha + 1) / (total + 2)) {
    const Dual fraction = Dual{1} / beta_fraction({alpha, 1}, {beta}, sample);
    return -sample / alpha * ((slope - 1 / alpha) * fraction.value + fraction.slope);
  }
  const Dual fraction = Dual{1} / beta_fraction({beta}, {alpha, 1}, 1 - sample);
  return sample / beta * (slope * fraction.value + fraction.slope);
}

}  // namespace mindtorch::ops::special
