#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/fft/lines.h"

namespace mindtorch::cpu::fft {

// Lines as short_lines.h has them, with a quarter or half of the arithmetic: elements k and length
// - k meet the same cosines and opposite sines, so that their sum and their difference are
// multiplied by real numbers. False, and nothing is done, where another way is faster.
template <typename T>
bool transform_folded_lines(
    Transform kind, int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale);

}  // namespace mindtorch::cpu::fft
