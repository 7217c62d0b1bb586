#pragma once

#include "mindtorch/tensor/tensor.h"

namespace mindtorch::functional {

// grid_sampler_2d or grid_sampler_3d written in terms of other ops: for gradients of gradients.
Tensor composed_grid_sampler(const Tensor& input,
                             const Tensor& grid,
                             int64_t interpolation_mode,
                             int64_t padding_mode,
                             bool align_corners);

}  // namespace mindtorch::functional
