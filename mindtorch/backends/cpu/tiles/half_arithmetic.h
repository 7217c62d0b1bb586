#pragma once

#include "mindtorch/backends/cpu/tile.h"

namespace mindtorch::cpu {

// Arithmetic on contiguous float16 or bfloat16 alone: widened, computed and rounded in registers,
// where the plain tiles go through buffers of float32. Null where there is none.
TileFn find_half_tile(ops::Pointwise function, DType dtype);
// Whether it gives what the tile of float32 gives, rounded.
bool is_rounded_float(ops::Pointwise function);
// The same where operand `which` is the address of one float32, as in a * 0.1.
TileFn find_half_number_tile(ops::Pointwise function, DType dtype, int which);

// The tiles of one instruction set, for float16 and bfloat16.
struct HalfTable {
  TileFn tiles[ops::kPointwiseCount][2] = {};
  TileFn numbers[ops::kPointwiseCount][2][2] = {};  // by place of the number
  bool is_exact[ops::kPointwiseCount] = {};  // not the rounded numbers of the tile of float32
};
void add_half_activation(HalfTable& table);
HalfTable build_half_table();

}  // namespace mindtorch::cpu
