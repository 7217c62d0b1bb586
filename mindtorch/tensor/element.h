#pragma once

#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/dtype.h"
#include "mindtorch/tensor/scalar.h"

namespace mindtorch {

// The value of one element in host memory.
MT_API Scalar read_element(const void* data, DType dtype);

}  // namespace mindtorch
