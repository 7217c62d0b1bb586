#pragma once

#include <cstdint>

namespace mindtorch::cpu {

// Loops over contiguous elements of 1, 2, 4, 8 or 16 bytes, whatever they mean. No pointer needs
// more than byte alignment; `from` and `to` must not overlap.

// to[i] = *value.
void fill_elements(int64_t element_size, const void* value, void* to, int64_t n);

// to[i] = from[n - 1 - i].
void reverse_elements(int64_t element_size, const void* from, void* to, int64_t n);

// to[i] = from[2 * i], for elements of 1, 2, 4 or 8 bytes.
void take_every_other(int64_t element_size, const void* from, void* to, int64_t n);

// to[i * count + j] = from[i] for all j < count.
void repeat_elements(int64_t element_size, const void* from, void* to, int64_t n, int64_t count);

// to[i * count + j] = from[j][i] for two to four arrays, of elements of 1, 2, 4 or 8 bytes.
void interleave_elements(
    int64_t element_size, const void* const* from, int64_t count, void* to, int64_t n);

// to[i] = base + step * i as an integer of 1, 2, 4 or 8 bytes, which wraps around.
void count_elements(int64_t element_size, uint64_t base, uint64_t step, void* to, int64_t n);

// to[i] = base + step * (first + i * turn), in double precision; turn is 1 or -1, for counting up
// or down.
void space_numbers(double base, double step, int64_t first, int64_t turn, float* to, int64_t n);
void space_numbers(double base, double step, int64_t first, int64_t turn, double* to, int64_t n);

}  // namespace mindtorch::cpu
