#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch::cpu::testing {

inline constexpr DType kAllDTypes[] = {
    DType::kBool,  DType::kUInt8,   DType::kInt8,     DType::kInt16,   DType::kInt32,
    DType::kInt64, DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64,
};

template <typename T>
inline constexpr bool kIsFloatType =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <typename T>
T from_double(double value) {
  if constexpr (kIsFloatType<T> && sizeof(T) == 2)
    return T(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, bool>)
    return value > 0;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<int64_t>(value));
  else
    return static_cast<T>(value);
}

// A vector that gives a bool* too.
template <typename T>
struct Row {
  explicit Row(int64_t n) : bytes(static_cast<size_t>(n) * sizeof(T)), n(n) {}
  T* data() { return reinterpret_cast<T*>(bytes.data()); }
  const T* data() const { return reinterpret_cast<const T*>(bytes.data()); }
  T& operator[](int64_t i) { return data()[i]; }
  const T& operator[](int64_t i) const { return data()[i]; }
  [[nodiscard]] int64_t size() const { return n; }

  std::vector<unsigned char> bytes;
  int64_t n;
};

enum class Sample { kRandom, kWide, kFew, kEqual, kAscending, kDescending, kSpecial };
inline constexpr Sample kAllSamples[] = {Sample::kRandom, Sample::kWide,      Sample::kFew,
                                         Sample::kEqual,  Sample::kAscending, Sample::kDescending,
                                         Sample::kSpecial};

template <typename T>
Row<T> make_row(Sample sample, int64_t n, uint32_t seed = 1) {
  std::mt19937_64 random(seed + static_cast<uint64_t>(n));
  std::normal_distribution<double> normal(0, 50);
  Row<T> row(n);
  for (int64_t i = 0; i < n; ++i) {
    switch (sample) {
      case Sample::kRandom:
        row[i] = from_double<T>(normal(random));
        break;
      case Sample::kWide:  // any bits
        if constexpr (std::is_same_v<T, bool>) {
          row[i] = (random() & 1) != 0;
        } else {
          const uint64_t word = random();
          std::memcpy(static_cast<void*>(row.data() + i), &word, sizeof(T));
        }
        break;
      case Sample::kFew:
        row[i] = from_double<T>(static_cast<double>(random() % 4));
        break;
      case Sample::kEqual:
        row[i] = from_double<T>(3);
        break;
      case Sample::kAscending:
        row[i] = from_double<T>(static_cast<double>(i * 127 / n));
        break;
      case Sample::kDescending:
        row[i] = from_double<T>(static_cast<double>((n - i) * 127 / n));
        break;
      case Sample::kSpecial:
        if constexpr (kIsFloatType<T>) {
          constexpr double kInf = std::numeric_limits<double>::infinity();
          constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
          const double specials[] = {kNan, -kNan, kInf, -kInf, 0.0, -0.0, 1.0, -1.0};
          row[i] = from_double<T>(specials[random() % 8]);
        } else {
          const T specials[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0},
                                T{1}};
          row[i] = specials[random() % 4];
        }
        break;
    }
  }
  return row;
}

template <typename T>
bool is_nan(T value) {
  if constexpr (kIsFloatType<T>) {
    const auto wide = static_cast<double>(value);
    return wide != wide;
  } else {
    return false;
  }
}

// torch's order, written plainly.
template <typename T>
bool comes_before(T a, T b) {
  if (is_nan(a) || is_nan(b)) return !is_nan(a) && is_nan(b);
  if constexpr (kIsFloatType<T>)
    return static_cast<double>(a) < static_cast<double>(b);
  else
    return a < b;
}

template <typename T>
bool same_value(T a, T b) {
  return !is_nan(a) && !is_nan(b) && !comes_before(a, b) && !comes_before(b, a);
}

template <typename T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

inline std::string describe(DType dtype, Sample sample, int64_t n) {
  return std::string(name(dtype)) + ", sample " + std::to_string(static_cast<int>(sample)) +
         ", n " + std::to_string(n);
}

}  // namespace mindtorch::cpu::testing
