#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <type_traits>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch {

// A Python number: bool, int, float or complex, remembered as what it was.
class Scalar {
 public:
  enum class Kind : uint8_t {
    kBool,
    kInt,
    kUnsigned,  // an integer beyond int64, of uint64
    kFloat,
    kComplex,
  };

  constexpr Scalar() : kind_(Kind::kInt), int_(0), imag_(0) {}
  template <typename T>
    requires std::is_arithmetic_v<T>
  constexpr Scalar(T value) : imag_(0) {  // NOLINT: numbers are scalars
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = Kind::kBool;
      int_ = value;
    } else if constexpr (std::is_integral_v<T>) {
      kind_ = Kind::kInt;
      int_ = static_cast<int64_t>(value);
      if (std::is_unsigned_v<T> && int_ < 0) kind_ = Kind::kUnsigned;
    } else {
      kind_ = Kind::kFloat;
      float_ = static_cast<double>(value);
    }
  }
  template <typename T>
  constexpr Scalar(const std::complex<T>& value)  // NOLINT
      : kind_(Kind::kComplex), float_(value.real()), imag_(value.imag()) {}

  constexpr Kind kind() const { return kind_; }
  constexpr bool is_floating_point() const { return kind_ == Kind::kFloat; }
  constexpr bool is_complex() const { return kind_ == Kind::kComplex; }
  constexpr bool is_bool() const { return kind_ == Kind::kBool; }
  constexpr bool is_integral(bool include_bool = true) const {
    return kind_ == Kind::kInt || kind_ == Kind::kUnsigned ||
           (include_bool && kind_ == Kind::kBool);
  }
  // Of a complex number: its real part.
  constexpr double to_double() const {
    if (kind_ >= Kind::kFloat) return float_;
    return kind_ == Kind::kUnsigned ? static_cast<double>(static_cast<uint64_t>(int_))
                                    : static_cast<double>(int_);
  }
  constexpr std::complex<double> to_complex() const { return {to_double(), imag_}; }
  constexpr double imag() const { return imag_; }
  std::span<const double> imag_part() const { return {&imag_, 1}; }
  // Truncates; a float out of range gives INT64_MIN, as the hardware does.
  constexpr int64_t to_int() const {
    if (kind_ < Kind::kFloat) return int_;
    return float_ >= -0x1p63 && float_ < 0x1p63 ? static_cast<int64_t>(float_) : INT64_MIN;
  }
  constexpr bool to_bool() const {
    return kind_ >= Kind::kFloat ? float_ != 0 || imag_ != 0 : int_ != 0;
  }
  // The dtype of a 0-dim tensor made of it.
  constexpr DType dtype() const {
    constexpr DType kDTypes[] = {DType::kBool, DType::kInt64, DType::kUInt64, DType::kFloat64,
                                 DType::kComplex128};
    return kDTypes[static_cast<int>(kind_)];
  }
  template <typename T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>) {
      return to_bool();
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      return kind_ == Kind::kFloat && float_ >= 0x1p63 && float_ < 0x1p64
                 ? static_cast<uint64_t>(float_)
                 : static_cast<uint64_t>(to_int());
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(to_int());
    } else if constexpr (mindtorch::is_complex(DTypeOf<T>::value)) {
      using Part = typename CppType<real_dtype(DTypeOf<T>::value)>::type;
      return T{Scalar(to_double()).to<Part>(), Scalar(imag_).to<Part>()};
    } else {
      return static_cast<T>(
          static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(to_double()));
    }
  }
  friend constexpr bool operator==(const Scalar& a, const Scalar& b) {
    return a.kind_ == b.kind_ && a.imag_ == b.imag_ &&
           (a.kind_ >= Kind::kFloat ? a.float_ == b.float_ : a.int_ == b.int_);
  }

 private:
  Kind kind_;
  union {
    int64_t int_;
    double float_;
  };
  double imag_;  // 0 but for complex numbers
};

}  // namespace mindtorch
