#pragma once

#include <cstdint>

#include "mindtorch/base/macros.h"

namespace mindtorch::cpu {

// Copies every element of a strided array to the element of the same index in another one. Strides
// are in bytes and may have any order; those of `from` may be 0 (expanded) and may be negative. The
// elements of `to` must be distinct and must not overlap `from`. `element_size` is in bytes, any
// number; 1, 2, 4, 8 and 16 are fast. No pointer needs more than byte alignment.
//
// Dimensions are merged and reordered to walk `to` in memory order; where the fastest dimensions of
// the two differ, square tiles are transposed in registers. Large copies use parallel_for.
MT_API void copy_strided(int64_t element_size,
                         const int64_t* shape,
                         int ndim,
                         const void* from,
                         const int64_t* from_strides_bytes,
                         void* to,
                         const int64_t* to_strides_bytes);

}  // namespace mindtorch::cpu
