#pragma once

#include <cstdint>
#include <type_traits>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch {

// A Python number: bool, int or float, remembered as what it was.
class Scalar {
 public:
  enum class Kind : uint8_t { kBool, kInt, kFloat };

  constexpr Scalar() : kind_(Kind::kInt), int_(0) {}
  template <typename T>
    requires std::is_arithmetic_v<T>
  constexpr Scalar(T value) {  // NOLINT: numbers are scalars
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = Kind::kBool;
      int_ = value;
    } else if constexpr (std::is_integral_v<T>) {
      kind_ = Kind::kInt;
      int_ = static_cast<int64_t>(value);
    } else {
      kind_ = Kind::kFloat;
      float_ = static_cast<double>(value);
    }
  }

  constexpr Kind kind() const { return kind_; }
  constexpr bool is_floating_point() const { return kind_ == Kind::kFloat; }
  constexpr bool is_bool() const { return kind_ == Kind::kBool; }
  constexpr bool is_integral(bool include_bool = true) const {
    return kind_ == Kind::kInt || (include_bool && kind_ == Kind::kBool);
  }
  constexpr double to_double() const {
    return is_floating_point() ? float_ : static_cast<double>(int_);
  }
  // Truncates; a float out of range gives INT64_MIN, as the hardware does.
  constexpr int64_t to_int() const {
    if (!is_floating_point()) return int_;
    return float_ >= -0x1p63 && float_ < 0x1p63 ? static_cast<int64_t>(float_) : INT64_MIN;
  }
  constexpr bool to_bool() const { return is_floating_point() ? float_ != 0 : int_ != 0; }
  // The dtype of a 0-dim tensor made of it.
  constexpr DType dtype() const {
    return kind_ == Kind::kBool  ? DType::kBool
           : kind_ == Kind::kInt ? DType::kInt64
                                 : DType::kFloat64;
  }
  template <typename T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>) {
      return to_bool();
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(to_int());
    } else {
      return static_cast<T>(
          static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(to_double()));
    }
  }
  friend constexpr bool operator==(const Scalar& a, const Scalar& b) {
    return a.kind_ == b.kind_ && (a.is_floating_point() ? a.float_ == b.float_ : a.int_ == b.int_);
  }

 private:
  Kind kind_;
  union {
    int64_t int_;
    double float_;
  };
};

}  // namespace mindtorch
