#pragma once

#include <cstdint>

#include "mindtorch/tensor/dtype.h"

// Pooling of one row of windows at a time, chosen for this machine's instruction set.
namespace mindtorch::cpu::pooling {

// Windows of one size and at one distance from each other, on a plane of an image.
struct WindowRow {
  const int64_t* rows;  // where the rows of the plane begin that each window covers, ascending
  int64_t row_count;
  int64_t first;   // where in those rows the first window begins
  int64_t stride;  // from a window to the next
  int64_t taps;    // elements of each row in a window
  int64_t step;    // from a tap to the next
  int64_t count;   // of windows
};

// A plane, and how many elements may be read from its first one on: those of the planes behind it
// too.
struct PlaneData {
  const void* first;
  int64_t readable;
};

inline constexpr int64_t kPadding = 16;  // numbers: a vector of them

// Sums are held in the dtype that accumulate_dtype() names, and rounded once.
struct PoolingTiles {
  // The largest element of each window and its place in the plane: the first of equals, the last
  // NaN.
  void (*max)(const PlaneData& plane, const WindowRow& windows, void* values, int64_t* places);
  // The same for each of the channels that lie beside each other in a pixel: rows, distances and
  // taps of the windows count pixels, of which there are fewer than 2^31 in an image, and so do
  // places. What is found of a window follows that of the one before. Windows are not empty.
  void (*max_pixels)(
      const void* image, const WindowRow& windows, int64_t channels, void* values, int64_t* places);
  void (*mean)(const PlaneData& plane, const WindowRow& windows, int64_t divisor, void* out);
  // The same with pixels, as above.
  void (*mean_pixels)(
      const void* image, const WindowRow& windows, int64_t channels, int64_t divisor, void* out);
  // The sum of the rows that the windows cover, `width` numbers; `sums` has room for kPadding more.
  void (*add_rows)(const void* plane, const WindowRow& windows, int64_t width, void* sums);
  // Adds grad / divisor to every element of a line that a window covers. `shares` has room for as
  // many numbers as there are windows, of the line's dtype.
  void (*spread)(
      const void* grad, const WindowRow& windows, int64_t divisor, void* shares, void* line);
  // Rounds a line of n sums.
  void (*store)(const void* line, int64_t n, void* out);
};

// float16, bfloat16, float32, float64 and int64.
const PoolingTiles& pooling_tiles(DType dtype);

}  // namespace mindtorch::cpu::pooling
