#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/fft/lines.h"

// Note [Short lines]
// Many short lines are one product with the matrix of their transform: a line is a row of real
// numbers, (re, im) beside each other where its elements are complex, and so is its spectrum. That
// is more arithmetic than a fast transform, but it needs no transposition into panels, which for
// such lines costs more than all else.
namespace mindtorch::cpu::fft {

// Transforms `count` lines of `length` elements, times `scale`. False, and nothing is done, where
// panels are faster: for longer lines, and for those whose elements do not lie beside each other.
// Lines of `to` may be those of `from`.
template <typename T>
bool transform_short_lines(
    Transform kind, int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale);

}  // namespace mindtorch::cpu::fft
