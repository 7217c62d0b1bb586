// Images sampled at the points of a grid, in 2 and 3 dims, with the gradients; affine grids.
#include "simulator/ascend/ops/windows.h"

using namespace sim;

namespace {

enum Interpolation : int64_t { kBilinear = 0, kNearestPlace = 1, kBicubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

struct Sampling {
  int64_t interpolation;
  int64_t padding;
  bool corners;
};

// A place of the image along one dim, its weight, and how the weight changes with the coordinate.
struct Tap {
  int64_t place;
  float weight;
  float slope;
};

// A coordinate and its derivative.
struct Coordinate {
  float at;
  float slope;
};

Coordinate clipped(Coordinate c, int64_t size) {
  const auto last = static_cast<float>(size - 1);
  if (c.at <= 0) return {0, 0};
  if (c.at >= last) return {last, 0};
  return c;
}

// Folds the line at both ends of the image: at the middle of its last places, or at their edges.
Coordinate reflected(Coordinate c, int64_t size, bool corners) {
  const float low = corners ? 0 : -0.5F;
  const float span = static_cast<float>(corners ? size - 1 : size);
  if (span == 0) return {0, 0};
  const float from = c.at - low;
  const float turned = from < 0 ? -c.slope : c.slope;
  const float rest = std::fmod(std::abs(from), span);
  const bool even = std::fmod(std::floor(std::abs(from) / span), 2.0F) == 0;
  return even ? Coordinate{low + rest, turned} : Coordinate{low + span - rest, -turned};
}

Coordinate padded(Coordinate c, int64_t size, const Sampling& s) {
  if (s.padding == kZeros) return c;
  return clipped(s.padding == kReflection ? reflected(c, size, s.corners) : c, size);
}

// The cubic filter with a = -0.75, and its derivative.
float cubic(float x) {
  constexpr float a = -0.75F;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}
float cubic_slope(float x) {
  constexpr float a = -0.75F;
  const float sign = x < 0 ? -1.0F : 1.0F;
  x = std::abs(x);
  if (x < 1) return sign * (3 * (a + 2) * x - 2 * (a + 3)) * x;
  return sign * ((3 * a * x - 10 * a) * x + 8 * a);
}

// What the point `grid` in [-1, 1] takes along a dim of `size`. Places outside are left out.
std::vector<Tap> taps_of(float grid, int64_t size, const Sampling& s) {
  const auto n = static_cast<float>(size);
  const Coordinate raw = s.corners ? Coordinate{(grid + 1) / 2 * (n - 1), (n - 1) / 2}
                                   : Coordinate{((grid + 1) * n - 1) / 2, n / 2};
  std::vector<Tap> taps;
  const auto add = [&](float place, float weight, float slope) {
    if (place >= 0 && place < n) taps.push_back({static_cast<int64_t>(place), weight, slope});
  };
  if (s.interpolation == kBicubic) {
    const float low = std::floor(raw.at);
    for (int k = -1; k <= 2; ++k) {
      const float place = low + static_cast<float>(k);
      const float distance = raw.at - place;
      // Each place is padded by itself.
      add(padded({place, 0}, size, s).at, cubic(distance), cubic_slope(distance) * raw.slope);
    }
    return taps;
  }
  const Coordinate c = padded(raw, size, s);
  if (s.interpolation == kNearestPlace) {
    add(std::nearbyint(c.at), 1, 0);
    return taps;
  }
  const float low = std::floor(c.at);
  add(low, 1 - (c.at - low), -c.slope);
  add(low + 1, c.at - low, c.slope);
  return taps;
}

// Calls f(flat place, the tap of each dim) for all combinations.
template <class F>
void for_taps(const std::vector<std::vector<Tap>>& axes, const Shape& image, F f) {
  Shape sizes;
  for (const auto& axis : axes) sizes.push_back(static_cast<int64_t>(axis.size()));
  std::vector<Tap> taps(axes.size());
  for (int64_t i = 0; i < count(sizes); ++i) {
    const Shape which = unravel(i, sizes);
    int64_t place = 0;
    for (size_t d = 0; d < axes.size(); ++d) {
      taps[d] = axes[d][z(which[d])];
      place = place * image[d] + taps[d].place;
    }
    f(place, taps);
  }
}

struct GridGeometry {
  int64_t batch;
  int64_t channels;
  Shape image;
  int64_t points;
};

GridGeometry check_sampling(
    Planner& p, const Operand& in, const Operand& grid, const Sampling& s, int64_t dims) {
  p.check_rank(in, dims + 2, dims + 2);
  p.check_rank(grid, dims + 2, dims + 2);
  p.check(s.interpolation >= 0 && s.interpolation <= (dims == 2 ? 2 : 1),
          "interpolationMode is " + std::to_string(s.interpolation));
  p.check(s.padding >= 0 && s.padding <= 2, "paddingMode is " + std::to_string(s.padding));
  const Shape& a = in.shape();
  const Shape& b = grid.shape();
  p.check(b[0] == a[0], "grid has another batch size than input");
  p.check(b.back() == dims, "the last dim of grid must be " + std::to_string(dims));
  GridGeometry g{a[0], a[1], Shape(a.begin() + 2, a.end()), 1};
  for (size_t d = 1; d + 1 < b.size(); ++d) g.points *= b[d];
  for (const int64_t size : g.image) p.check(size > 0, "input has an empty image");
  return g;
}

Shape sampled_shape(const Operand& in, const Operand& grid) {
  Shape shape{in.shape()[0], in.shape()[1]};
  shape.insert(shape.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  return shape;
}

// Calls f(n, point, the taps of each dim); a grid names the last dim first.
template <class F>
void for_points(const GridGeometry& g, const Values& grid, const Sampling& s, F f) {
  const size_t dims = g.image.size();
  std::vector<std::vector<Tap>> axes(dims);
  for (int64_t i = 0; i < g.batch * g.points; ++i) {
    for (size_t d = 0; d < dims; ++d) {
      axes[d] = taps_of(grid[z(i) * dims + dims - 1 - d], g.image[d], s);
    }
    f(i / g.points, i % g.points, axes);
  }
}

aclnnStatus grid_sampler(const char* op,
                         int64_t dims,
                         const aclTensor* input,
                         const aclTensor* grid,
                         const Sampling& s,
                         const aclTensor* out,
                         uint64_t* workspace_size,
                         aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(input, "input", kF | kF64);
    const Operand where = p.input(grid, "grid", kF | kF64);
    const Operand target = p.output(out, "out", kF | kF64);
    const GridGeometry g = check_sampling(p, in, where, s, dims);
    p.check_shape(target, sampled_shape(in, where));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values image = values(launch, in);
      const int64_t area = count(g.image);
      Values result(z(target.numel()));
      for_points(g, values(launch, where), s, [&](int64_t n, int64_t point, const auto& axes) {
        for_taps(axes, g.image, [&](int64_t place, const std::vector<Tap>& taps) {
          float weight = 1;
          for (const Tap& tap : taps) weight *= tap.weight;
          for (int64_t c = n * g.channels; c < (n + 1) * g.channels; ++c) {
            result[z(c * g.points + point)] += weight * image[z(c * area + place)];
          }
        });
      });
      put(launch, target, result);
    });
  });
}

