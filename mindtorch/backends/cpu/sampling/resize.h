#pragma once

#include <cstdint>
#include <vector>

#include "mindtorch/tensor/dtype.h"

// Rows of images in another size, for float dtypes, chosen for this machine's instruction set.
namespace mindtorch::cpu::sampling {

// The elements of a dimension that each element of the result is made of, and how much of each:
// tap k of element i is number k * count + i. Sums are held in W.
template <typename W>
struct ResizeTaps {
  int64_t taps;
  int64_t count;
  std::vector<int32_t> places;
  std::vector<W> weights;

  int32_t place(int64_t tap, int64_t i) const {
    return places[static_cast<size_t>(tap * count + i)];
  }
  W weight(int64_t tap, int64_t i) const { return weights[static_cast<size_t>(tap * count + i)]; }
};

// A row of an image and its share.
template <typename W>
struct WeightedRow {
  const void* row;
  W weight;
};

template <typename W>
struct ResizeTiles {
  // line[x] = the sum of weight * row[x], for x < n. `line` has room for kResizePadding more.
  void (*blend)(const WeightedRow<W>* rows, int64_t count, int64_t n, W* line);
  // out[i] = the sum over taps of weight * line[place], rounded.
  void (*take)(const W* line, const ResizeTaps<W>& taps, void* out);
};
inline constexpr int64_t kResizePadding = 16;

// W is what the dtype is computed in: double for float64, else float.
template <typename W>
const ResizeTiles<W>& resize_tiles(DType dtype);

}  // namespace mindtorch::cpu::sampling
