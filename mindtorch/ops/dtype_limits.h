#pragma once

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

const DTypeLimits& limits(DType dtype);

// Whether `dtype` can hold a number. Fractions are cut off, not refused; a small negative number
// wraps around in uint8; any number is a bool.
MT_API bool is_in_range(const Scalar& value, DType dtype);
// Throws torch's RuntimeError where it cannot.
void check_in_range(const Scalar& value, DType dtype);

}  // namespace mindtorch::ops