aclnnStatus grid_sampler_backward(const char* op,
                                  int64_t dims,
                                  const aclTensor* grad,
                                  const aclTensor* input,
                                  const aclTensor* grid,
                                  const Sampling& s,
                                  const aclBoolArray* output_mask,
                                  const aclTensor* input_grad,
                                  const aclTensor* grid_grad,
                                  uint64_t* workspace_size,
                                  aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand g_out = p.input(grad, "gradOutput", kF | kF64);
    const Operand in = p.input(input, "input", kF | kF64);
    const Operand where = p.input(grid, "grid", kF | kF64);
    const std::vector<char> mask = p.array(output_mask, "outputMask");
    p.check(mask.size() == 2, "outputMask must have 2 values");
    const Operand d_in = wanted_output(p, mask[0] != 0, input_grad, "inputGrad", kF | kF64);
    const Operand d_grid = wanted_output(p, mask[1] != 0, grid_grad, "gridGrad", kF | kF64);
    const GridGeometry g = check_sampling(p, in, where, s, dims);
    p.check_shape(g_out, sampled_shape(in, where));
    if (d_in) p.check_shape(d_in, in.shape());
    if (d_grid) p.check_shape(d_grid, where.shape());
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values grads = values(launch, g_out);
      const Values image = values(launch, in);
      const int64_t area = count(g.image);
      const size_t axes_count = g.image.size();
      Values to_image(image.size());
      Values to_grid(z(where.numel()));
      for_points(g, values(launch, where), s, [&](int64_t n, int64_t point, const auto& axes) {
        for_taps(axes, g.image, [&](int64_t place, const std::vector<Tap>& taps) {
          float weight = 1;
          for (const Tap& tap : taps) weight *= tap.weight;
          float dot = 0;
          for (int64_t c = n * g.channels; c < (n + 1) * g.channels; ++c) {
            const float grad_here = grads[z(c * g.points + point)];
            to_image[z(c * area + place)] += weight * grad_here;
            dot += image[z(c * area + place)] * grad_here;
          }
          for (size_t d = 0; d < axes_count; ++d) {
            float slope = taps[d].slope;
            for (size_t e = 0; e < axes_count; ++e) slope *= e == d ? 1 : taps[e].weight;
            to_grid[z(n * g.points + point) * axes_count + axes_count - 1 - d] += dot * slope;
          }
        });
      });
      put(launch, d_in, to_image);
      put(launch, d_grid, to_grid);
    });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(GridSampler2D,
              const aclTensor* input,
              const aclTensor* grid,
              int64_t interpolationMode,
              int64_t paddingMode,
              bool alignCorners,
              aclTensor* out) {
  return grid_sampler("aclnnGridSampler2D", 2, input, grid,
                      {interpolationMode, paddingMode, alignCorners}, out, workspaceSize, executor);
}
SIM_SIGNATURE(GridSampler3D,
              const aclTensor* input,
              const aclTensor* grid,
              int64_t interpolationMode,
              int64_t paddingMode,
              bool alignCorners,
              aclTensor* out) {
  return grid_sampler("aclnnGridSampler3D", 3, input, grid,
                      {interpolationMode, paddingMode, alignCorners}, out, workspaceSize, executor);
}
SIM_SIGNATURE(GridSampler2DBackward,
              const aclTensor* gradOutput,
              const aclTensor* input,
              const aclTensor* grid,
              int64_t interpolationMode,
              int64_t paddingMode,
              bool alignCorners,
              const aclBoolArray* outputMask,
              aclTensor* inputGrad,
              aclTensor* gridGrad) {
  return grid_sampler_backward("aclnnGridSampler2DBackward", 2, gradOutput, input, grid,
                               {interpolationMode, paddingMode, alignCorners}, outputMask,
                               inputGrad, gridGrad, workspaceSize, executor);
}
SIM_SIGNATURE(GridSampler3DBackward,
              const aclTensor* gradOutput,
              const aclTensor* input,
              const aclTensor* grid,
              int64_t interpolationMode,
              int64_t paddingMode,
              bool alignCorners,
              const aclBoolArray* outputMask,
              aclTensor* inputGrad,
              aclTensor* gridGrad) {
  return grid_sampler_backward("aclnnGridSampler3DBackward", 3, gradOutput, input, grid,
                               {interpolationMode, paddingMode, alignCorners}, outputMask,
                               inputGrad, gridGrad, workspaceSize, executor);
}

