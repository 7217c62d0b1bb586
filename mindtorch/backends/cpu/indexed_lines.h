#pragma once

#include <cstdint>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch::cpu {

// The innermost loops of gather and scatter, for this machine's instruction set: elements along a
// line, each with an index of its own into one dim of `self`. Steps count elements. Nothing is
// checked.
struct IndexedLine {
  int64_t count = 0;
  int64_t place_step = 0;  // of self along the indexed dim
  int64_t self_step = 0;   // of self along the line; 0 where the line runs along the indexed dim
  int64_t index_step = 0;
  int64_t other_step = 0;  // of the values that are read or written
  int64_t size = 0;        // of the indexed dim

  // Whether a line of 16-bit floats is better computed as one of float32, made for it.
  bool is_dense() const {
    constexpr int64_t kMost = 4096;
    return self_step == 0 && place_step == 1 && index_step == 1 && other_step == 1 &&
           size <= kMost && size <= 4 * count;
  }
};

using GatherLineFn = void (*)(const IndexedLine& line,
                              const void* self,
                              const int64_t* index,
                              void* out);
using ScatterLineFn = void (*)(const IndexedLine& line,
                               void* self,
                               const int64_t* index,
                               const void* values);

// What becomes of an element and the value that falls on it. Integers wrap, NaN wins, 16-bit floats
// are rounded each time, or once per line where asked to (dense lines only). Values are of self's
// dtype, or 16-bit floats that fall on a float32.
enum class Combine : uint8_t { kSet, kAdd, kMultiply, kMax, kMin };

GatherLineFn find_gather_line(int64_t element_size_bytes);
ScatterLineFn find_scatter_line(Combine how, DType self, DType values, bool rounds_once = false);

}  // namespace mindtorch::cpu
