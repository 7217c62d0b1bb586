#include "mindtorch/ops/functions/special_functions.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace mindtorch::ops::special {

double erfcx(double x) {
  constexpr double kFar = 8;
  if (x < kFar) {
    if (x < -27) return std::numeric_limits<double>::infinity();
    // What the square loses to rounding counts: it is an exponent.
    const double square = x * x;
    const double rest = std::fma(x, x, -square);
    return std::exp(square) * (1 + rest) * std::erfc(x);
  }
  // 1 - 1/(2xx) + 1*3/(2xx)**2 - ..., over x sqrt(pi)
  const double z = 0.5 / (x * x);
  double sum = 1;
  double term = 1;
  for (int k = 1; k < 30; ++k) {
    term *= -(2 * k - 1) * z;
    sum += term;
    if (std::fabs(term) < 1e-17) break;
  }
  return sum * std::numbers::inv_sqrtpi / x;
}

double ndtri(double p) {
  if (p == 0) return -kInf;
  if (p == 1) return kInf;
  if (!(p > 0 && p < 1)) return std::numeric_limits<double>::quiet_NaN();
  if (p > 0.5) return -ndtri(1 - p);
  // A rough start, then steps of third order on p itself, which keep the digits of small ones.
  const double t = std::sqrt(-2 * std::log(p));
  double x = (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
             t;
  for (int i = 0; i < 3; ++i) {
    const double below = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    if (!(density > 0)) break;
    const double error = (below - p) / density;
    x -= error / (1 + x * error / 2);
  }
  return x;
}

}  // namespace mindtorch::ops::special
