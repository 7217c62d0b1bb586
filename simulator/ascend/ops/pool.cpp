// Pooling over windows, and resizing of images, with their gradients.
#include <limits>

#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

using Values = std::vector<float>;

size_t z(int64_t value) { return static_cast<size_t>(value); }

// The last two dims of a tensor are an image; the others count them.
struct Images {
  int64_t images = 1;
  int64_t height = 0;
  int64_t width = 0;
};
Images images_of(Planner& p, const Operand& in) {
  p.check_rank(in, 3, 4);
  const int64_t rank = in.rank();
  Images result{1, in.shape()[z(rank) - 2], in.shape()[z(rank) - 1]};
  for (int64_t d = 0; d < rank - 2; ++d) result.images *= in.shape()[z(d)];
  return result;
}
Shape resized(const Shape& shape, int64_t height, int64_t width) {
  Shape result = shape;
  result[shape.size() - 2] = height;
  result[shape.size() - 1] = width;
  return result;
}

std::array<int64_t, 2> pair_of(Planner& p,
                               const std::vector<int64_t>& list,
                               const char* name,
                               std::array<int64_t, 2> otherwise) {
  if (list.empty()) return otherwise;
  p.check(list.size() <= 2, std::string(name) + " must have one or two values");
  return {list[0], list.back()};
}

// Windows over an image.
struct Windows {
  std::array<int64_t, 2> kernel;
  std::array<int64_t, 2> stride;
  std::array<int64_t, 2> padding;
  std::array<int64_t, 2> dilation{1, 1};
  std::array<int64_t, 2> out{};
};

int64_t window_count(
    int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation, bool ceil) {
  const int64_t span = size + 2 * pad - dilation * (kernel - 1) - 1;
  int64_t n = (span + (ceil ? stride - 1 : 0)) / stride + 1;
  if (ceil && (n - 1) * stride >= size + pad) --n;  // the last window starts inside
  return n;
}

Windows windows_of(Planner& p,
                   const Images& image,
                   const aclIntArray* kernel,
                   const char* kernel_name,
                   const aclIntArray* stride,
                   const char* stride_name,
                   const aclIntArray* padding,
                   const char* padding_name,
                   const aclIntArray* dilation,
                   bool ceil) {
  Windows w;
  const std::vector<int64_t> sizes = p.array(kernel, kernel_name);
  p.check(!sizes.empty(), std::string(kernel_name) + " is empty");
  w.kernel = pair_of(p, sizes, kernel_name, {1, 1});
  w.stride = pair_of(p, p.array(stride, stride_name), stride_name, w.kernel);
  w.padding = pair_of(p, p.array(padding, padding_name), padding_name, {0, 0});
  if (dilation != nullptr)
    w.dilation = pair_of(p, p.array(dilation, "dilation"), "dilation", {1, 1});
  for (size_t d = 0; d < 2; ++d) {
    p.check(w.kernel[d] > 0 && w.stride[d] > 0, "kernel and stride must be positive");
    p.check(w.padding[d] >= 0 && 2 * w.padding[d] <= w.kernel[d],
            std::string(padding_name) + " must be at most half of the kernel");
    w.out[d] = window_count(d == 0 ? image.height : image.width, w.kernel[d], w.stride[d],
                            w.padding[d], w.dilation[d], ceil);
  }
  return w;
}

// Calls f(row, column) for each place of a window that lies in the image.
template <class F>
void for_window(const Windows& w, const Images& image, int64_t y, int64_t x, F f) {
  for (int64_t i = 0; i < w.kernel[0]; ++i) {
    const int64_t row = y * w.stride[0] - w.padding[0] + i * w.dilation[0];
    if (row < 0 || row >= image.height) continue;
    for (int64_t j = 0; j < w.kernel[1]; ++j) {
      const int64_t column = x * w.stride[1] - w.padding[1] + j * w.dilation[1];
      if (column >= 0 && column < image.width) f(row, column);
    }
  }
}

struct Average {
  Windows windows;
  bool include_pad;
  int64_t divisor;
  float weight(const Images& image, int64_t y, int64_t x, int64_t inside) const {
    if (divisor != 0) return 1 / static_cast<float>(divisor);
    if (!include_pad) return 1 / static_cast<float>(inside);
    const auto extent = [&](size_t d, int64_t place, int64_t size) {
      const int64_t start = place * windows.stride[d] - windows.padding[d];
      return std::min(start + windows.kernel[d], size + windows.padding[d]) - start;
    };
    return 1 / static_cast<float>(extent(0, y, image.height) * extent(1, x, image.width));
  }
};

