#pragma once

#include <algorithm>
#include <span>

#include "mindtorch/tensor/tensor.h"

// How results of Fourier transforms lie in memory, as torch's do: the dims that are transformed
// innermost, in the order of `dims`, the others in the order of the input's strides.
namespace mindtorch::ops {

inline void sort_by_stride(std::span<int64_t> dims, IntList strides) {
  std::stable_sort(dims.begin(), dims.end(), [&](int64_t a, int64_t b) {
    return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)];
  });
}

// The dims in the order in which they lie in the result; of real transforms the last stays last.
inline Shape sorted_fft_dims(const Tensor& self, IntList dim, bool keeps_last) {
  Shape dims;
  for (const int64_t d : dim) dims.push_back(wrap_dim(d, self.dim()));
  const size_t count = dims.size() - (keeps_last && !dims.empty() ? 1 : 0);
  sort_by_stride(std::span<int64_t>(dims.data(), count), self.strides());
  return dims;
}

inline Shape fft_strides(IntList sizes, IntList input_strides, IntList sorted_dims) {
  Shape order;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    if (std::find(sorted_dims.begin(), sorted_dims.end(), dim) == sorted_dims.end()) {
      order.push_back(dim);
    }
  }
  sort_by_stride(std::span<int64_t>(order.data(), order.size()), input_strides);
  for (const int64_t d : sorted_dims) order.push_back(d);
  Shape strides = sizes.empty() ? Shape() : contiguous_strides(sizes);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

}  // namespace mindtorch::ops
