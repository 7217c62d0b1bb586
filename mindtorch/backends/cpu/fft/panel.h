#pragma once

#include <cstdint>
#include <vector>

// Note [Fourier transforms by panels]
// Every transform is computed in panels: as many lines beside each other as a register has lanes,
// one lane each, so that the arithmetic is the same for every length and never crosses lanes. Lines
// of a batch make panels, and so do the columns and then the rows of one long line that is written
// as a matrix (lines.cpp). What is left for lanes to exchange is a transposition.
namespace mindtorch::cpu::fft {

// One step of a transform of n = stride * radix * groups elements, in Stockham's order: elements
// `groups * stride` apart are transformed, turned by `twiddles`, and stored beside each other.
template <typename T>
struct Pass {
  int64_t radix;
  int64_t groups;
  int64_t stride;
  std::vector<T> twiddles;  // (re, im) of the outputs 1 .. radix - 1, for each group
  std::vector<T> roots;     // (cos, sin) of all multiples of 2 pi / radix, for an odd radix
};

// Panels of lines of `length` elements, all of whose prime factors are small.
template <typename T>
struct PanelPlan {
  explicit PanelPlan(int64_t length);

  int64_t length;
  std::vector<Pass<T>> passes;
};

// The largest prime factor of lines in panels: its cost is that of a product with its matrix.
inline constexpr int64_t kMostRadix = 257;
bool fits_panel(int64_t length);
// Vector operations for a panel.
double panel_cost(int64_t length);

// Element i of the lines lies at data[i * stride], complex numbers beside each other.
template <typename T>
struct PanelInput {
  const T* data;
  int64_t stride;  // in numbers of type T
  T sign;          // of imaginary parts: -1 takes the conjugate
};
template <typename T>
struct PanelOutput {
  T* data;
  int64_t stride;
  T scale;
  T imaginary_scale;
  const T* twiddles;  // or null: one for each output, in the order of the working memory
};

// Lines in a panel.
template <typename T>
int64_t panel_lines();

// Transforms panel_lines() lines. The input is read before the output is written. `work` has room
// for 4 * panel_lines() * length numbers, aligned to 64 bytes.
template <typename T>
void transform_panel(const PanelPlan<T>& plan,
                     const PanelInput<T>& from,
                     const PanelOutput<T>& to,
                     T* work);

}  // namespace mindtorch::cpu::fft
