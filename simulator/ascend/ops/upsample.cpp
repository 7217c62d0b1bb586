// Resizing of images of 1, 2 and 3 dims, with the gradients.
#include "simulator/ascend/ops/windows.h"

using namespace sim;

namespace {

enum class Filter { kNearest, kNearestExact, kLinear, kCubic, kLinearSmooth, kCubicSmooth };

// One source place of a resized place.
struct ResizeTap {
  int64_t place;
  double weight;
};
// For each resized place along one dim, what it is made of.
using Axis = std::vector<std::vector<ResizeTap>>;

double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Source places per resized place.
double step_of(int64_t from, int64_t to, bool corners, double scale) {
  if (corners) {
    return to > 1 ? static_cast<double>(from - 1) / static_cast<double>(to - 1) : 0;
  }
  return scale > 0 ? 1 / scale : static_cast<double>(from) / static_cast<double>(to);
}

// The filter is stretched over all the source places that one resized place covers.
std::vector<ResizeTap> smooth_taps(double middle, double step, int64_t from, Filter filter) {
  const double stretch = std::max(step, 1.0);
  const double support = (filter == Filter::kCubicSmooth ? 2 : 1) * stretch;
  const int64_t first = std::max<int64_t>(static_cast<int64_t>(middle - support + 0.5), 0);
  const int64_t end = std::min(static_cast<int64_t>(middle + support + 0.5), from);
  std::vector<ResizeTap> taps;
  double sum = 0;
  for (int64_t j = first; j < end; ++j) {
    const double x = (static_cast<double>(j) - middle + 0.5) / stretch;
    taps.push_back({j, filter == Filter::kCubicSmooth ? cubic(x, -0.5) : triangle(x)});
    sum += taps.back().weight;
  }
  for (ResizeTap& tap : taps) tap.weight = sum == 0 ? 0 : tap.weight / sum;
  return taps;
}

std::vector<ResizeTap> taps_of(int64_t i, int64_t from, double step, bool corners, Filter filter) {
  const auto at = static_cast<double>(i);
  const int64_t last = from - 1;
  // Places are found in float32: of large images, some lie one aside.
  const auto narrow_step = static_cast<float>(step);
  switch (filter) {
    case Filter::kNearest:
      return {{std::min(static_cast<int64_t>(static_cast<float>(i) * narrow_step), last), 1}};
    case Filter::kNearestExact: {
      const auto place = static_cast<float>((at + 0.5) * static_cast<double>(narrow_step));
      return {{std::min(static_cast<int64_t>(place), last), 1}};
    }
    case Filter::kLinear: {
      const double source = corners ? at * step : std::max((at + 0.5) * step - 0.5, 0.0);
      const int64_t low = std::min(static_cast<int64_t>(source), last);
      const double weight = source - static_cast<double>(low);
      return {{low, 1 - weight}, {std::min(low + 1, last), weight}};
    }
    case Filter::kCubic: {
      const double source = corners ? at * step : (at + 0.5) * step - 0.5;
      const double low = std::floor(source);
      std::vector<ResizeTap> taps;
      for (int64_t k = -1; k <= 2; ++k) {
        const int64_t place = std::clamp<int64_t>(static_cast<int64_t>(low) + k, 0, last);
        taps.push_back({place, cubic(source - low - static_cast<double>(k), -0.75)});
      }
      return taps;
    }
    default:
      return smooth_taps((at + 0.5) * step, step, from, filter);
  }
}

Axis axis_of(int64_t from, int64_t to, bool corners, double scale, Filter filter) {
  const double step = step_of(from, to, corners, scale);
  Axis axis;
  for (int64_t i = 0; i < to; ++i) axis.push_back(taps_of(i, from, step, corners, filter));
  return axis;
}

// Resizes dim `d` of `values`, or brings its gradient back to the size `to`.
std::vector<double> along(const std::vector<double>& values,
                          Shape* shape,
                          size_t d,
                          const Axis& axis,
                          int64_t to,
                          bool backward) {
  const int64_t from = (*shape)[d];
  const int64_t outer = count(Shape(shape->begin(), shape->begin() + static_cast<int64_t>(d)));
  const int64_t inner = count(Shape(shape->begin() + static_cast<int64_t>(d) + 1, shape->end()));
  std::vector<double> result(z(outer * to * inner));
  for (int64_t n = 0; n < outer; ++n) {
    for (size_t i = 0; i < axis.size(); ++i) {
      for (const ResizeTap& tap : axis[i]) {
        const int64_t read = (n * from + (backward ? static_cast<int64_t>(i) : tap.place)) * inner;
        const int64_t write = (n * to + (backward ? tap.place : static_cast<int64_t>(i))) * inner;
        for (int64_t k = 0; k < inner; ++k) {
          result[z(write + k)] += values[z(read + k)] * tap.weight;
        }
      }
    }
  }
  (*shape)[d] = to;
  return result;
}

void run_resize(Planner& p,
                const Operand& from,
                const Operand& to,
                const std::vector<Axis>& axes,
                bool rounds,
                bool backward) {
  if (to.numel() == 0) return;
  p.run([=](Launch& launch) {
    auto values = load_all<double>(get(launch, from));
    Shape shape = from.shape();
    for (size_t k = 0; k < axes.size(); ++k) {
      const size_t d = shape.size() - axes.size() + k;
      values = along(values, &shape, d, axes[k], to.shape()[d], backward);
    }
    if (rounds) {
      for (double& value : values) value = std::nearbyint(value);
    }
    store_all(get(launch, to), values);
  });
}

struct Resize {
  const char* op;
  Filter filter;
  const aclTensor* source;
  const char* source_name;
  const aclIntArray* output_size;
  const aclIntArray* input_size;  // of a gradient; null: forward
  bool backward;
  bool corners;
  std::vector<double> scales;  // one for each dim; 0: from the sizes
  const aclTensor* out;
  const char* out_name;
};

aclnnStatus resize(const Resize& r, uint64_t* workspace_size, aclOpExecutor** executor) {
  return plan(r.op, workspace_size, executor, [&](Planner& p) {
    const Types types = kF | kF64 | kU8;
    const Operand from = p.input(r.source, r.source_name, types);
    const Shape size = p.array(r.output_size, "outputSize");
    const Operand to = p.output(r.out, r.out_name, types);
    const size_t dims = r.scales.size();
    p.check(size.size() == dims, "outputSize must have " + std::to_string(dims) + " values");
    p.check_rank(from, static_cast<int64_t>(dims) + 2, static_cast<int64_t>(dims) + 2);
    if (r.backward) p.check_shape(to, p.array(r.input_size, "inputSize"));
    p.check(from.dtype() == to.dtype(), p.name(to) + " must have the dtype of " + p.name(from));
    const Shape& small = (r.backward ? to : from).shape();
    p.check_shape(r.backward ? from : to, with_image(small, size));
    std::vector<Axis> axes;
    for (size_t d = 0; d < dims; ++d) {
      p.check(size[d] > 0 && small[d + 2] > 0, "the sizes of images must be positive");
      axes.push_back(axis_of(small[d + 2], size[d], r.corners, r.scales[d], r.filter));
    }
    run_resize(p, from, to, axes, to.dtype() == ACL_UINT8, r.backward);
  });
}

}  // namespace

