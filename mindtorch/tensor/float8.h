#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace mindtorch {

// What the largest codes of an 8-bit float mean, and what becomes of numbers beyond the range.
enum class Float8Range : uint8_t {
  kSaturates,  // fn: 0x7f is NaN, there are no infinities; numbers beyond become the largest
  kInfinite,   // as IEEE 754: infinities and NaNs
  kUnsigned0,  // fnuz: 0x80 is the only NaN, there is no -0; numbers beyond become NaN
};

// 8-bit floats are storage only, like the 16-bit ones: they convert to and from float, rounding to
// nearest even.
template <int kMantissaBits, int kBias, Float8Range kRange>
struct Float8 {
  uint8_t bits = 0;

  Float8() = default;
  explicit Float8(float value) : bits(round(value)) {}
  static constexpr Float8 from_bits(uint8_t bits) {
    Float8 result;
    result.bits = bits;
    return result;
  }
  operator float() const {  // NOLINT: widening is exact
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    const int magnitude = bits & 0x7f;
    if (kRange == Float8Range::kUnsigned0 && bits == 0x80) return kNaN;
    if (kRange == Float8Range::kSaturates && magnitude == 0x7f) return kNaN;
    const float sign = (bits & 0x80) != 0 ? -1.0f : 1.0f;
    if (kRange == Float8Range::kInfinite && magnitude >= kInfinity) {
      return magnitude == kInfinity ? sign * std::numeric_limits<float>::infinity() : kNaN;
    }
    const int exponent = magnitude >> kMantissaBits;
    const int mantissa = magnitude & ((1 << kMantissaBits) - 1);
    if (exponent == 0) {
      return sign * std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissaBits);
    }
    return sign * std::ldexp(static_cast<float>(mantissa | 1 << kMantissaBits),
                             exponent - kBias - kMantissaBits);
  }

 private:
  // The first code above the finite ones.
  static constexpr int kInfinity = 0x7f & ~((1 << kMantissaBits) - 1);
  static constexpr int kLargest = kRange == Float8Range::kSaturates   ? 0x7e
                                  : kRange == Float8Range::kUnsigned0 ? 0x7f
                                                                      : kInfinity - 1;

  static uint8_t round(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<int>(word >> 24 & 0x80u);
    const float magnitude = std::fabs(value);
    if (magnitude != magnitude) {
      return static_cast<uint8_t>(kRange == Float8Range::kUnsigned0 ? 0x80 : sign | 0x7f);
    }
    // Float's exponents reach further down: what is below ours counts units of the smallest number.
    const int exponent = static_cast<int>(word >> 23 & 0xffu) - 127;
    const bool is_normal = exponent >= 1 - kBias;
    const int unit = (is_normal ? exponent : 1 - kBias) - kMantissaBits;
    int code = kLargest + 1;
    if (!std::isinf(value)) {
      const int units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -unit)));
      code = is_normal ? ((exponent + kBias - 1) << kMantissaBits) + units : units;
    }
    if (code > kLargest) {
      if (kRange == Float8Range::kUnsigned0) return 0x80;
      code = kRange == Float8Range::kSaturates ? kLargest : kInfinity;
    }
    if (kRange == Float8Range::kUnsigned0 && code == 0) return 0;
    return static_cast<uint8_t>(sign | code);
  }
};

using Float8E4M3fn = Float8<3, 7, Float8Range::kSaturates>;
using Float8E5M2 = Float8<2, 15, Float8Range::kInfinite>;
using Float8E4M3fnuz = Float8<3, 8, Float8Range::kUnsigned0>;
using Float8E5M2fnuz = Float8<2, 16, Float8Range::kUnsigned0>;

// Powers of two alone, from 2^-127 to 2^127: the scales of blocks. 0xff is NaN; signs are lost.
struct Float8E8M0fnu {
  uint8_t bits = 0;

  Float8E8M0fnu() = default;
  explicit Float8E8M0fnu(float value) : bits(round(value)) {}
  static constexpr Float8E8M0fnu from_bits(uint8_t bits) {
    Float8E8M0fnu result;
    result.bits = bits;
    return result;
  }
  operator float() const {  // NOLINT: widening is exact
    if (bits == 0xff) return std::numeric_limits<float>::quiet_NaN();
    return std::ldexp(1.0f, bits - 127);
  }

 private:
  static uint8_t round(float value) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7fffffffu;
    const uint32_t exponent = magnitude >> 23;
    if (exponent == 0xff) return 0xff;
    // Halfway goes up, but for what lies below all powers.
    const uint32_t mantissa = magnitude & 0x7fffffu;
    const bool is_up = exponent == 0 ? mantissa > 0x400000u : mantissa >= 0x400000u;
    return static_cast<uint8_t>(exponent + (is_up ? 1 : 0));
  }
};

}  // namespace mindtorch
