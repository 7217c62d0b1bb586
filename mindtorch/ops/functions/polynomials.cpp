// Orthogonal polynomials, by their recurrences.
#include <cmath>
#include <cstdint>
#include <limits>

#include "mindtorch/ops/functions/special_functions.h"

namespace mindtorch::ops::special {
namespace {

// From here on angles are quicker than steps, between the ends.
constexpr int64_t kManySteps = 8;

// Degrees whose values no float64 holds.
constexpr int64_t kLargestHermite = 512;
// And those that nobody waits for.
constexpr int64_t kMostOrders = int64_t{1} << 26;

int64_t degree(double n) {
  return std::fabs(n) < 0x1p62 ? static_cast<int64_t>(n) : n > 0 ? INT64_MAX : -1;
}
double alternating(int64_t n) { return n % 2 == 0 ? 1 : -1; }

// next = step(value, before, k) for k = 1, ..., n - 1.
template <typename Step>
double recur(int64_t n, double first, const Step& step) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (n > kMostOrders) return kNan;
  double before = 1;
  double value = first;
  for (int64_t k = 1; k < n && !std::isnan(value); ++k) {
    const double next = step(value, before, static_cast<double>(k));
    before = value;
    value = next;
  }
  return value;
}

// The four kinds share one recurrence.
double chebyshev(int64_t n, double first, double x) {
  return recur(n, first,
               [x](double value, double before, double) { return 2 * x * value - before; });
}

bool is_inside(double x, int64_t n) { return n > kManySteps && std::fabs(x) < 1; }

double times(int64_t n) { return static_cast<double>(n); }

}  // namespace

double chebyshev_t(double x, double n_given) {
  const int64_t n = degree(n_given);
  if (n >= 0 && std::fabs(x) == 1) return x > 0 ? 1 : alternating(n);
  return is_inside(x, n) ? std::cos(times(n) * std::acos(x)) : chebyshev(n, x, x);
}

double chebyshev_u(double x, double n_given) {
  const int64_t n = degree(n_given);
  if (n >= 0 && std::fabs(x) == 1) return (times(n) + 1) * (x > 0 ? 1 : alternating(n));
  if (!is_inside(x, n)) return chebyshev(n, 2 * x, x);
  const double angle = std::acos(x);
  return std::sin((times(n) + 1) * angle) / std::sin(angle);
}

double chebyshev_v(double x, double n_given) {
  const int64_t n = degree(n_given);
  if (n >= 0 && std::fabs(x) == 1) return x > 0 ? 1 : alternating(n) * (2 * times(n) + 1);
  if (!is_inside(x, n)) return chebyshev(n, 2 * x - 1, x);
  const double angle = std::acos(x);
  return std::cos((times(n) + 0.5) * angle) / std::cos(angle / 2);
}

double chebyshev_w(double x, double n_given) {
  const int64_t n = degree(n_given);
  if (n >= 0 && std::fabs(x) == 1) return x > 0 ? (2 * times(n) + 1) : alternating(n);
  if (!is_inside(x, n)) return chebyshev(n, 2 * x + 1, x);
  const double angle = std::acos(x);
  return std::sin((times(n) + 0.5) * angle) / std::sin(angle / 2);
}

double shifted_chebyshev_t(double x, double n) { return chebyshev_t(2 * x - 1, n); }
double shifted_chebyshev_u(double x, double n) { return chebyshev_u(2 * x - 1, n); }
double shifted_chebyshev_v(double x, double n) { return chebyshev_v(2 * x - 1, n); }
double shifted_chebyshev_w(double x, double n) { return chebyshev_w(2 * x - 1, n); }

double hermite_h(double x, double n) {
  if (degree(n) > kLargestHermite) return kNan;
  return recur(degree(n), 2 * x,
               [x](double value, double before, double k) { return 2 * (x * value - k * before); });
}
double hermite_he(double x, double n) {
  if (degree(n) > kLargestHermite) return kNan;
  return recur(degree(n), x,
               [x](double value, double before, double k) { return x * value - k * before; });
}

double laguerre_l(double x, double n) {
  if (x == 0) return degree(n) < 0 ? 0 : 1;
  return recur(degree(n), 1 - x, [x](double value, double before, double k) {
    return ((2 * k + 1 - x) * value - k * before) / (k + 1);
  });
}

double legendre_p(double x, double n_given) {
  const int64_t n = degree(n_given);
  if (n >= 0 && std::fabs(x) == 1) return x > 0 ? 1 : alternating(n);
  return recur(n, x, [x](double value, double before, double k) {
    return ((2 * k + 1) * x * value - k * before) / (k + 1);
  });
}

}  // namespace mindtorch::ops::special
