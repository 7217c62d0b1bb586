#pragma once

#include <cstdint>
#include <optional>

#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/dtype.h"

namespace mindtorch::ops {

// Which integers random_ and randint draw: [from, from + range), or all 64 bits where range is 0.
struct RandomRange {
  int64_t from;
  uint64_t range;
};

// Torch's rules for random_(from, to); without `to`, up to the largest whole number of the dtype.
// In a float dtype the bounds are moved to numbers it can hold. Throws torch's RuntimeError for an
// empty range and for bounds that the dtype does not reach.
MT_API RandomRange random_range(DType dtype, int64_t from, std::optional<int64_t> to);

// Warns where a float dtype skips some of the integers.
void warn_if_imprecise(DType dtype, const RandomRange& range);

}  // namespace mindtorch::ops
