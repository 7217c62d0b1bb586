#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/fft/plan.h"

namespace mindtorch::cpu::fft {

// `count` lines of numbers: element i of line j begins at data[i * step + j * next], counted in
// numbers of type T, of which a complex element has two.
template <typename T>
struct Lines {
  T* data;
  int64_t step;
  int64_t next;

  Lines from_line(int64_t j) const { return {data + j * next, step, next}; }
  Lines<const T> as_source() const { return {data, step, next}; }
};

// Copies `count` lines of `length` elements of `width` numbers each.
template <typename T>
void copy_lines(int64_t length, int64_t count, int64_t width, Lines<const T> from, Lines<T> to);

// The transform of one line of complex elements beside each other, times `scale`. `to` may be
// `from`.
template <typename T>
void transform_line(const LinePlan<T>& plan, const T* from, T* to, bool inverse, T scale);

// The same of many lines that lie anyhow. Lines of `to` may be those of `from`.
template <typename T>
void transform_lines(
    int64_t length, int64_t count, Lines<const T> from, Lines<T> to, bool inverse, T scale);

// Lines of `length` real elements to the first half of their spectra, length / 2 + 1 elements.
template <typename T>
void real_to_half(int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale);

// The inverse: of spectra that are taken to be those of real lines.
template <typename T>
void half_to_real(int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale);

}  // namespace mindtorch::cpu::fft
