#pragma once

#include <cstdint>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch::cpu {

// out[j] = the sum of element j of the rows of `table` that `places` names, `stride` elements
// apart, for j < n; the mean if asked for. Sums are held in accumulate_dtype(), and rounded once;
// without rows they are 0. Chosen for this machine's instruction set.
using GatheredSumFn = void (*)(const void* table,
                               int64_t stride,
                               const int64_t* places,
                               int64_t count,
                               int64_t n,
                               bool is_mean,
                               void* out);

// float16, bfloat16, float32 and float64.
GatheredSumFn find_gathered_sum(DType dtype);

}  // namespace mindtorch::cpu
