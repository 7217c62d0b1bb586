#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace mindtorch::ops {

// How the elements of an image in another size are found.
enum class Interpolation : int64_t { kLinear, kNearest, kCubic, kNearestExact };

constexpr bool is_nearest(Interpolation mode) {
  return mode == Interpolation::kNearest || mode == Interpolation::kNearestExact;
}

// How many elements of a dimension each element of the result is made of.
inline int64_t tap_count(Interpolation mode) {
  if (mode == Interpolation::kLinear) return 2;
  return mode == Interpolation::kCubic ? 4 : 1;
}

// The step in the source that an element of the result stands for. `scale` is how many times larger
// the result is; where it is not positive, the sizes say.
inline double source_step(int64_t source, int64_t wanted, double scale, bool align_corners) {
  if (align_corners) {
    return wanted > 1 ? static_cast<double>(source - 1) / static_cast<double>(wanted - 1) : 0;
  }
  return scale > 0 ? 1 / scale : static_cast<double>(source) / static_cast<double>(wanted);
}

// The weight of an element at distance x, up to 1 and from 1 to 2.
template <typename W>
W cubic_weight(W x, bool is_inner, W a) {
  if (is_inner) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return ((x - 5) * x + 8) * x * a - 4 * a;
}

// put(tap, element of the result, place in the source, weight), for all of a dimension. Places are
// whole numbers, which may lie outside: the border counts for them.
template <typename W, typename Put>
void each_tap(Interpolation mode,
              int64_t source,
              int64_t wanted,
              double scale,
              bool align_corners,
              const Put& put) {
  const auto step = static_cast<W>(source_step(source, wanted, scale, align_corners));
  for (int64_t i = 0; i < wanted; ++i) {
    const auto at = static_cast<W>(i);
    if (is_nearest(mode)) {
      const W shift = mode == Interpolation::kNearestExact ? W(0.5) : W(0);
      put(0, i, std::floor((at + shift) * step), W{1});
      continue;
    }
    const W place = align_corners ? at * step : (at + W(0.5)) * step - W(0.5);
    if (mode == Interpolation::kLinear) {
      const W inside = std::max(place, W{0});
      const W below = std::min(std::floor(inside), static_cast<W>(source - 1));
      const W share = std::min(inside - below, W{1});
      put(0, i, below, 1 - share);
      put(1, i, below + 1, share);
      continue;
    }
    constexpr W kA = W(-0.75);
    const W below = std::floor(place);
    const W rest = place - below;
    put(0, i, below - 1, cubic_weight(rest + 1, false, kA));
    put(1, i, below, cubic_weight(rest, true, kA));
    put(2, i, below + 1, cubic_weight(1 - rest, true, kA));
    put(3, i, below + 2, cubic_weight(2 - rest, false, kA));
  }
}

}  // namespace mindtorch::ops