// An adaptive window: rows or columns [begin, end) of place i out of n.
std::array<int64_t, 2> adaptive(int64_t i, int64_t n, int64_t size) {
  return {i * size / n, ((i + 1) * size + n - 1) / n};
}

// How a place of the resized image is made of two places of the original.
struct Blend {
  int64_t low;
  int64_t high;
  float weight;  // of `high`
};
Blend blend(int64_t i, int64_t from, int64_t to, bool corners, double scale) {
  double source = 0;
  if (corners) {
    source = to > 1 ? static_cast<double>(i) * static_cast<double>(from - 1) /
                          static_cast<double>(to - 1)
                    : 0;
  } else {
    const double step = scale > 0 ? 1 / scale : static_cast<double>(from) / static_cast<double>(to);
    source = std::max((static_cast<double>(i) + 0.5) * step - 0.5, 0.0);
  }
  const int64_t low = std::min(static_cast<int64_t>(source), from - 1);
  return {low, std::min(low + 1, from - 1), static_cast<float>(source - static_cast<double>(low))};
}

int64_t nearest(int64_t i, int64_t from, int64_t to, double scale) {
  const double step = scale > 0 ? 1 / scale : static_cast<double>(from) / static_cast<double>(to);
  return std::min(static_cast<int64_t>(std::floor(static_cast<double>(i) * step)), from - 1);
}

// Every resized place as a sum of weighted places: f(image, out place, in place, weight).
using Visit = std::function<void(int64_t, int64_t, float)>;
using Weights = std::function<void(int64_t, int64_t, const Visit&)>;

// Forward and backward of a resize are the same weights, read in two directions.
void run_resize(Planner& p,
                const Operand& from,
                const Operand& to,
                const Images& in,
                int64_t height,
                int64_t width,
                bool backward,
                const Weights& weights) {
  if (to.numel() == 0) return;
  p.run([=](Launch& launch) {
    const auto source = load_all<double>(get(launch, from));
    std::vector<double> result(z(to.numel()));
    const int64_t small = in.height * in.width;
    const int64_t large = height * width;
    for (int64_t n = 0; n < in.images; ++n) {
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t x = 0; x < width; ++x) {
          weights(y, x, [&](int64_t row, int64_t column, float weight) {
            const size_t a = z(n * small + row * in.width + column);
            const size_t b = z(n * large + y * width + x);
            if (backward) {
              result[a] += source[b] * weight;
            } else {
              result[b] += source[a] * weight;
            }
          });
        }
      }
    }
    store_all(get(launch, to), result);
  });
}

