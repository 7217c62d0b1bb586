#pragma once

#include <cstdint>

namespace mindtorch::cpu {

// A plane to transpose: element (r, c) of `size` bytes lies at from[r * from_stride + c * size] and
// goes to to[c * to_stride + r * size]. Strides in bytes.
struct Plane {
  const uint8_t* from;
  int64_t from_stride;
  uint8_t* to;
  int64_t to_stride;
};

// Transposes a plane of elements of 1, 2, 4, 8 or 16 bytes, in squares that fit into registers.
// Squares at the far edges reach back over elements already copied.
void transpose_plane(int64_t size, const Plane& plane, int64_t rows, int64_t cols);

}  // namespace mindtorch::cpu
