#include "mindtorch/functional/sampling.h"

#include <vector>

#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/functional/operators.h"

namespace mindtorch::functional {
namespace {

enum Interpolation : int64_t { kLinear = 0, kNearest = 1, kCubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

// Coordinates along one dimension, in elements.
struct Axis {
  int64_t size;
  int64_t padding;
  bool align_corners;

  Tensor from_grid(const Tensor& places) const {
    if (align_corners) return (places + 1) * (0.5 * static_cast<double>(size - 1));
    return ((places + 1) * size - 1) * 0.5;
  }
  // Mirrored at the middles of the outer elements, or at their edges.
  Tensor reflected(const Tensor& places) const {
    const double low = align_corners ? 0 : -0.5;
    const double span = static_cast<double>(align_corners ? size - 1 : size);
    if (span == 0) return zeros_like(places);
    const Tensor from = abs(places - low);
    const Tensor rest = from % span;
    return where(floor(from / span) % 2 == 0, rest + low, (span + low) - rest);
  }
  Tensor bounded(const Tensor& places) const {
    if (padding == kZeros) return places;
    return clamp(padding == kReflection ? reflected(places) : places, 0, size - 1);
  }
};

// Elements along one dimension that count at a point, and how much.
struct Tap {
  Tensor place;   // a whole number
  Tensor weight;  // undefined: 1
};

// The cubic filter with a = -0.75, at distances of up to 1 and from 1 to 2.
Tensor cubic(const Tensor& x, bool is_near) {
  constexpr double kA = -0.75;
  if (is_near) return (x * (kA + 2) - (kA + 3)) * x * x + 1;
  return ((x * kA - 5 * kA) * x + 8 * kA) * x - 4 * kA;
}

std::vector<Tap> taps_of(const Axis& axis, const Tensor& grid_places, int64_t interpolation) {
  const Tensor places = axis.from_grid(grid_places);
  if (interpolation == kNearest) return {{round(axis.bounded(places)), {}}};
  const Tensor at = interpolation == kCubic ? places : axis.bounded(places);
  const Tensor below = floor(at);
  const Tensor rest = at - below;
  if (interpolation == kLinear) return {{below, 1 - rest}, {below + 1, rest}};
  const auto bounded = [&](int64_t step) { return axis.bounded(below + step); };
  return {{bounded(-1), cubic(rest + 1, false)},
          {bounded(0), cubic(rest, true)},
          {bounded(1), cubic(1 - rest, true)},
          {bounded(2), cubic(2 - rest, false)}};
}

}  // namespace

Tensor composed_grid_sampler(const Tensor& input,
                             const Tensor& grid,
                             int64_t interpolation_mode,
                             int64_t padding_mode,
                             bool align_corners) {
  const int64_t n = input.dim() - 2;
  const std::vector<Tensor> places = unbind(grid, -1);  // the last dimension comes first
  std::vector<std::vector<Tap>> taps;
  int64_t combinations = 1;
  for (int64_t i = 0; i < n; ++i) {
    const Axis axis = {input.size(i + 2), padding_mode, align_corners};
    taps.push_back(taps_of(axis, places[static_cast<size_t>(n - 1 - i)], interpolation_mode));
    combinations *= static_cast<int64_t>(taps.back().size());
  }
  const Tensor flat_input = flatten(input, 2, -1);
  Shape sizes = {input.size(0), input.size(1)};
  for (int64_t i = 1; i <= n; ++i) sizes.push_back(grid.size(i));
  const int64_t points = numel(IntList(sizes).subspan(2));
  Tensor result;
  for (int64_t number = 0; number < combinations; ++number) {
    Tensor index;
    Tensor weight;
    int64_t rest = number;
    for (int64_t i = 0; i < n; ++i) {
      const auto& list = taps[static_cast<size_t>(i)];
      const auto count = static_cast<int64_t>(list.size());
      const Tap& tap = list[static_cast<size_t>(rest % count)];
      rest /= count;
      const int64_t size = input.size(i + 2);
      const Tensor inside = _to_copy((tap.place >= 0) & (tap.place < size), input.dtype());
      const Tensor own = tap.weight.defined() ? tap.weight * inside : inside;
      const Tensor at = _to_copy(clamp(tap.place, 0, size - 1), DType::kInt64);
      weight = weight.defined() ? weight * own : own;
      index = index.defined() ? index * size + at : at;
    }
    const Tensor places_of =
        expand(reshape(index, {input.size(0), 1, points}), {input.size(0), input.size(1), points});
    const Tensor part = view(gather(flat_input, 2, places_of), sizes) * unsqueeze(weight, 1);
    result = result.defined() ? result + part : part;
  }
  return result;
}

namespace {

Tensor grid_sampler(const Tensor& input,
                    const Tensor& grid,
                    int64_t interpolation_mode,
                    int64_t padding_mode,
                    bool align_corners) {
  const auto sample = input.dim() == 4 ? grid_sampler_2d : grid_sampler_3d;
  return sample(input, grid, interpolation_mode, padding_mode, align_corners);
}

}  // namespace

void compose_sampling(ops::Registry& registry) { registry.composite<grid_sampler>("grid_sampler"); }

}  // namespace mindtorch::functional
