// Bessel and Airy functions.
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "mindtorch/ops/functions/bessel_series.h"
#include "mindtorch/ops/functions/special_functions.h"

namespace mindtorch::ops::special {
namespace {

// A Chebyshev series at t in [-1, 1].
double chebyshev_sum(std::span<const double> coefficients, double t) {
  double last = 0;
  double sum = 0;
  for (size_t i = coefficients.size(); --i > 0;) {
    const double next = coefficients[i] + 2 * t * sum - last;
    last = sum;
    sum = next;
  }
  return coefficients[0] + t * sum - last;
}

// t runs from 0 to 1.
double unit_sum(std::span<const double> coefficients, double t) {
  return chebyshev_sum(coefficients, 2 * t - 1);
}

// The series hold exp(-x) I0(x) and exp(-x) I1(x) / x up to 8, sqrt(x) exp(-x) I(x) in 8 / x above.
constexpr double kINear = 8;

double scaled_i0(double x) {
  return x <= kINear ? unit_sum(kI0Near, x / kINear) : unit_sum(kI0Far, kINear / x) / std::sqrt(x);
}
double scaled_i1(double x) {
  return x <= kINear ? x * unit_sum(kI1Near, x / kINear)
                     : unit_sum(kI1Far, kINear / x) / std::sqrt(x);
}

// exp(x) overflows a little before the functions do.
double unscale(double scaled, double x) {
  const double half = std::exp(x / 2);
  return half * scaled * half;
}

// K0(x) + log(x / 2) I0(x) and x (K1(x) - log(x / 2) I1(x)) in x * x up to 2; sqrt(x) exp(x) K(x)
// in 2 / x above.
constexpr double kKNear = 2;

double near_k0(double x) {
  return unit_sum(kK0Near, x * x / (kKNear * kKNear)) - std::log(x / 2) * bessel_i0(x);
}
double near_k1(double x) {
  return unit_sum(kK1Near, x * x / (kKNear * kKNear)) / x + std::log(x / 2) * bessel_i1(x);
}

// The functions K: infinite at 0, none below.
template <double (*kNear)(double)>
double function_k(double x, std::span<const double> far, bool is_scaled) {
  if (x == 0) return kInf;
  if (!(x > 0)) return kNan;
  if (x <= kKNear) return kNear(x) * (is_scaled ? std::exp(x) : 1);
  const double scaled = unit_sum(far, kKNear / x) / std::sqrt(x);
  return is_scaled ? scaled : scaled * std::exp(-x);
}

}  // namespace

double bessel_i0(double x) { return unscale(scaled_i0(std::fabs(x)), std::fabs(x)); }
double bessel_i0e(double x) { return scaled_i0(std::fabs(x)); }
double bessel_i1(double x) {
  return std::copysign(unscale(scaled_i1(std::fabs(x)), std::fabs(x)), x);
}
double bessel_i1e(double x) { return std::copysign(scaled_i1(std::fabs(x)), x); }

double bessel_k0(double x) { return function_k<near_k0>(x, kK0Far, false); }
double bessel_k0e(double x) { return function_k<near_k0>(x, kK0Far, true); }
double bessel_k1(double x) { return function_k<near_k1>(x, kK1Far, false); }
double bessel_k1e(double x) { return function_k<near_k1>(x, kK1Far, true); }

double bessel_j0(double x) { return std::isinf(x) ? 0 : ::j0(x); }
double bessel_j1(double x) { return std::isinf(x) ? 0 : ::j1(x); }
double bessel_y0(double x) { return x < 0 ? kNan : ::y0(x); }
double bessel_y1(double x) { return x < 0 ? kNan : ::y1(x); }

// Ai itself in the middle. To the right it is exp(-z) / (2 sqrt(pi) x**(1/4)) times a series in
// 1 / z; to the left a cosine and a sine of z - pi / 4 with series in 1 / z**2; z = 2/3 |x|**(3/2).
double airy_ai(double x) {
  constexpr double kMiddle = 2.25;
  constexpr double kEdge = 2.25;  // z where |x| is kMiddle
  if (std::isnan(x) || std::isinf(x)) return kNan;
  if (std::fabs(x) <= kMiddle) return chebyshev_sum(kAiryMiddle, x / kMiddle);
  const double size = std::fabs(x);
  const double root = std::sqrt(size);
  const double z = 2 * size * root / 3;
  const double scale = std::numbers::inv_sqrtpi / std::sqrt(root);
  const double t = kEdge / z;
  if (x > 0) return 0.5 * scale * std::exp(-z) * unit_sum(kAiryRight, t);
  const double angle = z - std::numbers::pi / 4;
  return scale * (std::cos(angle) * unit_sum(kAiryCosine, t * t) +
                  std::sin(angle) * unit_sum(kAirySine, t * t) / z);
}

}  // namespace mindtorch::ops::special
