#include "mindtorch/ops/memory_format.h"

namespace mindtorch::ops {

MemoryFormat suggested_format(const Tensor& tensor) {
  const size_t rank = tensor.sizes().size();
  if (rank != 4 && rank != 5) return MemoryFormat::kContiguous;
  const Shape& sizes = tensor.sizes();
  const Shape& strides = tensor.strides();
  if (strides[1] == 0) return MemoryFormat::kContiguous;
  // Channels, then width to depth, then the batch: each reaches at least over those before it.
  int64_t least = 0;
  const auto fits = [&](size_t dim) {
    if (sizes[dim] == 0 || strides[dim] < least) return false;
    // With all sizes 1 but the batch's, strides say nothing.
    if (dim == 0 && least == strides[1]) return false;
    least = strides[dim] * std::max<int64_t>(sizes[dim], 1);
    return true;
  };
  bool matches = fits(1);
  for (size_t dim = rank; matches && dim-- > 2;) matches = fits(dim);
  if (!matches || !fits(0)) return MemoryFormat::kContiguous;
  return rank == 4 ? MemoryFormat::kChannelsLast : MemoryFormat::kChannelsLast3d;
}

}  // namespace mindtorch::ops
