#pragma once

#include "mindtorch/tensor/scalar.h"

namespace mindtorch::ops {

// Throws torch's RuntimeError where a number is beyond the range of `dtype`. Fractions are cut off,
// not refused; a small negative number wraps around in uint8; any number is a bool.
void check_in_range(const Scalar& value, DType dtype);

// The smallest and the largest finite number of `dtype`.
double lowest_value(DType dtype);
double largest_value(DType dtype);

// The C++ spelling torch's texts use: "int64_t", "c10::Half".
std::string_view cpp_name(DType dtype);

}  // namespace mindtorch::ops
