#pragma once

#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/dtype.h"
#include "mindtorch/tensor/scalar.h"

namespace mindtorch {

// The value of one element in host memory.
MT_API Scalar read_element(const void* data, DType dtype);
// Converts as the host does: fractions are cut off, numbers out of range wrap around.
MT_API void write_element(void* data, DType dtype, const Scalar& value);

// The nearest number that float16 or bfloat16 has; other dtypes leave it alone.
MT_API Scalar round_to_half(const Scalar& value, DType dtype);

}  // namespace mindtorch
