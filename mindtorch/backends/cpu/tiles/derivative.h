#pragma once

#include "mindtorch/backends/cpu/tile.h"

namespace mindtorch::cpu {

// A tile for a derivative that costs much less in one go than step by step; null elsewhere, where
// its expression is all there is.
TileFn find_derivative_tile(ops::Pointwise function, DType compute);

// The same of any registered function, also where the tile gives the very numbers of its steps.
TileFn find_whole_tile(ops::Pointwise function, DType compute);

}  // namespace mindtorch::cpu
