#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/fft/lines.h"

// Note [Lines in registers]
// A short complex line whose length is a power of two is a matrix in registers: rows of 32 bytes.
// Its columns are transformed, which never crosses lanes, turned, and so are its rows after a
// transposition; the results then lie in memory as they are to be stored. A register of 64 bytes
// holds rows of two lines.
namespace mindtorch::cpu::fft {

// As transform_lines(). False, and nothing is done, where another way is faster.
template <typename T>
bool transform_register_lines(
    bool inverse, int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale);

}  // namespace mindtorch::cpu::fft
