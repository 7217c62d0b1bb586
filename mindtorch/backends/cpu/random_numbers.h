#pragma once

#include <cmath>
#include <numbers>

#include "mindtorch/tensor/generator.h"

namespace mindtorch::cpu {

// Of 64 drawn bits, a double takes these.
inline constexpr uint64_t kDoubleDigits = (uint64_t{1} << 53) - 1;

// One number of [0, 1).
inline double next_unit(CpuGenerator::Source& source) {
  return static_cast<double>(source.engine.next64() & kDoubleDigits) * 0x1p-53;
}

// One normal number in double precision; every second one was kept from the call before.
inline double next_normal(CpuGenerator::Source& source, double mean, double std) {
  if (source.next_double_normal) {
    const double kept = *source.next_double_normal;
    source.next_double_normal.reset();
    return std::fma(kept, std, mean);
  }
  const double angle = 2 * std::numbers::pi * next_unit(source);
  const double radius = std::sqrt(-2 * std::log1p(-next_unit(source)));
  source.next_double_normal = radius * std::sin(angle);
  return std::fma(radius * std::cos(angle), std, mean);
}

}  // namespace mindtorch::cpu
