#pragma once

#include <cstdint>

// Products of the filters with the windows of a line of outputs, chosen for this machine's
// instruction set. A vector holds the filters of one output. T is float, double or, for bfloat16
// where has_bfloat16_lines(), uint16_t.
namespace mindtorch::cpu::convolution {

// Taps of one channel that read neighbouring elements: tap k of `count` reads, for output i, the
// element at offset + i * step + k * tap_step, and is multiplied with term `term` + k * term_step.
// Where the steps are equal, an element is read once for all of them.
struct LineRun {
  int64_t offset;
  int64_t count;
  int64_t term;
  int64_t term_step;
};
inline constexpr int64_t kMostTapsOfRun = 4;

// What is multiplied, and added up. The elements of two channels of bfloat16 are one word, with the
// earlier channel in its low half: their products are added by one instruction.
template <typename T>
struct LineTypes {
  using Word = T;
  using Sum = T;
  static constexpr int64_t kChannels = 1;  // of a word
};
template <>
struct LineTypes<uint16_t> {
  using Word = uint32_t;
  using Sum = float;
  static constexpr int64_t kChannels = 2;
};

// c(i, j) = initial[j] + the sum over channels and taps of elements times y(term, j), for all
// outputs i and the columns j of one panel, row by row.
template <typename T>
struct LineProduct {
  using Word = typename LineTypes<T>::Word;
  const Word* x;  // the element of output 0 at offset 0
  int64_t step;
  int64_t tap_step;
  int64_t channels;        // words of a pixel
  int64_t channel_stride;  // of elements
  const LineRun* runs;     // of each channel
  int64_t run_count;
  const Word* y;  // terms of the channels follow each other
  int64_t channel_terms;
  int64_t columns;  // one vector or two
  const typename LineTypes<T>::Sum* initial;
  int64_t outputs;
  T* c;
  int64_t c_stride;
};

template <typename T>
struct LineTiles {
  int64_t lanes;
  bool has_equal_steps;  // runs of several taps are for these only
  void (*multiply)(const LineProduct<T>& product);
};

template <typename T>
LineTiles<T> line_tiles();

// Whether bfloat16 is multiplied by lines: with AVX512_BF16, unless AMX is there, which is faster
// by panels.
bool has_bfloat16_lines();

// to[i] = the word of low[i] and high[i], or of low[i] and 0 where `high` is null. Only where
// has_bfloat16_lines().
void interleave_line(const uint16_t* low, const uint16_t* high, int64_t count, uint32_t* to);

}  // namespace mindtorch::cpu::convolution
