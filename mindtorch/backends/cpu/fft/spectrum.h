#pragma once

#include <cstdint>

// What surrounds the transforms of complex lines, along lines of (re, im) beside each other.
namespace mindtorch::cpu::fft {

template <typename T>
struct SpectrumFunctions {
  // to = a * b, or the conjugate of it.
  void (*multiply)(int64_t count, const T* a, const T* b, T* to, bool conjugated);

  // A real line of 2 * half numbers is transformed as `half` complex ones. `turns` are exp(-i pi k
  // / half) for 0 <= k <= half / 2. In place: the spectrum of the complex line, half numbers, to
  // that of the real one, half + 1 numbers.
  void (*untangle)(int64_t half, const T* turns, T* line);
  // The way back, half + 1 numbers to half. `to` may not be `from`.
  void (*tangle)(int64_t half, const T* turns, const T* from, T* to);

  // Two real lines of odd length are transformed as the parts of a complex one, z. The first
  // length / 2 + 1 numbers of the spectra of both, from that of z; and back. b may be null: the
  // second line is zero.
  void (*separate)(int64_t length, const T* z, T* a, T* b);
  void (*join)(int64_t length, const T* a, const T* b, T* z);
  // The same of panels, whose lanes are the pairs: rows of a and b in turn, panel_lines() of each.
  void (*separate_panel)(int64_t length, const T* z, T* pairs);
  void (*join_panel)(int64_t length, const T* pairs, T* z);
  // Two lines may be transformed as one only if they are finite: an infinity or a NaN would reach
  // the other.
  bool (*is_finite)(int64_t count, const T* numbers);
};

template <typename T>
const SpectrumFunctions<T>& spectrum_functions();

}  // namespace mindtorch::cpu::fft
