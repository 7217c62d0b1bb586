#include "mindtorch/backends/cpu/shaped_samples.h"

#include <math.h>  // lgamma_r

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "mindtorch/backends/cpu/random_numbers.h"
#include "mindtorch/base/error.h"
#include "mindtorch/ops/dtype_limits.h"

namespace mindtorch::cpu {
namespace {

using Source = CpuGenerator::Source;

// What torch's kernels compute a dtype in, beside the float64 of the numbers drawn.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename Visit>
void visit_float(DType dtype, const Visit& visit) {
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (is_floating_point(DTypeOf<T>::value)) visit.template operator()<T>();
  });
}

double smallest_normal(DType dtype) {
  return dtype == DType::kFloat64 ? 0x1p-1022 : dtype == DType::kFloat16 ? 0x1p-14 : 0x1p-126;
}

// Marsaglia and Tsang (2000): a cube of a normal number, accepted by a uniform one. Shapes below 1
// are taken from one higher. Constants are float32 where torch's are.
template <typename T>
double draw_gamma(Source& source, T shape) {
  double scale = 1;
  if (shape < 1) {
    if (shape == 0) return 0;
    scale = std::pow(1 - next_unit(source), static_cast<double>(1.0f / shape));
    shape += 1;
  }
  const double d = shape - 1.0f / 3.0f;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x = 0;
    double y = 0;
    do {
      x = next_normal(source, 0, 1);
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y;
    const double u = 1 - next_unit(source);
    const double square = x * x;
    if (u < 1 - 0.0331f * square * square) return scale * d * v;
    if (std::log(u) < 0.5 * square + d * (1 - v + std::log(v))) return scale * d * v;
  }
}

// log(k!) less Stirling's approximation of it.
double stirling_rest(double k) {
  constexpr double kSmall[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                               0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                               0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                               0.00833056343336287};
  if (k < 10) return kSmall[static_cast<size_t>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Few successes: the trials between them are geometric numbers.
template <typename T>
T draw_binomial_by_gaps(Source& source, T count, T chance) {
  const double log_failure = std::log1p(-chance);
  double trials = 0;
  T successes = 0;
  for (;;) {
    trials += std::ceil(std::log(next_unit(source)) / log_failure);
    if (trials > count) return successes;
    successes += 1;
  }
}

// Many: Hörmann's transformed rejection with squeeze (BTRS, 1993).
template <typename T>
T draw_binomial_by_rejection(Source& source, T count, T chance) {
  const double deviation = std::sqrt(count * chance * (1 - chance));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * chance;
  const double c = count * chance + 0.5;
  const double box = 0.92 - 4.2 / b;
  const double odds = chance / (1 - chance);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((count + 1) * chance);
  for (;;) {
    const double u = next_unit(source) - 0.5;
    const double v = next_unit(source);
    const double distance = 0.5 - std::fabs(u);
    const T k = static_cast<T>(std::floor((2 * a / distance + b) * u + c));
    if (k < 0 || k > count) continue;
    if (distance >= 0.07 && v <= box) return k;
    const double height = std::log(v * alpha / (a / (distance * distance) + b));
    const double most = (mode + 0.5) * std::log((mode + 1) / (odds * (count - mode + 1))) +
                        (count + 1) * std::log((count - mode + 1) / (count - k + 1)) +
                        (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) +
                        stirling_rest(mode) + stirling_rest(count - mode) - stirling_rest(k) -
                        stirling_rest(count - k);
    if (height <= most) return k;
  }
}

template <typename T>
T draw_binomial(Source& source, T count, T chance) {
  if (count <= 0 || chance <= 0) return 0;
  if (chance >= 1) return count;
  if (std::isnan(chance)) return chance;
  if (chance > T{0.5}) {
    const T failures = draw_binomial(source, count, static_cast<T>(1.0 - chance));
    return count - failures;
  }
  return count * chance >= 10 ? draw_binomial_by_rejection(source, count, chance)
                              : draw_binomial_by_gaps(source, count, chance);
}

// Large rates by Hörmann's transformed rejection (PTRS, 1993), small ones by a product of uniform
// numbers.
double draw_poisson(Source& source, double rate) {
  MT_CHECK(rate >= 0, RuntimeError, "invalid Poisson rate, expected rate to be non-negative");
  if (rate == 0) return 0;
  if (rate < 10) {
    const double least = std::exp(-rate);
    double product = next_unit(source);
    double events = 0;
    for (; product > least; product *= next_unit(source)) events += 1;
    return events;
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double box = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = next_unit(source) - 0.5;
    const double v = next_unit(source);
    const double distance = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / distance + b) * u + rate + 0.43);
    if (distance >= 0.07 && v <= box) return k;
    if (k < 0 || (distance < 0.013 && v > distance)) continue;
    int sign = 0;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (distance * distance) + b) <=
        -rate + k * std::log(rate) - ::lgamma_r(k + 1, &sign)) {
      return k;
    }
  }
}

}  // namespace

void sample_gamma(Generator& generator, DType dtype, const void* shape, void* out, int64_t n) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  const double least = smallest_normal(dtype);
  visit_float(dtype, [&]<typename T>() {
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<Wide<T>>(static_cast<const T*>(shape)[i]);
      const auto sample = static_cast<Wide<T>>(draw_gamma(*source, at));
      static_cast<T*>(out)[i] = static_cast<T>(std::max(static_cast<Wide<T>>(least), sample));
    }
  });
}

void sample_dirichlet(Generator& generator,
                      DType dtype,
                      const void* concentration,
                      void* out,
                      int64_t n,
                      int64_t categories) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  const double least = smallest_normal(dtype);
  const double most = 1 - std::ldexp(1.0, -ops::limits(dtype).digits);
  visit_float(dtype, [&]<typename T>() {
    std::vector<double> row(static_cast<size_t>(categories));
    for (int64_t begin = 0; begin < n; begin += categories) {
      double sum = 0;
      for (int64_t i = 0; i < categories; ++i) {
        const auto shape = static_cast<double>(static_cast<const T*>(concentration)[begin + i]);
        sum += row[static_cast<size_t>(i)] = draw_gamma(*source, shape);
      }
      for (int64_t i = 0; i < categories; ++i) {
        const double share = std::clamp(row[static_cast<size_t>(i)] / sum, least, most);
        static_cast<T*>(out)[begin + i] = static_cast<T>(static_cast<Wide<T>>(share));
      }
    }
  });
}

void sample_poisson(Generator& generator, DType dtype, const void* rate, void* out, int64_t n) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_float(dtype, [&]<typename T>() {
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<double>(static_cast<const T*>(rate)[i]);
      static_cast<T*>(out)[i] = static_cast<T>(static_cast<Wide<T>>(draw_poisson(*source, at)));
    }
  });
}

void sample_binomial(Generator& generator,
                     DType dtype,
                     const void* count,
                     const void* chance,
                     void* out,
                     int64_t n) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_float(dtype, [&]<typename T>() {
    for (int64_t i = 0; i < n; ++i) {
      static_cast<T*>(out)[i] = static_cast<T>(
          draw_binomial(*source, static_cast<Wide<T>>(static_cast<const T*>(count)[i]),
                        static_cast<Wide<T>>(static_cast<const T*>(chance)[i])));
    }
  });
}

}  // namespace mindtorch::cpu
