#pragma once

#include "mindtorch/ops/kernel.h"

namespace mindtorch::cpu {

// The CPU's engine for every pointwise op. Contiguous operands of the compute dtype go to the SIMD
// tile as they are; all others pass through cache-sized buffers, tile by tile, where they are
// gathered, broadcast and converted, so that no full-size temporary is ever made.
void run_pointwise(ops::Launch& launch, const ops::PointwiseCall& call, const Tensor& out);

// to = from, converted and broadcast; any dtypes and layouts that do not overlap.
void copy(const Tensor& from, const Tensor& to);

}  // namespace mindtorch::cpu
