// Convolution of 1, 2 and 3 dims, transposed or not, with its gradients.
//
// Note [Image and patches]: a convolution relates an image and a tensor of patches through a weight
// [patch channels, image channels / groups, kernel]. Forward makes patches from the image; the
// transposed one makes the image from patches; each one's input gradient is the other.
#include "simulator/ascend/ops/gemm.h"
#include "simulator/ascend/ops/values.h"

using namespace sim;

namespace {

struct Geometry {
  int64_t batch = 0;
  int64_t groups = 1;
  int64_t image_channels = 0;
  int64_t patch_channels = 0;
  Shape image;  // spatial sizes
  Shape patches;
  Shape kernel;
  Shape stride;
  Shape padding;
  Shape dilation;

  int64_t image_group() const { return image_channels / groups; }
  int64_t patch_group() const { return patch_channels / groups; }
  int64_t taps() const { return count(kernel); }
};

// Calls f(channel * taps + tap, patch, offset in the image of one group) for each pair that meets.
template <class F>
void for_taps(const Geometry& g, F f) {
  const size_t dims = g.image.size();
  const int64_t places = count(g.patches);
  const int64_t area = count(g.image);
  for (int64_t tap = 0; tap < g.taps(); ++tap) {
    for (int64_t place = 0; place < places; ++place) {
      int64_t offset = 0;
      int64_t step = 1;
      int64_t t = tap;
      int64_t q = place;
      bool inside = true;
      for (size_t d = dims; d-- > 0;) {
        const int64_t x =
            q % g.patches[d] * g.stride[d] - g.padding[d] + t % g.kernel[d] * g.dilation[d];
        inside = inside && x >= 0 && x < g.image[d];
        offset += x * step;
        step *= g.image[d];
        q /= g.patches[d];
        t /= g.kernel[d];
      }
      if (!inside) continue;
      for (int64_t c = 0; c < g.image_group(); ++c) {
        f(c * g.taps() + tap, place, c * area + offset);
      }
    }
  }
}

const float* group_of(
    const Values& values, const Geometry& g, int64_t n, int64_t group, bool image) {
  const int64_t channels = image ? g.image_group() : g.patch_group();
  const int64_t area = count(image ? g.image : g.patches);
  return values.data() + (n * g.groups + group) * channels * area;
}

Values columns_of(const float* image, const Geometry& g) {
  const int64_t places = count(g.patches);
  Values columns(z(g.image_group() * g.taps() * places));
  for_taps(g, [&](int64_t row, int64_t place, int64_t offset) {
    columns[z(row * places + place)] = image[offset];
  });
  return columns;
}

Values transposed(const float* matrix, int64_t rows, int64_t columns) {
  Values result(z(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) result[z(j * rows + i)] = matrix[i * columns + j];
  }
  return result;
}

Values patches_from_image(const Values& image, const Values& weight, const Geometry& g) {
  const int64_t places = count(g.patches);
  const int64_t rows = g.image_group() * g.taps();
  Values patches(z(g.batch * g.patch_channels * places));
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t k = 0; k < g.groups; ++k) {
      const Values columns = columns_of(group_of(image, g, n, k, true), g);
      gemm(g.patch_group(), places, rows, 1, weight.data() + k * g.patch_group() * rows,
           columns.data(), 0, patches.data() + (n * g.groups + k) * g.patch_group() * places);
    }
  }
  return patches;
}

Values image_from_patches(const Values& patches, const Values& weight, const Geometry& g) {
  const int64_t places = count(g.patches);
  const int64_t rows = g.image_group() * g.taps();
  Values image(z(g.batch * g.image_channels * count(g.image)));
  Values columns(z(rows * places));
  for (int64_t k = 0; k < g.groups; ++k) {
    const Values turned =
        transposed(weight.data() + k * g.patch_group() * rows, g.patch_group(), rows);
    for (int64_t n = 0; n < g.batch; ++n) {
      gemm(rows, places, g.patch_group(), 1, turned.data(), group_of(patches, g, n, k, false), 0,
           columns.data());
      float* const target = image.data() + (n * g.groups + k) * g.image_group() * count(g.image);
      for_taps(g, [&](int64_t row, int64_t place, int64_t offset) {
        target[offset] += columns[z(row * places + place)];
      });
    }
  }
  return image;
}

Values weight_from(const Values& image, const Values& patches, const Geometry& g) {
  const int64_t places = count(g.patches);
  const int64_t rows = g.image_group() * g.taps();
  Values weight(z(g.patch_channels * rows));
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t k = 0; k < g.groups; ++k) {
      const Values columns = columns_of(group_of(image, g, n, k, true), g);
      const Values turned = transposed(columns.data(), rows, places);
      gemm(g.patch_group(), rows, places, 1, group_of(patches, g, n, k, false), turned.data(), 1,
           weight.data() + k * g.patch_group() * rows);
    }
  }
  return weight;
}