SIM_SIGNATURE(AffineGrid,
              const aclTensor* theta,
              const aclIntArray* size,
              bool alignCorners,
              aclTensor* out) {
  return plan("aclnnAffineGrid", workspaceSize, executor, [&](Planner& p) {
    const Operand maps = p.input(theta, "theta", kF);
    const Shape wanted = p.array(size, "size");
    const Operand target = p.output(out, "out", kF);
    p.check(wanted.size() == 4 || wanted.size() == 5, "size must have 4 or 5 values");
    const auto dims = static_cast<int64_t>(wanted.size()) - 2;
    p.check_shape(maps, {wanted[0], dims, dims + 1});
    const Shape image(wanted.begin() + 2, wanted.end());
    Shape shape{wanted[0]};
    shape.insert(shape.end(), image.begin(), image.end());
    shape.push_back(dims);
    p.check_shape(target, shape);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values map = values(launch, maps);
      Values result;
      for (int64_t n = 0; n < wanted[0]; ++n) {
        for (int64_t i = 0; i < count(image); ++i) {
          const Shape place = unravel(i, image);
          Values point;  // the last dim first, then 1
          for (size_t d = z(dims); d-- > 0;) {
            const auto at = static_cast<float>(place[d]);
            const auto length = static_cast<float>(image[d]);
            const float last = std::max(length - 1, 1.0F);
            const float start = image[d] > 1 ? -1.0F : 0.0F;
            point.push_back(alignCorners ? start + 2 * at / last : (2 * at + 1) / length - 1);
          }
          point.push_back(1);
          for (int64_t row = n * dims; row < (n + 1) * dims; ++row) {
            float sum = 0;
            for (size_t k = 0; k < point.size(); ++k)
              sum += map[z(row) * point.size() + k] * point[k];
            result.push_back(sum);
          }
        }
      }
      put(launch, target, result);
    });
  });
}
}
