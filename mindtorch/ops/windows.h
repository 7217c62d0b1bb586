#pragma once

#include <cstdint>

#include "mindtorch/tensor/shape.h"

namespace mindtorch::ops {

// The windows of an image, two dims.
struct WindowGrid {
  int64_t size[2];
  int64_t kernel[2];
  int64_t dilation[2];
  int64_t padding[2];
  int64_t stride[2];
  int64_t count[2];  // how many windows fit; may be negative

  WindowGrid(
      IntList sizes, IntList kernel_size, IntList dilations, IntList paddings, IntList strides) {
    for (size_t i = 0; i < 2; ++i) {
      size[i] = sizes[i];
      kernel[i] = kernel_size[i];
      dilation[i] = dilations[i];
      padding[i] = paddings[i];
      stride[i] = strides[i];
      const int64_t room = size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
      const int64_t steps = room / stride[i];
      count[i] = (room < 0 && steps * stride[i] != room ? steps - 1 : steps) + 1;
    }
  }

  int64_t area() const { return kernel[0] * kernel[1]; }
  // Wraps, as in torch's texts about what does not fit.
  int64_t windows() const {
    return static_cast<int64_t>(static_cast<uint64_t>(count[0]) * static_cast<uint64_t>(count[1]));
  }
  // Where the element `tap` of window `at` lies along a dim; outside of the image in the padding.
  int64_t place(size_t dim, int64_t tap, int64_t at) const {
    return at * stride[dim] - padding[dim] + tap * dilation[dim];
  }
};

}  // namespace mindtorch::ops
