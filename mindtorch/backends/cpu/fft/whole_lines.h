#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/fft/lines.h"

// Note [Whole lines]
// A line of some hundred or thousand elements beside each other fits in the first cache, a panel
// of such lines does not. So each is transformed alone, by vectors that lie along it. The first
// pass has the columns of a matrix in its lanes, and its results are transposed in registers; then
// as many elements as a register has, which later passes treat alike, lie beside each other.
namespace mindtorch::cpu::fft {

// Whether lines of this length are transformed so.
template <typename T>
bool are_whole_lines(int64_t length);

// As transform_lines(). False, and nothing is done, for other lengths and for elements that do not
// lie beside each other.
template <typename T>
bool transform_whole_lines(
    bool inverse, int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale);

}  // namespace mindtorch::cpu::fft
