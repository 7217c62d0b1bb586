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

struct PixelRow {
  int64_t channels;
  int64_t in;      // pixels of a line of the input
  int64_t out;     // outputs of the row
  int64_t stride;  // pixels from one output's window to the next
};

template <typename T, typename W>
struct PixelRows {
  // Output i, at result + i * step, becomes bias + the sum over taps of weights * pixels. `bias`
  // has one number for each channel.
  void (*multiply)(const PixelRow& row,
                   const PixelTap<T, W>* taps,
                   int64_t count,
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
