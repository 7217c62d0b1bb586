#pragma once

#include <bit>
#include <cstdint>

namespace mindtorch {

// The two 16-bit float types are storage only: arithmetic happens in float and rounds once, to
// nearest even, on the way back. SIMD kernels use the machine's own conversions instead of these.
struct Half {
  uint16_t bits = 0;

  Half() = default;
  explicit Half(float value) : bits(round(value)) {}
  static constexpr Half from_bits(uint16_t bits) {
    Half half;
    half.bits = bits;
    return half;
  }
  operator float() const {  // NOLINT: widening is exact
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t exponent = (bits >> 10) & 0x1fu;
    const uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent != 0)
      return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
    // Subnormal: the mantissa counts units of 2^-24.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }

 private:
  static uint16_t round(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (word >> 16) & 0x8000u;
    const uint32_t magnitude = word & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);   // NaN
    if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // overflow
    if (magnitude < 0x38800000u) {
      // Adding 0.5 lines the subnormal's units up with float's last bit, so the FPU rounds for us.
      const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
    }
    const uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
  }
};

struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) : bits(round(value)) {}
  static constexpr BFloat16 from_bits(uint16_t bits) {
    BFloat16 result;
    result.bits = bits;
    return result;
  }
  operator float() const {  // NOLINT: widening is exact
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }

 private:
  static uint16_t round(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;  // NaN
    return static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
};

static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2);

}  // namespace mindtorch
