#pragma once

#include <algorithm>
#include <initializer_list>

#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/ops/call_pattern.h"

// What the contracts of CANN's fused ops have in common.
namespace mindtorch::ascend {

using ops::PatternCall;

// All of one dtype that CANN's fused ops compute in: float16, bfloat16, float32.
inline bool have_one_float_dtype(std::initializer_list<const Tensor*> tensors) {
  const DType dtype = (*tensors.begin())->dtype();
  return (bit(dtype) & kFloats) != 0 && std::ranges::all_of(tensors, [&](const Tensor* tensor) {
           return tensor->dtype() == dtype;
         });
}

inline bool have_sizes(IntList sizes, std::initializer_list<const Tensor*> tensors) {
  return std::ranges::all_of(
      tensors, [&](const Tensor* tensor) { return std::ranges::equal(tensor->sizes(), sizes); });
}

// `half` is the first (index 0) or second half of the last dim of `whole`.
inline bool is_half(const Tensor& half, const Tensor& whole, int64_t index) {
  const int64_t last = whole.dim() - 1;
  if (half.dim() != whole.dim() || half.storage() != whole.storage() ||
      half.dtype() != whole.dtype() || half.size(last) * 2 != whole.size(last)) {
    return false;
  }
  for (int64_t d = 0; d <= last; ++d) {
    if (d != last && half.size(d) != whole.size(d)) return false;
    if (half.size(d) != 1 && half.stride(d) != whole.stride(d)) return false;
  }
  return half.storage_offset() ==
         whole.storage_offset() + index * half.size(last) * whole.stride(last);
}

// The same memory in other sizes; `self` is contiguous.
inline Tensor reshaped(const Tensor& self, Shape sizes) {
  Shape strides = contiguous_strides(sizes);
  return self.alias(std::move(sizes), std::move(strides), self.storage_offset());
}

inline Tensor swapped(const Tensor& self, size_t a, size_t b) {
  Shape sizes = self.sizes();
  Shape strides = self.strides();
  std::swap(sizes[a], sizes[b]);
  std::swap(strides[a], strides[b]);
  return self.alias(std::move(sizes), std::move(strides), self.storage_offset());
}

}  // namespace mindtorch::ascend