aclnnStatus resize(const char* op,
                   const aclTensor* source,
                   const char* source_name,
                   const aclIntArray* output_size,
                   const aclIntArray* input_size,
                   bool backward,
                   bool bilinear,
                   bool corners,
                   double scale_h,
                   double scale_w,
                   const aclTensor* out,
                   const char* out_name,
                   uint64_t* workspace_size,
                   aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Types types = kF | kF64 | kU8;
    const Operand from = p.input(source, source_name, types);
    const std::vector<int64_t> size = p.array(output_size, "outputSize");
    const Operand to = p.output(out, out_name, types);
    p.check(size.size() == 2, "outputSize must have two values");
    p.check_rank(from, 4, 4);
    if (backward) p.check_shape(to, p.array(input_size, "inputSize"));
    const Images in = images_of(p, backward ? to : from);
    const Shape large = resized((backward ? to : from).shape(), size[0], size[1]);
    p.check_shape(backward ? from : to, large);
    const Weights weights = [=](int64_t y, int64_t x, const Visit& visit) {
      if (!bilinear) {
        return visit(nearest(y, in.height, size[0], scale_h),
                     nearest(x, in.width, size[1], scale_w), 1);
      }
      const Blend v = blend(y, in.height, size[0], corners, scale_h);
      const Blend h = blend(x, in.width, size[1], corners, scale_w);
      visit(v.low, h.low, (1 - v.weight) * (1 - h.weight));
      visit(v.low, h.high, (1 - v.weight) * h.weight);
      visit(v.high, h.low, v.weight * (1 - h.weight));
      visit(v.high, h.high, v.weight * h.weight);
    };
    run_resize(p, from, to, in, size[0], size[1], backward, weights);
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(MaxPool2dWithIndices,
              const aclTensor* self,
              const aclIntArray* kernelSize,
              const aclIntArray* stride,
              const aclIntArray* padding,
              const aclIntArray* dilation,
              bool ceilMode,
              aclTensor* out,
              aclTensor* indices) {
  return plan("aclnnMaxPool2dWithIndices", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const Operand target = p.output(out, "out", kF);
    const Operand places = p.output(indices, "indices", kIndex);
    const Images image = images_of(p, in);
    const Windows w = windows_of(p, image, kernelSize, "kernelSize", stride, "stride", padding,
                                 "padding", dilation, ceilMode);
    p.check_shape(target, resized(in.shape(), w.out[0], w.out[1]));
    p.check_shape(places, target.shape());
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values x = load_all<float>(get(launch, in));
      Values result;
      std::vector<int64_t> found;
      for (int64_t n = 0; n < image.images; ++n) {
        for (int64_t i = 0; i < w.out[0] * w.out[1]; ++i) {
          float best = -std::numeric_limits<float>::infinity();
          int64_t place = -1;
          for_window(w, image, i / w.out[1], i % w.out[1], [&](int64_t row, int64_t column) {
            const int64_t at = row * image.width + column;
            const float value = x[z(n * image.height * image.width + at)];
            if (place < 0 || value > best || value != value) {
              best = value;
              place = at;
            }
          });
          result.push_back(best);
          found.push_back(place);
        }
      }
      store_all(get(launch, target), result);
      store_all(get(launch, places), found);
    });
  });
}
SIM_SIGNATURE(MaxPool2dWithIndicesBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* indices,
              const aclIntArray* kernelSize,
              const aclIntArray* stride,
              const aclIntArray* padding,
              const aclIntArray* dilation,
              bool ceilMode,
              aclTensor* gradInput) {
  return plan("aclnnMaxPool2dWithIndicesBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradOutput, "gradOutput", kF);
    const Operand in = p.input(self, "self", kF);
    const Operand places = p.input(indices, "indices", kIndex);
    const Operand target = p.output(gradInput, "gradInput", kF);
    const Images image = images_of(p, in);
    const Windows w = windows_of(p, image, kernelSize, "kernelSize", stride, "stride", padding,
                                 "padding", dilation, ceilMode);
    p.check_shape(g, resized(in.shape(), w.out[0], w.out[1]));
    p.check_shape(places, g.shape());
    p.check_shape(target, in.shape());
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values grads = load_all<float>(get(launch, g));
      const auto found = load_all<int64_t>(get(launch, places));
      Values result(z(target.numel()));
      const size_t each = grads.size() / z(image.images);
      for (size_t i = 0; i < grads.size(); ++i) {
        result[i / each * z(image.height * image.width) + z(found[i])] += grads[i];
      }
      store_all(get(launch, target), result);
    });
  });
}

SIM_SIGNATURE(AvgPool2d,
              const aclTensor* self,
              const aclIntArray* kernelSize,
              const aclIntArray* strides,
              const aclIntArray* paddings,
              const bool ceilMode,
              const bool countIncludePad,
              const int64_t divisorOverride,
              const int8_t,
              aclTensor* out) {
  return plan("aclnnAvgPool2d", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const Operand target = p.output(out, "out", kF);
    const Images image = images_of(p, in);
    const Average average{windows_of(p, image, kernelSize, "kernelSize", strides, "strides",
                                     paddings, "paddings", nullptr, ceilMode),
                          countIncludePad, divisorOverride};
    const Windows& w = average.windows;
    p.check_shape(target, resized(in.shape(), w.out[0], w.out[1]));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Windows& windows = average.windows;
      const Values x = load_all<float>(get(launch, in));
      Values result;
      for (int64_t n = 0; n < image.images; ++n) {
        for (int64_t i = 0; i < windows.out[0] * windows.out[1]; ++i) {
          float sum = 0;
          int64_t inside = 0;
          const int64_t row_out = i / windows.out[1];
          const int64_t column_out = i % windows.out[1];
          for_window(windows, image, row_out, column_out, [&](int64_t row, int64_t column) {
            sum += x[z((n * image.height + row) * image.width + column)];
            ++inside;
          });
          result.push_back(sum * average.weight(image, row_out, column_out, inside));
        }
      }
      store_all(get(launch, target), result);
    });
  });
}
SIM_SIGNATURE(AvgPool2dBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclIntArray* kernelSize,
              const aclIntArray* stride,
              const aclIntArray* padding,
              bool ceilMode,
              bool countIncludePad,
              int64_t divisorOverride,
              int8_t,
              aclTensor* gradInput) {
  return plan("aclnnAvgPool2dBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradOutput, "gradOutput", kF);
    const Operand in = p.input(self, "self", kF);
    const Operand target = p.output(gradInput, "gradInput", kF);
    const Images image = images_of(p, in);
    const Average average{windows_of(p, image, kernelSize, "kernelSize", stride, "stride", padding,
                                     "padding", nullptr, ceilMode),
                          countIncludePad, divisorOverride};
    p.check_shape(g, resized(in.shape(), average.windows.out[0], average.windows.out[1]));
    p.check_shape(target, in.shape());
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Windows& w = average.windows;
      const Values grads = load_all<float>(get(launch, g));
      Values result(z(target.numel()));
      for (int64_t n = 0; n < image.images; ++n) {
        for (int64_t i = 0; i < w.out[0] * w.out[1]; ++i) {
          const int64_t y = i / w.out[1];
          const int64_t x = i % w.out[1];
          int64_t inside = 0;
          for_window(w, image, y, x, [&](int64_t, int64_t) { ++inside; });
          const float share =
              grads[z(n * w.out[0] * w.out[1] + i)] * average.weight(image, y, x, inside);
          for_window(w, image, y, x, [&](int64_t row, int64_t column) {
            result[z((n * image.height + row) * image.width + column)] += share;
          });
        }
      }
      store_all(get(launch, target), result);
    });
  });
}