Shape spatial(const Operand& operand) {
  return {operand.shape().begin() + 2, operand.shape().end()};
}

Shape per_dim(Planner& p, const std::vector<int64_t>& list, size_t dims, const char* name) {
  p.check(list.size() == dims || list.size() == 1,
          std::string(name) + " must have " + std::to_string(dims) + " values");
  check_reasonable(p, list, name);
  return list.size() == dims ? list : Shape(dims, list[0]);
}

// How far each dim is padded before its first element and behind its last one.
struct Sides {
  Shape before;
  Shape after;
};

// One value for both sides of a dim, or two.
Sides padding_of(Planner& p, const std::vector<int64_t>& list, size_t dims, bool two_sided) {
  if (!two_sided || list.size() != 2 * dims) {
    const Shape both = per_dim(p, list, dims, "padding");
    return {both, both};
  }
  check_reasonable(p, list, "padding");
  Sides padding;
  for (size_t d = 0; d < dims; ++d) {
    padding.before.push_back(list[2 * d]);
    padding.after.push_back(list[2 * d + 1]);
  }
  return padding;
}

struct Options {
  const aclIntArray* stride;
  const aclIntArray* padding;
  const aclIntArray* dilation;
  bool transposed;
  const aclIntArray* output_padding;
  int64_t groups;
  bool gradient = false;

  // CANN has no forward of three dims, or transposed of one, whose sides differ.
  bool two_sided(size_t dims) const { return gradient || (transposed ? dims == 2 : dims <= 2); }
};

// `in` and `out` are the op's input and output (or its gradient).
Geometry check_geometry(
    Planner& p, const Operand& in, const Operand& weight, const Operand& out, const Options& o) {
  p.check_rank(in, 3, 5);
  p.check_rank(weight, in.rank(), in.rank());
  p.check_rank(out, in.rank(), in.rank());
  const size_t dims = z(in.rank()) - 2;
  Geometry g;
  g.groups = o.groups;
  p.check(g.groups > 0, "groups must be positive");
  g.stride = per_dim(p, p.array(o.stride, "stride"), dims, "stride");
  const Sides padding = padding_of(p, p.array(o.padding, "padding"), dims, o.two_sided(dims));
  g.padding = padding.before;
  g.dilation = per_dim(p, p.array(o.dilation, "dilation"), dims, "dilation");
  for (size_t d = 0; d < dims; ++d) {
    p.check(g.stride[d] > 0, "stride must be positive");
    p.check(g.dilation[d] > 0, "dilation must be positive");
    p.check(padding.before[d] >= 0 && padding.after[d] >= 0, "padding must not be negative");
  }
  g.kernel = spatial(weight);
  p.check(count(g.kernel) > 0, p.name(weight) + " has a kernel of size 0");
  const Operand& image = o.transposed ? out : in;
  const Operand& patches = o.transposed ? in : out;
  g.batch = in.shape()[0];
  g.image = spatial(image);
  g.patches = spatial(patches);
  g.image_channels = image.shape()[1];
  g.patch_channels = patches.shape()[1];
  p.check(out.shape()[0] == g.batch, p.name(out) + " has another batch size than " + p.name(in));
  p.check(g.image_channels % g.groups == 0 && g.patch_channels % g.groups == 0,
          "groups must divide the channels");
  Shape expected{g.patch_channels, g.image_group()};
  expected.insert(expected.end(), g.kernel.begin(), g.kernel.end());
  p.check_shape(weight, expected);
  const Shape extra =
      o.transposed && o.output_padding != nullptr
          ? per_dim(p, p.array(o.output_padding, "outputPadding"), dims, "outputPadding")
          : Shape(dims, 0);
  Shape size = out.shape();
  for (size_t d = 0; d < dims; ++d) {
    const Wide reach = Wide{g.dilation[d]} * (g.kernel[d] - 1) + 1;
    const Wide from = in.shape()[d + 2];
    const Wide padded = Wide{padding.before[d]} + padding.after[d];
    size[d + 2] = narrow(o.transposed ? (from - 1) * g.stride[d] - padded + reach + extra[d]
                                      : (from + padded - reach) / g.stride[d] + 1);
  }
  p.check_shape(out, size);
  return g;
}

void check_math(Planner& p, int8_t mode) {
  p.check(mode >= 0 && mode <= 4, "cubeMathType is " + std::to_string(mode));
}

