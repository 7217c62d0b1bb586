#pragma once

#include "mindtorch/backends/cpu/tile.h"

namespace mindtorch::cpu {

// The tile of a function that has none of its own, made of the tiles of the functions in its
// expression; null where one of those is missing. float32 and float64.
TileFn find_expression_tile(ops::Pointwise function, DType compute);

}  // namespace mindtorch::cpu
