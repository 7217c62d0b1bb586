#pragma once

#include <cstdint>

// Products of the filters with the windows of a line of outputs, for float and double, chosen for
// this machine's instruction set. A vector holds the filters of one output.
namespace mindtorch::cpu::convolution {

// Taps of one channel that read neighbouring elements: tap k of `count` reads, for output i, the
// element at offset + (i + k) * step, and is multiplied with term `term` + k * term_step. An
// element is read once for all of them.
struct LineRun {
  int64_t offset;
  int64_t count;
  int64_t term;
  int64_t term_step;
};
inline constexpr int64_t kMostTapsOfRun = 4;

// c(i, j) = initial[j] + the sum over channels and taps of elements times y(term, j), for all
// outputs i and the columns j of one panel, row by row.
template <typename T>
struct LineProduct {
  const T* x;  // the element of output 0 at offset 0
  int64_t step;
  int64_t channels;
  int64_t channel_stride;  // of elements
  const LineRun* runs;     // of each channel
  int64_t run_count;
  const T* y;  // terms of the channels follow each other
  int64_t channel_terms;
  int64_t columns;  // one vector or two
  const T* initial;
  int64_t outputs;
  T* c;
  int64_t c_stride;
};

template <typename T>
struct LineTiles {
  int64_t lanes;
  void (*multiply)(const LineProduct<T>& product);
};

template <typename T>
LineTiles<T> line_tiles();

}  // namespace mindtorch::cpu::convolution
