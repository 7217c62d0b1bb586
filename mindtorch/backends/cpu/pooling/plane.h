#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "mindtorch/backends/cpu/pooling/windows.h"
#include "mindtorch/tensor/shape.h"

// Where the windows of a pooling lie.
namespace mindtorch::cpu::pooling {

// The windows along one dimension: [begin, end) in steps, all inside the input.
struct Windows {
  int64_t in = 1;
  int64_t step = 1;
  std::vector<int64_t> begin = {0};
  std::vector<int64_t> end = {1};
  std::vector<int64_t> size = {1};  // padding included

  int64_t out() const { return static_cast<int64_t>(begin.size()); }
  int64_t inside(size_t i) const { return std::max<int64_t>(end[i] - begin[i], 0); }
};

// The windows of a dimension that cover each of its elements: from first to last - 1.
struct Cover {
  std::vector<size_t> first;
  std::vector<size_t> last;

  explicit Cover(const Windows& w) {
    size_t from = 0;
    size_t to = 0;
    for (int64_t x = 0; x < w.in; ++x) {
      while (from < w.end.size() && w.end[from] <= x) ++from;
      while (to < w.begin.size() && w.begin[to] <= x) ++to;
      first.push_back(std::min(from, to));
      last.push_back(to);
    }
  }
  bool is_same(size_t a, size_t b) const { return first[a] == first[b] && last[a] == last[b]; }
};

struct Plane {
  std::array<Windows, 3> axes;  // depth, height, width
  int64_t count;                // of planes

  int64_t in() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t out() const { return axes[0].out() * axes[1].out() * axes[2].out(); }
};

// The largest element of a window that lies in the padding as a whole, as dilation allows.
template <typename T>
T least_element() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::lowest();
  } else {
    return static_cast<T>(-std::numeric_limits<float>::infinity());
  }
}

// Of the last `n` dimensions, for those of the input and of the result. A list of one number stands
// for all dimensions; without a stride it is the kernel.
Plane max_windows(IntList in,
                  IntList out,
                  size_t n,
                  IntList kernel,
                  IntList stride,
                  IntList padding,
                  IntList dilation);
Plane avg_windows(
    IntList in, IntList out, size_t n, IntList kernel, IntList stride, IntList padding);
Plane adaptive_windows(IntList in, IntList out, size_t n);

// Dimensions that one window covers whole become one with the last one.
void merge_whole(Plane& plane);

// What the sums of windows are divided by.
struct Divisor {
  bool include_pad;
  std::optional<int64_t> fixed;

  // 0: the window is empty.
  int64_t of(const Plane& plane, size_t d, size_t h, size_t w) const {
    const auto& [depth, height, width] = plane.axes;
    const int64_t inside = depth.inside(d) * height.inside(h) * width.inside(w);
    if (inside == 0 || fixed) return inside == 0 ? 0 : *fixed;
    return include_pad ? depth.size[d] * height.size[h] * width.size[w] : inside;
  }
};

// Windows of a row, the first of which has this number, and what their sums are divided by.
struct Run {
  size_t first;
  WindowRow windows;
  int64_t divisor;
};

// The rows of windows of a plane, for the tiles: those next to each other that have the same size
// and distance are computed together.
class WindowRows {
 public:
  WindowRows(const Plane& plane, const Divisor& divisor);

  // Those of row d * height + h.
  std::span<const Run> runs(int64_t row) const {
    return {runs_.data() + static_cast<size_t>(row) * per_row_, per_row_};
  }
  // Whether the windows have so many sizes that few lie in one run.
  bool is_irregular() const { return is_irregular_; }

 private:
  std::vector<int64_t> covered_;  // rows of the input
  std::vector<Run> runs_;
  size_t per_row_ = 0;
  bool is_irregular_ = false;
};

}  // namespace mindtorch::cpu::pooling
