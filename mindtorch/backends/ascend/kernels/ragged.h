#pragma once

#include "mindtorch/ops/kernel.h"

namespace mindtorch::ascend {

// Lists of consecutive numbers of different lengths, one after another: list i is first[i],
// first[i] + 1, ..., lengths[i] of them.
struct Ragged {
  Tensor list;    // which list an element is of
  Tensor number;  // its value
};
// All are int64; `count` is the sum of the lengths.
Ragged ragged(ops::Launch& on, const Tensor& lengths, const Tensor& first, int64_t count);

}  // namespace mindtorch::ascend