void convolve(Planner& p,
              const Operand& in,
              const Operand& w,
              const Operand& b,
              const Operand& out,
              const Geometry& g,
              bool transposed_form) {
  if (b) p.check(b.numel() == out.shape()[1], "bias must have one element for each channel");
  if (out.numel() == 0) return;
  const uint64_t at = p.workspace(out.numel() * 4);
  p.run([=](Launch& launch) {
    const Values x = load_all<float>(get(launch, in));
    const Values weight = load_all<float>(get(launch, w));
    const Values y =
        transposed_form ? image_from_patches(x, weight, g) : patches_from_image(x, weight, g);
    const Values bias = b ? load_all<float>(get(launch, b)) : Values{};
    auto* const result = reinterpret_cast<float*>(launch.workspace(at));
    const int64_t area = out.numel() / out.shape()[0] / out.shape()[1];
    for (int64_t i = 0; i < out.numel(); ++i) {
      result[i] = y[z(i)] + (b ? bias[z(i / area % out.shape()[1])] : 0);
    }
    store(get(launch, out), 0, out.numel(), result);
  });
}

// A convolution over time, batch, channels is one over batch, channels, time with its weight
// [kernel, in, out] turned.
Geometry check_tbc(Planner& p,
                   const Operand& in,
                   const Operand& w,
                   const Operand& b,
                   const Operand& out,
                   int64_t pad) {
  p.check_rank(in, 3, 3);
  p.check_rank(w, 3, 3);
  p.check(pad >= 0, "pad must not be negative");
  Geometry g;
  g.batch = in.shape()[1];
  g.image_channels = in.shape()[2];
  g.patch_channels = w.shape()[2];
  g.kernel = {w.shape()[0]};
  g.stride = {1};
  g.padding = {pad};
  g.dilation = {1};
  g.image = {in.shape()[0]};
  g.patches = {in.shape()[0] + 2 * pad - w.shape()[0] + 1};
  p.check(g.patches[0] > 0, "weight is longer than the padded input");
  p.check_shape(w, {g.kernel[0], g.image_channels, g.patch_channels});
  p.check_shape(b, {g.patch_channels});
  p.check_shape(out, {g.patches[0], g.batch, g.patch_channels});
  return g;
}

Values in_order(const Launch& launch, const Operand& operand, const std::vector<int64_t>& dims) {
  return load_all<float>(get(launch, operand).permute(dims));
}
void put_in_order(const Launch& launch,
                  const Operand& operand,
                  const std::vector<int64_t>& dims,
                  const Values& result) {
  store_all(get(launch, operand).permute(dims), result);
}

const std::vector<int64_t> kTimeLast{1, 2, 0};
const std::vector<int64_t> kKernelLast{2, 1, 0};

}  // namespace

extern "C" {

SIM_SIGNATURE(Convolution,
              const aclTensor* input,
              const aclTensor* weight,
              const aclTensor* bias,
              const aclIntArray* stride,
              const aclIntArray* padding,
              const aclIntArray* dilation,
              bool transposed,
              const aclIntArray* outputPadding,
              const int64_t groups,
              aclTensor* output,
              int8_t cubeMathType) {
  return plan("aclnnConvolution", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(input, "input", kF);
    const Operand w = p.input(weight, "weight", kF);
    const Operand b = p.optional(bias, "bias", kF);
    const Operand out = p.output(output, "output", kF);
    check_math(p, cubeMathType);
    const Geometry g = check_geometry(
        p, in, w, out, {stride, padding, dilation, transposed, outputPadding, groups});
    convolve(p, in, w, b, out, g, transposed);
  });
}

SIM_SIGNATURE(ConvDepthwise2d,
              const aclTensor* self,
              const aclTensor* weight,
              const aclIntArray* kernelSize,
              const aclTensor* bias,
              const aclIntArray* stride,
              const aclIntArray* padding,
              const aclIntArray* dilation,
              aclTensor* out,
              int8_t cubeMathType) {
  return plan("aclnnConvDepthwise2d", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const Operand w = p.input(weight, "weight", kF);
    const Shape kernel = p.array(kernelSize, "kernelSize");
    const Operand b = p.optional(bias, "bias", kF);
    const Operand target = p.output(out, "out", kF);
    check_math(p, cubeMathType);
    p.check_rank(in, 4, 4);
    const Geometry g = check_geometry(p, in, w, target,
                                      {stride, padding, dilation, false, nullptr, in.shape()[1]});
    p.check(g.kernel == kernel, "kernelSize is not that of weight");
    convolve(p, in, w, b, target, g, false);
  });
}

