#pragma once

#include "simulator/ascend/nnopbase/view.h"

namespace sim {

// Note [Nibbles]: INT4 elements lie two to a byte, the first in the low half; strides and offsets
// count elements. Bodies of ops never see them: a Launch has a copy in INT8. `first` is 1 where
// `view` starts in the high half of its first byte.
SIM_API void unpack_nibbles(const View& view, int64_t first, int8_t* numbers);
SIM_API void pack_nibbles(const View& view, int64_t first, const int8_t* numbers);

}  // namespace sim
