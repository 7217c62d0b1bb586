#pragma once

#include "mindtorch/backends/cpu/tiles/row.h"
#include "mindtorch/tensor/tensor.h"

namespace mindtorch::cpu {

// Reduces the dims in `mask`. `out` holds one element per kept index, in row-major order, of the
// dtype that the row function gives: the accumulate dtype, the input's own, int64 or bool. `out`
// points at enough memory; the caller converts it. Three ways through memory:
//  - the reduced dims are innermost and contiguous: one row function per output;
//  - the kept dims are innermost and contiguous: whole rows are added into a row of accumulators;
//  - anything else is first copied into the first form.
void reduce_rows(Row function, const Tensor& self, uint64_t mask, void* out);

// Largest or smallest elements and where they are: `function` is kArgmax or kArgmin.
void reduce_arg(Row function, const Tensor& self, uint64_t mask, void* values, int64_t* indices);

}  // namespace mindtorch::cpu