SIM_SIGNATURE(AdaptiveAvgPool2d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              aclTensor* out) {
  return plan("aclnnAdaptiveAvgPool2d", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const std::vector<int64_t> size = p.array(outputSize, "outputSize");
    const Operand target = p.output(out, "out", kF);
    const Images image = images_of(p, in);
    p.check(size.size() == 2, "outputSize must have two values");
    p.check_shape(target, resized(in.shape(), size[0], size[1]));
    const Weights weights = [=](int64_t y, int64_t x, const Visit& visit) {
      const auto [top, bottom] = adaptive(y, size[0], image.height);
      const auto [left, right] = adaptive(x, size[1], image.width);
      const float share = 1 / static_cast<float>((bottom - top) * (right - left));
      for (int64_t row = top; row < bottom; ++row) {
        for (int64_t column = left; column < right; ++column) visit(row, column, share);
      }
    };
    run_resize(p, in, target, image, size[0], size[1], false, weights);
  });
}
SIM_SIGNATURE(AdaptiveAvgPool2dBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              aclTensor* out) {
  return plan("aclnnAdaptiveAvgPool2dBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradOutput, "gradOutput", kF);
    const Operand in = p.input(self, "self", kF);
    const Operand target = p.output(out, "out", kF);
    const Images image = images_of(p, in);
    const Images large = images_of(p, g);
    p.check_shape(target, in.shape());
    p.check(large.images == image.images, "gradOutput and self have other channels");
    const Weights weights = [=](int64_t y, int64_t x, const Visit& visit) {
      const auto [top, bottom] = adaptive(y, large.height, image.height);
      const auto [left, right] = adaptive(x, large.width, image.width);
      const float share = 1 / static_cast<float>((bottom - top) * (right - left));
      for (int64_t row = top; row < bottom; ++row) {
        for (int64_t column = left; column < right; ++column) visit(row, column, share);
      }
    };
    run_resize(p, g, target, image, large.height, large.width, true, weights);
  });
}

SIM_SIGNATURE(UpsampleNearest2d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              aclTensor* out) {
  return resize("aclnnUpsampleNearest2d", self, "self", outputSize, nullptr, false, false, false, 0,
                0, out, "out", workspaceSize, executor);
}
SIM_SIGNATURE(UpsampleNearest2dV2,
              const aclTensor* self,
              const aclIntArray* outputSize,
              float scalesH,
              float scalesW,
              aclTensor* out) {
  return resize("aclnnUpsampleNearest2dV2", self, "self", outputSize, nullptr, false, false, false,
                scalesH, scalesW, out, "out", workspaceSize, executor);
}
SIM_SIGNATURE(UpsampleNearest2dBackward,
              const aclTensor* gradOut,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              double scalesH,
              double scalesW,
              aclTensor* gradInput) {
  return resize("aclnnUpsampleNearest2dBackward", gradOut, "gradOut", outputSize, inputSize, true,
                false, false, scalesH, scalesW, gradInput, "gradInput", workspaceSize, executor);
}
SIM_SIGNATURE(UpsampleBilinear2d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              const bool alignCorners,
              const double scalesH,
              const double scalesW,
              aclTensor* out) {
  return resize("aclnnUpsampleBilinear2d", self, "self", outputSize, nullptr, false, true,
                alignCorners, scalesH, scalesW, out, "out", workspaceSize, executor);
}
SIM_SIGNATURE(UpsampleBilinear2dBackward,
              const aclTensor* gradOut,
              const aclIntArray* outputSize,
              const aclIntArray* inputSize,
              bool alignCorners,
              double scalesH,
              double scalesW,
              aclTensor* out) {
  return resize("aclnnUpsampleBilinear2dBackward", gradOut, "gradOut", outputSize, inputSize, true,
                true, alignCorners, scalesH, scalesW, out, "out", workspaceSize, executor);
}
}
