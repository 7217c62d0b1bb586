#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/fft/lines.h"

// Note [Whole lines]
// A line of some hundred or thousand elements beside each other fits in the first cache, a panel
// of such lines does not. So each is transformed alone, by vectors that lie along it. The first
// pass has the columns of a matrix in its lanes, and its results are transposed in registers; then
// as many elements as a register has, which later passes treat alike, lie beside each other.
namespace mindtorch::cpu::fft {

// Vector operations for one complex line of this length, as LinePlan counts them; 0 if it is not
// transformed so.
template <typename T>
double whole_line_cost(int64_t length);

// Transforms `count` lines of `length` elements, times `scale`; real lines of even length are
// complex ones of half the length. False, and nothing is done, where another way is faster and for
// elements that do not lie beside each other. Complex lines of `to` may be those of `from`.
template <typename T>
bool transform_whole_lines(
    Transform kind, int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale);

}  // namespace mindtorch::cpu::fft
