#pragma once

#include <cstdint>

// The inner loops of depthwise correlations whose channels lie beside each other in a pixel, chosen
// for this machine's instruction set. T is float, double, Half or BFloat16; W is what it is
// computed in: float or double.
namespace mindtorch::cpu::convolution {

// What one tap reads for the outputs of a row: output i the pixel at line + (i * stride + offset) *
// channels, where that is one of the line's.
template <typename T, typename W>
struct PixelTap {
  const T* line;
  int64_t offset;
  W* weights;  // one for each channel
};

// Taps that read neighbouring pixels of one line: tap k the pixel behind that of tap k - 1. A pixel
// is loaded once for all of them. Only without a stride; otherwise there is one tap.
template <typename T, typename W>
struct PixelRun {
  const T* line;
  int64_t offset;  // of tap 0
  int64_t count;
  const W* weights;  // of tap 0, one for each channel
  int64_t step;      // from the weights of a tap to those of the next
};
inline constexpr int64_t kMostTapsOfPixels = 4;

struct PixelRow {
  int64_t channels;
  int64_t in;      // pixels of a line of the input
  int64_t out;     // outputs of the row
  int64_t stride;  // pixels from one output's window to the next
};

template <typename T, typename W>
struct PixelRows {
  // Output i, at result + i * step, becomes bias + the sum over taps of weights * pixels. `bias`
  // has one number for each channel. Outputs [begin, end) read no pixel beyond their lines.
  void (*multiply)(const PixelRow& row,
                   const PixelRun<T, W>* runs,
                   int64_t count,
                   int64_t begin,
                   int64_t end,
                   const W* bias,
                   T* result,
                   int64_t step);
  // The weights of each tap grow by the sum over outputs of grad * pixels.
  void (*add_products)(const PixelRow& row,
                       const PixelTap<T, W>* taps,
                       int64_t count,
                       const T* grad);
};

template <typename T, typename W>
PixelRows<T, W> pixel_rows();

}  // namespace mindtorch::cpu::convolution
