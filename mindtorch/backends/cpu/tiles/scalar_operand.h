#pragma once

#include "mindtorch/backends/cpu/tile.h"

namespace mindtorch::cpu {

// A tile of two operands of which one, `which`, is the address of a single element, as in a * 2,
// a > 0 and a + column. There is one for arithmetic and comparison of the usual dtypes; null
// elsewhere, where the element must be spread over a buffer instead.
TileFn find_scalar_operand_tile(ops::Pointwise function, DType compute, int which);

// The tiles of one instruction set, by function, dtype and place of the single element.
struct ScalarOperandTable {
  TileFn tiles[ops::kPointwiseCount][kDTypeCount][2] = {};
};
ScalarOperandTable build_scalar_operand_table();

}  // namespace mindtorch::cpu
