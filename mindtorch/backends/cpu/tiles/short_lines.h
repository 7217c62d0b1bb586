#pragma once

#include "mindtorch/backends/cpu/tile.h"

namespace mindtorch::cpu {

// Several lines of `n` elements in one call, for lines so short that a call each would cost more
// than their arithmetic: (65536, 16) + (16,). Two inputs; strides are from line to line, in bytes.
struct LineRun {
  const char* inputs[2];
  int64_t input_strides[2];
  char* out;
  int64_t out_stride;
  int64_t lines;
  int64_t n;
};
using LinesFn = void (*)(const LineRun& run);

// `single` is the input that has one element per line, -1 for none. Null where there is no such
// function: there is one for the arithmetic of the usual dtypes.
LinesFn find_lines(ops::Pointwise function, DType compute, int single);

// The functions of one instruction set.
struct LinesTable {
  LinesFn lines[ops::kPointwiseCount][kDTypeCount][3] = {};  // by single + 1
};
LinesTable build_lines_table();

}  // namespace mindtorch::cpu