SIM_SIGNATURE(ConvolutionBackward,
              const aclTensor* gradOutput,
              const aclTensor* input,
              const aclTensor* weight,
              const aclIntArray* biasSizes,
              const aclIntArray* stride,
              const aclIntArray* padding,
              const aclIntArray* dilation,
              bool transposed,
              const aclIntArray* outputPadding,
              int groups,
              const aclBoolArray* outputMask,
              int8_t cubeMathType,
              aclTensor* gradInput,
              aclTensor* gradWeight,
              aclTensor* gradBias) {
  return plan("aclnnConvolutionBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradOutput, "gradOutput", kF);
    const Operand in = p.input(input, "input", kF);
    const Operand w = p.input(weight, "weight", kF);
    const std::vector<char> mask = p.array(outputMask, "outputMask");
    p.check(mask.size() == 3, "outputMask must have 3 values");
    const Operand dx = mask[0] ? p.output(gradInput, "gradInput", kF) : Operand{};
    const Operand dw = mask[1] ? p.output(gradWeight, "gradWeight", kF) : Operand{};
    const Operand db = mask[2] ? p.output(gradBias, "gradBias", kF) : Operand{};
    check_math(p, cubeMathType);
    const Geometry shape = check_geometry(
        p, in, w, g, {stride, padding, dilation, transposed, outputPadding, groups, true});
    if (dx) p.check_shape(dx, in.shape());
    if (dw) p.check_shape(dw, w.shape());
    if (db) {
      p.array(biasSizes, "biasSizes");
      p.check_shape(db, {g.shape()[1]});
    }
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values grads = load_all<float>(get(launch, g));
      const Values x = load_all<float>(get(launch, in));
      const Values weights = load_all<float>(get(launch, w));
      if (dx) {
        store_all(get(launch, dx), transposed ? patches_from_image(grads, weights, shape)
                                              : image_from_patches(grads, weights, shape));
      }
      if (dw) {
        store_all(get(launch, dw),
                  transposed ? weight_from(grads, x, shape) : weight_from(x, grads, shape));
      }
      if (!db) return;
      Values sums(z(g.shape()[1]));
      const size_t area = grads.size() / z(g.shape()[0]) / sums.size();
      for (size_t i = 0; i < grads.size(); ++i) sums[i / area % sums.size()] += grads[i];
      store_all(get(launch, db), sums);
    });
  });
}

SIM_SIGNATURE(ConvTbc,
              const aclTensor* self,
              const aclTensor* weight,
              const aclTensor* bias,
              const int64_t pad,
              aclTensor* output,
              int8_t cubeMathType) {
  return plan("aclnnConvTbc", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const Operand w = p.input(weight, "weight", kF);
    const Operand b = p.input(bias, "bias", kF);
    const Operand out = p.output(output, "output", kF);
    check_math(p, cubeMathType);
    const Geometry g = check_tbc(p, in, w, b, out, pad);
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values y =
          patches_from_image(in_order(launch, in, kTimeLast), in_order(launch, w, kKernelLast), g);
      const Values shift = values(launch, b);
      const size_t length = z(g.patches[0]);
      for (size_t i = 0; i < y.size(); ++i) y[i] += shift[i / length % shift.size()];
      put_in_order(launch, out, kTimeLast, y);
    });
  });
}
SIM_SIGNATURE(ConvTbcBackward,
              const aclTensor* self,
              const aclTensor* input,
              const aclTensor* weight,
              const aclTensor* bias,
              int64_t pad,
              int8_t cubeMathType,
              aclTensor* gradInput,
              aclTensor* gradWeight,
              aclTensor* gradBias) {
  return plan("aclnnConvTbcBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand grad = p.input(self, "self", kF);
    const Operand in = p.input(input, "input", kF);
    const Operand w = p.input(weight, "weight", kF);
    const Operand b = p.input(bias, "bias", kF);
    const Operand dx = p.output(gradInput, "gradInput", kF);
    const Operand dw = p.output(gradWeight, "gradWeight", kF);
    const Operand db = p.output(gradBias, "gradBias", kF);
    check_math(p, cubeMathType);
    const Geometry g = check_tbc(p, in, w, b, grad, pad);
    p.check_shape(dx, in.shape());
    p.check_shape(dw, w.shape());
    p.check_shape(db, b.shape());
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values grads = in_order(launch, grad, kTimeLast);
      const Values x = in_order(launch, in, kTimeLast);
      put_in_order(launch, dx, kTimeLast,
                   image_from_patches(grads, in_order(launch, w, kKernelLast), g));
      put_in_order(launch, dw, kKernelLast, weight_from(x, grads, g));
      Values sums(z(g.patch_channels));
      for (size_t i = 0; i < grads.size(); ++i) {
        sums[i / z(g.patches[0]) % sums.size()] += grads[i];
      }
      put(launch, db, sums);
    });
  });
}
}
