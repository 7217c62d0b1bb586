#pragma once

#include "mindtorch/tensor/tensor.h"

namespace mindtorch {

// The parts of complex numbers, as a last dim of two. Shares their memory; unknown to autograd.
inline Tensor parts_of(const Tensor& complex) {
  Shape sizes = complex.sizes();
  Shape strides = complex.strides();
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return Tensor::over(Storage(complex.storage()), real_dtype(complex.dtype()), sizes, strides,
                      complex.storage_offset() * 2);
}

}  // namespace mindtorch
