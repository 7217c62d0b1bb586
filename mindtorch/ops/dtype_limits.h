#pragma once

#include <limits>
#include <string_view>

#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/scalar.h"

namespace mindtorch::ops {

struct DTypeLimits {
  double lowest;   // finite
  double largest;  // finite
  int digits;      // value bits of a float; integers up to 2^digits are exact. 0 for integers.
  // Two spellings of the C++ type in torch's texts: "int64_t" and "long int".
  std::string_view cpp_name;
  std::string_view type_name;
};

MT_API const DTypeLimits& limits(DType dtype);

// Whether `dtype` can hold a number. Fractions are cut off, not refused; a small negative number
// wraps around in uint8; any number is a bool.
MT_API bool is_in_range(const Scalar& value, DType dtype);
// Throws torch's RuntimeError where it cannot.
MT_API void check_in_range(const Scalar& value, DType dtype);

// NaN, or what x86 makes of it as an integer, which is what torch gives.
inline Scalar median_of_nothing(DType dtype) {
  if (is_floating_point(dtype)) return std::numeric_limits<double>::quiet_NaN();
  if (dtype == DType::kInt64) return std::numeric_limits<int64_t>::min();
  if (dtype == DType::kInt32) return static_cast<int64_t>(std::numeric_limits<int32_t>::min());
  return dtype == DType::kBool ? Scalar(true) : Scalar(int64_t{0});  // what NaN becomes
}

}  // namespace mindtorch::ops
