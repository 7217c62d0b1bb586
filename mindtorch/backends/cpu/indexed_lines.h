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
// are rounded each time.
enum class Combine : uint8_t { kSet, kAdd, kMultiply, kMax, kMin };

GatherLineFn find_gather_line(int64_t element_size_bytes);
ScatterLineFn find_scatter_line(Combine how, DType dtype);

}  // namespace mindtorch::cpu