extern "C" {

// Forward ops: what they end with differs.
#define SIM_UPSAMPLE(Name, filter, tensor, corners, ...) \
  return resize({"aclnn" #Name,                          \
                 Filter::filter,                         \
                 tensor,                                 \
                 #tensor,                                \
                 outputSize,                             \
                 nullptr,                                \
                 false,                                  \
                 corners,                                \
                 {__VA_ARGS__},                          \
                 out,                                    \
                 "out"},                                 \
                workspaceSize, executor)
#define SIM_UPSAMPLE_BACKWARD(Name, filter, tensor, corners, target, ...) \
  return resize({"aclnn" #Name,                                           \
                 Filter::filter,                                          \
                 tensor,                                                  \
                 #tensor,                                                 \
                 outputSize,                                              \
                 inputSize,                                               \
                 true,                                                    \
                 corners,                                                 \
                 {__VA_ARGS__},                                           \
                 target,                                                  \
                 #target},                                                \
                workspaceSize, executor)

SIM_SIGNATURE(UpsampleNearest1d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              aclTensor* out) {
  SIM_UPSAMPLE(UpsampleNearest1d, kNearest, self, false, 0);
}
SIM_SIGNATURE(UpsampleNearest1dV2,
              const aclTensor* self,
              const aclIntArray* outputSize,
              float scaleL,
              aclTensor* out) {
  SIM_UPSAMPLE(UpsampleNearest1dV2, kNearest, self, false, scaleL);
}
SIM_SIGNATURE(UpsampleNearest2d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              aclTensor* out) {
  SIM_UPSAMPLE(UpsampleNearest2d, kNearest, self, false, 0, 0);
}
SIM_SIGNATURE(UpsampleNearest2dV2,
              const aclTensor* self,
              const aclIntArray* outputSize,
              float scalesH,
              float scalesW,
              aclTensor* out) {
  SIM_UPSAMPLE(UpsampleNearest2dV2, kNearest, self, false, scalesH, scalesW);
}
SIM_SIGNATURE(UpsampleNearest3d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              double scalesD,
              double scalesH,
              double scalesW,
              aclTensor* out) {
  SIM_UPSAMPLE(UpsampleNearest3d, kNearest, self, false, scalesD, scalesH, scalesW);
}
SIM_SIGNATURE(UpsampleNearestExact1d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              double scales,
              aclTensor* out) {
  SIM_UPSAMPLE(UpsampleNearestExact1d, kNearestExact, self, false, scales);
}
SIM_SIGNATURE(UpsampleNearestExact2d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              double scalesH,
              double scalesW,
              aclTensor* out) {
  SIM_UPSAMPLE(UpsampleNearestExact2d, kNearestExact, self, false, scalesH, scalesW);
}
SIM_SIGNATURE(UpsampleNearestExact3d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              double scalesD,
              double scalesH,
              double scalesW,
              aclTensor* out) {
  SIM_UPSAMPLE(UpsampleNearestExact3d, kNearestExact, self, false, scalesD, scalesH, scalesW);
}
SIM_SIGNATURE(UpsampleLinear1d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              const bool alignCorners,
              const double scales,
              aclTensor* out) {
  SIM_UPSAMPLE(UpsampleLinear1d, kLinear, self, alignCorners, scales);
}
SIM_SIGNATURE(UpsampleBilinear2d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              const bool alignCorners,
              const double scalesH,
              const double scalesW,
              aclTensor* out) {
  SIM_UPSAMPLE(UpsampleBilinear2d, kLinear, self, alignCorners, scalesH, scalesW);
}
SIM_SIGNATURE(UpsampleTrilinear3d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              bool alignCorners,
              double scalesD,
              double scalesH,
              double scalesW,
              aclTensor* out) {
  SIM_UPSAMPLE(UpsampleTrilinear3d, kLinear, self, alignCorners, scalesD, scalesH, scalesW);
}
SIM_SIGNATURE(UpsampleBicubic2d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              const bool alignCorners,
              const double scalesH,
              const double scalesW,
              aclTensor* out) {
  SIM_UPSAMPLE(UpsampleBicubic2d, kCubic, self, alignCorners, scalesH, scalesW);
}
SIM_SIGNATURE(UpsampleBilinear2dAA,
              const aclTensor* input,
              const aclIntArray* outputSize,
              bool alignCorners,
              double scalesH,
              double scalesW,
              aclTensor* out) {
  SIM_UPSAMPLE(UpsampleBilinear2dAA, kLinearSmooth, input, alignCorners, scalesH, scalesW);
}
SIM_SIGNATURE(UpsampleBicubic2dAA,
              const aclTensor* x,
              const aclIntArray* outputSize,
              const bool alignCorners,
              const double scalesH,
              const double scalesW,
              aclTensor* out) {
  SIM_UPSAMPLE(UpsampleBicubic2dAA, kCubicSmooth, x, alignCorners, scalesH, scalesW);
}

SIM_SIGNATURE(UpsampleNearest1dBackward,
              const aclTensor* gradOut,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              double scales,
              aclTensor* out) {
  SIM_UPSAMPLE_BACKWARD(UpsampleNearest1dBackward, kNearest, gradOut, false, out, scales);
}
SIM_SIGNATURE(UpsampleNearest2dBackward,
              const aclTensor* gradOut,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              double scalesH,
              double scalesW,
              aclTensor* gradInput) {
  SIM_UPSAMPLE_BACKWARD(UpsampleNearest2dBackward, kNearest, gradOut, false, gradInput, scalesH,
                        scalesW);
}
SIM_SIGNATURE(UpsampleNearest3dBackward,
              const aclTensor* gradOut,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              double scalesD,
              double scalesH,
              double scalesW,
              aclTensor* gradInput) {
  SIM_UPSAMPLE_BACKWARD(UpsampleNearest3dBackward, kNearest, gradOut, false, gradInput, scalesD,
                        scalesH, scalesW);
}
SIM_SIGNATURE(UpsampleNearestExact1dBackward,
              const aclTensor* gradOutput,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              double scales,
              aclTensor* out) {
  SIM_UPSAMPLE_BACKWARD(UpsampleNearestExact1dBackward, kNearestExact, gradOutput, false, out,
                        scales);
}
SIM_SIGNATURE(UpsampleNearestExact2dBackward,
              const aclTensor* gradOutput,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              double scalesH,
              double scalesW,
              aclTensor* out) {
  SIM_UPSAMPLE_BACKWARD(UpsampleNearestExact2dBackward, kNearestExact, gradOutput, false, out,
                        scalesH, scalesW);
}
SIM_SIGNATURE(UpsampleNearestExact3dBackward,
              const aclTensor* gradOut,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              double scalesD,
              double scalesH,
              double scalesW,
              aclTensor* gradInput) {
  SIM_UPSAMPLE_BACKWARD(UpsampleNearestExact3dBackward, kNearestExact, gradOut, false, gradInput,
                        scalesD, scalesH, scalesW);
}
SIM_SIGNATURE(UpsampleLinear1dBackward,
              const aclTensor* gradOut,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              bool alignCorners,
              double scales,
              aclTensor* out) {
  SIM_UPSAMPLE_BACKWARD(UpsampleLinear1dBackward, kLinear, gradOut, alignCorners, out, scales);
}
SIM_SIGNATURE(UpsampleBilinear2dBackward,
              const aclTensor* gradOut,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              bool alignCorners,
              double scalesH,
              double scalesW,
              aclTensor* out) {
  SIM_UPSAMPLE_BACKWARD(UpsampleBilinear2dBackward, kLinear, gradOut, alignCorners, out, scalesH,
                        scalesW);
}
SIM_SIGNATURE(UpsampleBilinear2dBackwardV2,
              const aclTensor* gradOut,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              bool alignCorners,
              double scalesH,
              double scalesW,
              aclTensor* out) {
  SIM_UPSAMPLE_BACKWARD(UpsampleBilinear2dBackwardV2, kLinear, gradOut, alignCorners, out, scalesH,
                        scalesW);
}
SIM_SIGNATURE(UpsampleTrilinear3dBackward,
              const aclTensor* gradOut,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              bool alignCorners,
              double scalesD,
              double scalesH,
              double scalesW,
              aclTensor* gradInput) {
  SIM_UPSAMPLE_BACKWARD(UpsampleTrilinear3dBackward, kLinear, gradOut, alignCorners, gradInput,
                        scalesD, scalesH, scalesW);
}
SIM_SIGNATURE(UpsampleBicubic2dBackward,
              const aclTensor* gradOut,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              const bool alignCorners,
              double scalesH,
              double scalesW,
              aclTensor* gradInput) {
  SIM_UPSAMPLE_BACKWARD(UpsampleBicubic2dBackward, kCubic, gradOut, alignCorners, gradInput,
                        scalesH, scalesW);
}
SIM_SIGNATURE(UpsampleBilinear2dAABackward,
              const aclTensor* gradOutput,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              bool alignCorners,
              double scalesH,
              double scalesW,
              aclTensor* out) {
  SIM_UPSAMPLE_BACKWARD(UpsampleBilinear2dAABackward, kLinearSmooth, gradOutput, alignCorners, out,
                        scalesH, scalesW);
}
SIM_SIGNATURE(UpsampleBicubic2dAAGrad,
              const aclTensor* gradOutput,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              bool alignCorners,
              double scalesH,
              double scalesW,
              aclTensor* out) {
  SIM_UPSAMPLE_BACKWARD(UpsampleBicubic2dAAGrad, kCubicSmooth, gradOutput, alignCorners, out,
                        scalesH, scalesW);
}

#undef SIM_UPSAMPLE
#undef SIM_UPSAMPLE_BACKWARD

SIM_SIGNATURE(
    Resize, const aclTensor* self, const aclFloatArray* scales, const char* mode, aclTensor* out) {
  return plan("aclnnResize", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const std::vector<float> by = p.array(scales, "scales");
    const std::string filter = p.text(mode, "mode");
    const Operand target = p.output(out, "out", kF);
    p.check_rank(in, 4, 4);
    p.check(by.size() == 4 && by[0] == 1 && by[1] == 1, "scales must be {1, 1, height, width}");
    p.check(filter == "nearest" || filter == "bilinear",
            "mode is " + filter + ", expected is nearest or bilinear");
    Shape shape = in.shape();
    std::vector<Axis> axes;
    for (size_t d = 2; d < 4; ++d) {
      const auto size = static_cast<int64_t>(static_cast<float>(shape[d]) * by[d]);
      p.check(shape[d] > 0 && size > 0, "the sizes of images must be positive");
      axes.push_back(axis_of(shape[d], size, false, by[d],
                             filter == "nearest" ? Filter::kNearest : Filter::kLinear));
      shape[d] = size;
    }
    p.check_shape(target, shape);
    run_resize(p, in, target, axes, false, false);
  });
}
}
