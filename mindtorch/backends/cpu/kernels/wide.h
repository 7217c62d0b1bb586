#pragma once

#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/tiles/row.h"
#include "mindtorch/tensor/tensor.h"

// Kernels that know contiguous float, double and int64 only. Other floats are computed in float32
// and rounded once at the end, other integers in int64, which wraps to their own numbers.
namespace mindtorch::cpu {

// Calls compute(T{}) with the type of accumulate_dtype(dtype).
template <typename Compute>
void in_wide_dtype(DType dtype, const Compute& compute) {
  switch (accumulate_dtype(dtype)) {
    case DType::kFloat64:
      return compute(double{});
    case DType::kFloat32:
      return compute(float{});
    default:
      return compute(int64_t{});
  }
}

inline Tensor as_wide(const Tensor& self) {
  const DType wide = accumulate_dtype(self.dtype());
  if (self.dtype() == wide && self.is_contiguous()) return self;
  const Tensor result = Tensor::make(self.sizes(), wide);
  copy(self, result);
  return result;
}

// `fill` writes a contiguous tensor of the wide dtype: `out` itself where it is one.
template <typename Fill>
void fill_wide(const Tensor& out, const Fill& fill) {
  const DType wide = accumulate_dtype(out.dtype());
  if (out.dtype() == wide && out.is_contiguous()) return fill(out);
  const Tensor result = Tensor::make(out.sizes(), wide);
  fill(result);
  copy(result, out);
}

}  // namespace mindtorch::cpu
