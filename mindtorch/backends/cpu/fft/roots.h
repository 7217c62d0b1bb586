#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

namespace mindtorch::cpu::fft {

// exp(-2 pi i k / n), the angle brought into the first eighth of the circle to be exact.
inline std::pair<double, double> root_of_one(int64_t k, int64_t n) {
  k %= n;
  int64_t eighths = 8 * k;
  const bool lower = eighths > 4 * n;  // beyond half of the circle
  if (lower) eighths = 8 * n - eighths;
  const bool left = eighths > 2 * n;
  if (left) eighths = 4 * n - eighths;
  const bool steep = eighths > n;
  if (steep) eighths = 2 * n - eighths;
  const double angle =
      std::numbers::pi / 4 * (static_cast<double>(eighths) / static_cast<double>(n));
  double c = std::cos(angle);
  double s = std::sin(angle);
  if (steep) std::swap(c, s);
  return {left ? -c : c, lower ? s : -s};
}

}  // namespace mindtorch::cpu::fft
